package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.dataserver.replication.PgMembers;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.mds.map.PgPlanner;
import io.cairn.sim.SimDisk.BadBlock;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A whole cluster in simulated time: three metadata servers, three to five data servers with one or
 * two disks each, several placement groups, and clients. Some seconds of faults, then everything
 * runs and has to come to rest.
 */
final class ClusterSim implements AutoCloseable {
    /** Ways to break the environment or a rule, to prove that the checks see it. */
    enum Fault {
        NONE,
        /** Disks say durable at once. */
        DURABLE_AT_APPEND,
        /** The primary believes its backups have what it has only sent. */
        ACKNOWLEDGED_WHEN_SENT,
        /** A retry has another number. */
        RETRY_RENUMBERED,
        /** A read is shown without asking whether it may be. */
        READ_UNCOMMITTED,
        /** A read takes half of its range earlier than the rest. */
        READ_IN_PARTS,
        /** When a log is replayed, the older of two writes of different ranges stays in both. */
        OLDER_WRITE_REPLAYED_OVER,
        /** A silent data server is marked down before its lease has ended. */
        LEASE_WAIT_SKIPPED,
        /** A renewed lease counts though a loop has not applied the map that it was given under. */
        LEASE_UNDER_AN_OLD_MAP,
        /** A heartbeat is answered between the decision to mark its server down and its commit. */
        LEASE_WHILE_MARKED_DOWN,
        /** A disk that is to have a group is in sync as soon as that is planned. */
        MOVED_UNCOPIED,
        /** What a disk has of a group that leaves it is removed while it is a member. */
        STRAY_TOO_SOON,
        /** A learner is in sync as soon as it is heard. */
        LEARNER_JOINS_TOO_SOON,
        /** The primary does not wait for what a joining learner has of it. */
        LEARNER_NOT_WAITED_FOR,
        /** A learner says that a chunk was copied, and has lost it. */
        COPY_LOST,
        /** Of a chunk that is copied, blocks are left out that the learner lacks. */
        BLOCKS_LEFT_OUT,
        /** A learner takes a copy that comes late, whatever it has learnt since it was made. */
        COPY_OUT_OF_ORDER,
        /** A learner does not tell of chunks that the primary may have deleted. */
        DELETED_CHUNK_KEPT,
        /** A learner that is started again has forgotten that it lacks content. */
        INCOMPLETE_FORGOTTEN,
        /** What was not committed is in the content when it is dropped, and stays there. */
        UNCOMMITTED_APPLIED,
        /** A learner takes all that it has for committed, and keeps what the others never had. */
        TAIL_TAKEN_FOR_COMMITTED,
        /**
         * A learner that begins anew takes what was copied before for all that there is by then.
         */
        COPIED_TAKEN_FOR_ALL,
        /** A learner is told that a page was copied when it is compared. */
        COPIED_TOLD_EARLY,
        /** The map refuses evicted sessions for ever. */
        SESSIONS_NOT_FORGOTTEN,
        /** A damaged block is repaired with what another member has, of whatever version. */
        REPAIR_OF_ANY_VERSION,
        /** A damaged block is found, and stays as it is. */
        REPAIR_OMITTED,
        /** A group that is made by a split does not know what the other one has answered. */
        SPLIT_FORGETS_ANSWERS,
        /** A split is carried out before it is committed. */
        SPLIT_UNCOMMITTED,
        /** A group goes on with chunks that are another one's by the map. */
        SPLIT_UNNOTICED,
        /** Who leaves a group that is split stays in sync with the one that is made of it. */
        SPLIT_MEMBER_STAYS,
        /** The group that goes on does not know what the one that it took in has answered. */
        MERGE_FORGETS_ANSWERS,
        /** A merge is carried out before it is committed. */
        MERGE_UNCOMMITTED,
        /** A merge is logged, and carried out, before the group that ends has come to its end. */
        MERGE_BEFORE_THE_END,
        /** A group that goes back into another one goes on with what it is asked. */
        MERGE_UNNOTICED,
        /** The map has a group no more before all members in sync have it in the other one. */
        MERGE_NOT_AWAITED,
        /** Who leaves a group that takes another one in stays in sync with that. */
        MERGE_MEMBER_STAYS,
        /** A truncation is answered before all chunks are cut. */
        CUT_NOT_AWAITED,
        /** A truncation leaves what is in the block that it goes through. */
        CUT_AT_BLOCKS,
        /** Groups that have carried out a truncation are not asked again after a merge. */
        MERGE_CUT_NOT_REPEATED,
        /** A group takes what is older than the truncation of its chunk. */
        CUT_NOT_KNOWN
    }

    static final int POOL = 1;
    private static final int MAX_PGS = 8;
    private static final int MAX_SPLITS = 8;
    static final long SERVER_LEASE = 3000 * MILLI;
    static final long LEADER_LEASE = 1000 * MILLI;
    private static final int REPLICAS = 3;
    private static final int MIN_SIZE = 2;
    private static final int CLIENTS = 4;
    private static final int OPS_PER_CLIENT = 150;
    private static final long CHAOS = 15_000 * MILLI;
    private static final long FLIP_INTERVAL = 1000 * MILLI;

    /** So long after the end of trouble damage that nobody can repair ends. */
    private static final long REPAIR = 10_000 * MILLI;

    /** So long after that all is repaired that can be. */
    private static final long LAST_REPAIR = 30_000 * MILLI;

    /** Of seeds, every fifth: they take twice as long. */
    private static final int PLANNED_EACH = 5;

    private static final long LIMIT = 120_000 * MILLI;

    final Simulation sim;
    final Fault fault;
    final SimNetwork network;
    final SimHistory history;
    final SimRaft raft;
    final List<SimMdsMember> mds = new ArrayList<>();
    private final long seed;
    private final int length;
    private final List<SimDataServer> servers = new ArrayList<>();
    private final List<SimDisk> disks = new ArrayList<>();
    private final List<SimClient> clients = new ArrayList<>();
    private final int pgBase;
    private final int pgCount;
    private final int pgTarget;
    private final int pgMost;

    /**
     * Whether the real planner decides where groups live, while a server is added and others are
     * drained; else they move at random.
     */
    final boolean planned;

    private @Nullable SimDataServer added;

    private long lastSession;
    private long lastInode;

    ClusterSim(long seed, Fault fault) {
        this(seed, fault, id -> new SimDisk(id, fault), 1);
    }

    /**
     * @param maker of disks, by their ids
     * @param length of the run: 1 is fifteen seconds of trouble
     */
    ClusterSim(long seed, Fault fault, IntFunction<SimDisk> maker, int length) {
        this.length = length;
        this.fault = fault;
        this.seed = seed;
        sim = new Simulation(seed);
        network = new SimNetwork(sim);
        history = new SimHistory(this);
        pgBase = 1 + sim.random.nextInt(MAX_PGS);
        pgMost = pgBase + MAX_SPLITS;
        pgCount = pgBase + sim.random.nextInt(MAX_SPLITS + 1);
        pgTarget = pgBase + sim.random.nextInt(MAX_SPLITS + 1);
        int count = REPLICAS + sim.random.nextInt(3);
        for (int i = 1; i <= count; i++) {
            servers.add(server(i, maker));
        }
        planned =
                EnumSet.of(Fault.MOVED_UNCOPIED, Fault.STRAY_TOO_SOON).contains(fault)
                        || (fault == Fault.NONE && seed % PLANNED_EACH == 0);
        if (planned) {
            added = server(count + 1, maker);
        }
        MapUpdate first = firstMap();
        raft = new SimRaft(this, first);
        for (int i = 1; i <= 3; i++) {
            mds.add(new SimMdsMember(this, raft, i));
        }
        for (int i = 1; i <= CLIENTS; i++) {
            clients.add(new SimClient(this, i, length * OPS_PER_CLIENT));
        }
    }

    private SimDataServer server(int number, IntFunction<SimDisk> maker) {
        SimDataServer server = new SimDataServer(this, number);
        for (int d = 1 + sim.random.nextInt(2); d > 0; d--) {
            SimDisk disk = maker.apply(disks.size() + 1);
            disks.add(disk);
            server.disks.add(disk);
        }
        return server;
    }

    /** All servers but the one that comes later are known, none has registered. */
    private MapUpdate firstMap() {
        Pool pool =
                Pool.newBuilder()
                        .setId(POOL)
                        .setName("data")
                        .setSize(REPLICAS)
                        .setMinSize(MIN_SIZE)
                        .setPgCount(pgCount)
                        .setPgBase(pgBase)
                        .setPgTarget(pgTarget)
                        .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER)
                        .build();
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .setClusterId(ByteString.copyFrom(new byte[16]))
                        .setEpoch(1)
                        .addPools(pool);
        for (SimDataServer server : servers) {
            map.addServers(
                    Server.newBuilder()
                            .setId(server.number)
                            .setUuid(server.uuid())
                            .setAddress("127.0.0.1:1")
                            .setHost("host" + server.number));
            for (SimDisk disk : server.disks) {
                map.addDisks(
                        Disk.newBuilder()
                                .setId(disk.id)
                                .setUuid(SimDataServer.diskUuid(disk.id))
                                .setServer(server.number)
                                .setCapacityBytes(1 << 30));
            }
        }
        List<List<Integer>> table = PgPlanner.plan(ClusterMap.of(map.build()), pool);
        for (int i = 0; i < pgCount; i++) {
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(POOL, i))
                            .setEpoch(1)
                            .addAllReplicas(table.get(i))
                            .addAllInSync(table.get(i)));
        }
        return map.build();
    }

    // ---- who is who ---------------------------------------------------------------------------

    /** Who has a placement group. */
    static PgMembers members(ClusterMap map, PlacementGroup group) {
        boolean merges = group.getMergeEpoch() > 0 || map.merging().containsKey(group.getPg());
        List<Integer> learners = merges ? List.of() : ClusterMap.learnersOf(group);
        return new PgMembers(group.getInSyncList(), learners, MIN_SIZE);
    }

    /** Servers that are down have no lease. */
    void checkLeases() {
        servers.forEach(SimDataServer::leaseValid);
    }

    Pool pool() {
        return Objects.requireNonNull(raft.map().pool(POOL), "no pool");
    }

    PlacementGroup group(int pg) {
        return group(raft.map(), pg);
    }

    PlacementGroup group(ClusterMap map, int pg) {
        return Objects.requireNonNull(map.pg(pg), "no such placement group");
    }

    SimDisk disk(int id) {
        return disks.get(id - 1);
    }

    SimDataServer serverOf(int disk) {
        return servers.stream().filter(s -> s.disks.contains(disk(disk))).findFirst().orElseThrow();
    }

    /** Of a file that is written once and deleted. */
    long newInode() {
        return 1000 + ++lastInode;
    }

    long newSession() {
        return ++lastSession;
    }

    // ---- the run ------------------------------------------------------------------------------

    void run() {
        machines().forEach(SimMachine::boot);
        raft.watch();
        trouble();
        SimDataServer late = added;
        if (late != null) {
            sim.after(
                    sim.upTo(length * CHAOS / 2),
                    () -> {
                        servers.add(late);
                        late.boot();
                    });
        }
        if (disks.stream().anyMatch(SimDisk::hasBits)) {
            flips(new Random(seed));
        }
        sim.after(length * CHAOS, this::heal);
        comeToRest();
        if (disks.stream().anyMatch(SimDisk::hasBits)) {
            flipsAtRest(new Random(seed));
        }
        history.check();
    }

    private void comeToRest() {
        while (!isAtRest()) {
            if (!sim.step() || sim.now() > length * LIMIT) {
                throw new AssertionError("not at rest: " + this);
            }
        }
    }

    /** Now that nobody writes, each damage has to be repaired from another member. */
    private void flipsAtRest(Random chance) {
        for (SimDisk disk : disks) {
            disk.flip(chance);
            sim.after(REPAIR, () -> endDamage(sim.now() + LAST_REPAIR));
            comeToRest();
        }
    }

    /** What servers hold, told each second until trouble ends. */
    void watch(Consumer<Map<String, Long>> told) {
        sim.after(
                1000 * MILLI,
                () -> {
                    if (sim.chaos()) {
                        told.accept(
                                Retained.by(
                                        Stream.concat(mds.stream(), servers.stream()).toList()));
                        watch(told);
                    }
                });
    }

    @Override
    public void close() {
        disks.forEach(SimDisk::close);
    }

    private Stream<SimMachine> machines() {
        return Stream.of(mds, servers, clients).flatMap(List::stream);
    }

    private void heal() {
        sim.endChaos();
        machines().forEach(SimMachine::boot);
        sim.after(REPAIR, () -> endDamage(sim.now() + LAST_REPAIR));
    }

    /**
     * A bit changes back, unless another member has the block: then it must be repaired in time.
     */
    private void endDamage(long end) {
        boolean waits = false;
        for (SimDisk disk : disks) {
            List<BadBlock> repairable =
                    disk.damaged().stream().filter(b -> isRepairable(disk, b)).toList();
            if (repairable.isEmpty()) {
                disk.flipBack();
            } else if (sim.now() >= end) {
                throw new AssertionError(
                        "disk %d: not repaired, though others in sync have them: %s"
                                .formatted(disk.id, repairable));
            } else {
                waits = true;
            }
        }
        if (waits) {
            sim.after(1000 * MILLI, () -> endDamage(end));
        }
    }

    /** Whether another member in sync of the group that has the chunk by now can read the block. */
    private boolean isRepairable(SimDisk disk, BadBlock damaged) {
        Key key = damaged.key();
        int pg = raft.map().pgOf(POOL, key.inode(), key.chunk());
        List<Integer> inSync = group(pg).getInSyncList();
        return inSync.contains(disk.id)
                && inSync.stream()
                        .filter(other -> other != disk.id && disk(other).has(pg))
                        .map(other -> disk(other).readBlock(new BadBlock(pg, key, damaged.block())))
                        .anyMatch(Objects::nonNull);
    }

    /**
     * Bits change on one disk at a time, which has nothing that no other has. Where others leave
     * the in-sync set before the block is repaired, nobody may have it: then the bit changes back.
     */
    private void flips(Random chance) {
        sim.after(
                FLIP_INTERVAL / 2 + chance.nextLong(FLIP_INTERVAL),
                () -> {
                    if (!sim.chaos()) {
                        return;
                    }
                    SimDisk disk = disks.get(chance.nextInt(disks.size()));
                    boolean others =
                            raft.map().pgs().stream()
                                    .filter(g -> g.getInSyncList().contains(disk.id))
                                    .allMatch(g -> g.getInSyncCount() == REPLICAS);
                    if (others && disks.stream().noneMatch(SimDisk::hasFlipped)) {
                        disk.flip(chance);
                    }
                    flips(chance);
                });
    }

    private boolean isAtRest() {
        return !sim.chaos()
                && disks.stream().noneMatch(SimDisk::hasFlipped)
                && clients.stream().allMatch(SimClient::isFinished)
                && raft.evictions().isEmpty()
                && raft.deletions().isEmpty()
                && raft.files().pending().isEmpty()
                && raft.map().pgs().size() == ClusterMap.targetOf(pool())
                && raft.map().splitting().isEmpty()
                && raft.map().merging().isEmpty()
                && (!planned || isPlaced())
                && raft.map().pgs().stream().allMatch(this::isAtRest);
    }

    /** Every group is where the planner wants it. */
    private boolean isPlaced() {
        @Nullable SimMdsMember leader = raft.leader();
        boolean done =
                leader != null
                        && leader.hasPlaced()
                        && raft.map().disks().size() == disks.size()
                        && raft.map().disks().stream().noneMatch(Disk::getAbsent);
        List<List<Integer>> wanted = done ? PgPlanner.plan(raft.map(), pool()) : List.of();
        return done
                && wanted.size() == raft.map().pgs().size()
                && raft.map().pgs().stream()
                        .allMatch(g -> isAt(g, wanted.get(PgHash.indexOf(g.getPg()))));
    }

    private static boolean isAt(PlacementGroup group, List<Integer> wanted) {
        return group.getReplicas(0) == wanted.getFirst()
                && Set.copyOf(group.getReplicasList()).equals(Set.copyOf(wanted));
    }

    private boolean isAtRest(PlacementGroup group) {
        int pg = group.getPg();
        long last = disk(group.getInSync(0)).last(pg);
        return group.getInSyncCount() == REPLICAS
                && group.getInSyncList().containsAll(group.getReplicasList())
                && group.getInSync(0) == group.getReplicas(0)
                && group.getReplicasList().stream()
                        .map(this::disk)
                        .allMatch(d -> d.last(pg) == last && d.committed(pg) == last);
    }

    private void trouble() {
        sim.after(
                sim.upTo(1200 * MILLI),
                () -> {
                    if (sim.chaos()) {
                        oneFault();
                        trouble();
                    }
                });
    }

    private void oneFault() {
        SimDataServer server = servers.get(sim.random.nextInt(servers.size()));
        SimMdsMember member = mds.get(sim.random.nextInt(mds.size()));
        SimClient client = clients.get(sim.random.nextInt(clients.size()));
        List<SimMachine> all = machines().toList();
        SimMachine one = all.get(sim.random.nextInt(all.size()));
        SimMachine other = all.get(sim.random.nextInt(all.size()));
        long length = sim.upTo(5000 * MILLI);
        switch (sim.random.nextInt(18)) {
            case 0 -> crash(server);
            case 1 -> server.crashAfterAppend(() -> crash(server));
            case 2 -> {
                if (sim.random.nextInt(3) == 0) {
                    servers.forEach(this::crash);
                }
            }
            case 3 -> server.pause(length);
            case 4, 5 -> server.delayLoop(length);
            case 6 -> crash(member);
            case 7 -> member.pause(length);
            case 8 -> network.cut(one, other, length);
            case 9 ->
                    machines()
                            .forEach(m -> {
                                network.cut(one, m, length);
                                network.cut(m, one, length);
                            });
            case 10 -> client.pause(length);
            case 11, 12 -> sleep(server, client);
            case 13, 14 -> move();
            case 15, 16 -> retarget();
            default -> raft.elect();
        }
        if (sim.random.nextInt(3) == 0) {
            evict(client);
        }
    }

    /**
     * A server is suspended for about as long as its lease lasts, and slow when it goes on. A
     * client is evicted meanwhile, which may not know of it either.
     */
    private void sleep(SimDataServer server, SimClient client) {
        long length = SERVER_LEASE / 2 + sim.upTo(SERVER_LEASE);
        server.pause(length);
        sim.after(
                sim.upTo(length),
                () -> {
                    evict(client);
                    client.pause(sim.upTo(SERVER_LEASE));
                });
        sim.after(length, () -> server.delayLoop(sim.upTo(SERVER_LEASE)));
        if (sim.random.nextBoolean()) {
            sim.after(length / 2, () -> raft.slow(length));
        }
    }

    /**
     * A group gets another disk for one of its replicas. Where the planner decides that, it is told
     * to drain a server, or to use it again.
     */
    private void move() {
        @Nullable SimMdsMember leader = raft.leader();
        if (planned) {
            SimDataServer server = servers.get(sim.random.nextInt(servers.size()));
            boolean restore = sim.random.nextBoolean();
            if (leader != null) {
                leader.arrive(() -> leader.drain(server.number, restore));
            }
            return;
        }
        int pg = PgHash.pg(POOL, sim.random.nextInt(raft.map().pgs().size()));
        PlacementGroup group = group(pg);
        List<Integer> replicas = new ArrayList<>(group.getReplicasList());
        SimDisk to = disks.get(sim.random.nextInt(disks.size()));
        SimDataServer server = serverOf(to.id);
        boolean taken =
                Stream.of(group.getReplicasList(), group.getInSyncList())
                        .flatMap(List::stream)
                        .anyMatch(d -> serverOf(d) == server);
        if (leader != null && !taken) {
            replicas.set(sim.random.nextInt(REPLICAS), to.id);
            leader.arrive(() -> leader.move(pg, group.getEpoch(), replicas));
        }
    }

    /** The pool is to have more groups, or fewer. */
    private void retarget() {
        @Nullable SimMdsMember leader = raft.leader();
        int target = pgBase + sim.random.nextInt(pgMost - pgBase + 1);
        if (leader != null) {
            leader.arrive(() -> leader.retarget(target));
        }
    }

    private void evict(SimClient client) {
        @Nullable SimMdsMember leader = raft.leader();
        if (leader != null) {
            leader.arrive(() -> leader.evict(client.session()));
        }
    }

    private void crash(SimMachine machine) {
        machine.crash();
        sim.after(sim.upTo(1500 * MILLI), machine::boot);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("map " + raft.map().epoch());
        text.append(", leader ").append(raft.leader() == null ? "none" : raft.leader().name);
        text.append(", evictions ").append(raft.evictions());
        text.append(", target ").append(ClusterMap.targetOf(pool()));
        for (Disk disk : raft.map().disks()) {
            if (disk.getOut() || disk.getAbsent()) {
                text.append(", disk ").append(disk.getId());
                text.append(disk.getOut() ? " drained" : " absent");
            }
        }
        text.append(!planned || isPlaced() ? "" : ", not placed");
        for (PlacementGroup group : raft.map().pgs()) {
            text.append(
                    "\n%x epoch %d merge %d in sync %s:"
                            .formatted(
                                    group.getPg(),
                                    group.getEpoch(),
                                    group.getMergeEpoch(),
                                    group.getInSyncList()));
            for (int member : group.getReplicasList()) {
                SimDisk disk = disk(member);
                SimDataServer server = serverOf(member);
                var replica = server.real(group.getPg(), member);
                text.append(
                        " disk %d %s last %d committed %d,"
                                .formatted(
                                        member,
                                        replica == null
                                                ? "none"
                                                : replica.state()
                                                        + " "
                                                        + replica.epoch()
                                                        + " "
                                                        + replica.learners(),
                                        disk.last(group.getPg()),
                                        disk.committed(group.getPg())));
            }
        }
        return text.toString();
    }
}
