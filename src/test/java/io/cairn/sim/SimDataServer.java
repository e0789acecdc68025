package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import com.google.protobuf.ByteString;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MergedPg;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.EpochGate;
import io.cairn.dataserver.pg.Lease;
import io.cairn.dataserver.pg.Merges;
import io.cairn.dataserver.pg.Splits;
import io.cairn.dataserver.replication.OpAnswer;
import io.cairn.dataserver.replication.PgMembers;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.replication.SpaceLedger;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A data server: the real replicas, lease and epoch gate on loops of its own. It registers and
 * sends heartbeats as {@code MdsLink} does, and checks requests as {@code OpCall} does.
 */
final class SimDataServer extends SimMachine {
    private static final long HEARTBEAT = 500 * MILLI;
    private static final long SCRUB_INTERVAL = 300 * MILLI;
    private static final int LOOPS = 2;

    /** A disk is looked through for what lives elsewhere at one of so many ticks. */
    private static final int STRAYS = 40;

    final int number;
    final List<SimDisk> disks = new ArrayList<>();
    final ClusterSim cluster;
    private final ByteString uuid;
    private final SimLoop[] loops = new SimLoop[LOOPS];
    private ByteString incarnation = ByteString.EMPTY;
    private SpaceLedger ledger = new SpaceLedger(0, 1 << 30);
    private final Map<Long, Merges.End> ends = new HashMap<>();
    private Lease lease = new Lease(this::clock);
    private ClusterMap map = ClusterMap.EMPTY;
    private int id;
    private int lives;
    private int mds;
    private @Nullable Runnable atAppend;

    /** What one event loop owns. It may be busy for a while, and what it is to do waits. */
    final class SimLoop {
        final Map<Long, SimReplica> replicas = new HashMap<>();
        final EpochGate gate = new EpochGate();
        ClusterMap applied = ClusterMap.EMPTY;
        private final Set<Integer> waiting = new TreeSet<>();
        private long busyUntil;

        /** In order with everything else that the loop is to do. */
        void execute(Runnable task) {
            busyUntil = Math.max(busyUntil, sim.now()) + 1;
            after(busyUntil - sim.now(), task);
        }

        void beBusy(long nanos) {
            busyUntil = Math.max(busyUntil, sim.now()) + nanos;
        }

        private void onMap(ClusterMap newer, List<Long> forgotten) {
            if (newer.epoch() <= applied.epoch()) {
                return;
            }
            applied = newer;
            waiting.clear();
            List.copyOf(replicas.values()).stream().filter(this::isGone).forEach(this::letGo);
            gate.advance(newer.epoch(), newer::refused);
            for (long session : forgotten) {
                replicas.values().forEach(r -> r.replica.forgetSession(session));
            }
            for (PlacementGroup group : newer.pgs()) {
                if (loopOf(group.getPg()) == this) {
                    place(group);
                }
            }
        }

        private boolean isGone(SimReplica r) {
            int pg = r.replica.pg();
            return Merges.isGone(applied, pg, r.disk.lastEpoch(pg), r.replica.lastSequence());
        }

        /** Replicas that could not begin when the map came. */
        private void placeAgain() {
            List<Integer> again = List.copyOf(waiting);
            waiting.clear();
            again.forEach(pg -> {
                @Nullable PlacementGroup group = applied.pg(pg);
                if (group != null) {
                    place(group);
                }
            });
        }

        /** As one that is looked for on one disk. */
        @Nullable SimReplica replica(int pg, int disk) {
            return replicas.get(key(pg, disk));
        }

        /** The replica that is the primary by the map of this loop. */
        @Nullable SimReplica primary(int pg) {
            @Nullable PlacementGroup group = applied.pg(pg);
            return group == null ? null : replica(pg, ClusterMap.primaryOf(group));
        }

        private void letGo(SimReplica replica) {
            replicas.values().remove(replica);
            replica.replica.close("not here any more");
        }

        /** As {@code PgLoop} does for groups that go back into others. */
        private void merge() {
            for (PlacementGroup child : applied.merging().values()) {
                @Nullable SimReplica primary = primary(child.getPg());
                if (loopOf(child.getPg()) == this && primary != null) {
                    Merges.@Nullable End end = endOf(child, primary.replica);
                    if (end != null) {
                        ends.put(key(child.getPg(), primary.disk.id), end);
                    }
                }
            }
            for (SimDisk disk : disks) {
                for (int child : disk.toRelease()) {
                    if (loopOf(child) == this) {
                        @Nullable SimReplica replica = replica(child, disk.id);
                        if (replica != null) {
                            letGo(replica);
                        }
                        disk.release(child);
                    }
                }
            }
        }

        private Merges.@Nullable End endOf(PlacementGroup child, PgReplica replica) {
            boolean early = cluster.fault == ClusterSim.Fault.MERGE_BEFORE_THE_END;
            return early
                    ? new Merges.End(
                            child.getMergeEpoch(),
                            child.getMergeEpoch(),
                            Math.max(1, replica.committedSequence() - 2))
                    : Merges.endOf(child, replica);
        }

        /** What is here of groups that were merged while this disk was away. */
        private void removeStrays() {
            for (SimDisk disk : disks) {
                for (int pg : disk.groups()) {
                    if (loopOf(pg) == this
                            && Merges.isEnded(applied, pg, disk.lastEpoch(pg))
                            && disk.has(pg)
                            && leaseValid()
                            && replica(pg, disk.id) == null
                            && !disk.mayBeTakenIn(pg)) {
                        disk.end(pg);
                    }
                }
            }
        }

        /** As {@code StrayReplicas} does with what lives elsewhere now, some of it at once. */
        private void removeSome() {
            for (SimDisk disk : disks) {
                for (int pg : disk.groups()) {
                    if (loopOf(pg) == this
                            && sim.random.nextInt(STRAYS) == 0
                            && disk.hasContent(pg)
                            && livesElsewhere(pg, disk)
                            && leaseValid()
                            && endIdle(replica(pg, disk.id))) {
                        disk.discard(pg);
                        for (long inode : disk.inodes(pg)) {
                            if (sim.random.nextInt(3) > 0) {
                                disk.removeInode(pg, inode);
                            }
                        }
                    }
                }
            }
        }

        private boolean livesElsewhere(int pg, SimDisk disk) {
            @Nullable PlacementGroup group = applied.pg(pg);
            boolean tooSoon = cluster.fault == ClusterSim.Fault.STRAY_TOO_SOON;
            return group != null
                    && disk.has(pg)
                    && !Merges.isNewer(applied, disk.lastEpoch(pg))
                    && !Merges.isEnded(applied, pg, disk.lastEpoch(pg))
                    && !group.getReplicasList().contains(disk.id)
                    && (tooSoon
                            || (!group.getInSyncList().contains(disk.id)
                                    && group.getInSyncList().containsAll(group.getReplicasList())));
        }

        private boolean endIdle(@Nullable SimReplica replica) {
            boolean waits = cluster.fault != ClusterSim.Fault.STRAY_TOO_SOON;
            if (replica != null && waits && !replica.replica.isIdle()) {
                return false;
            }
            if (replica != null) {
                letGo(replica);
            }
            return true;
        }

        private void place(PlacementGroup group) {
            PgMembers members = ClusterSim.members(applied, group);
            for (SimDisk disk : disks) {
                @Nullable SimReplica present = replica(group.getPg(), disk.id);
                boolean takenIn =
                        group.getMergeEpoch() > 0
                                && (disk.isMerged(group.getPg(), group.getMergeEpoch())
                                        || disk.isTakenIn(group.getPg()));
                boolean has =
                        !takenIn
                                && (group.getReplicasList().contains(disk.id)
                                        || group.getInSyncList().contains(disk.id));
                if (present == null && has && !Splits.mayBegin(applied, group, disk.id, disk)) {
                    waiting.add(group.getPg());
                } else if (present == null && has) {
                    present = new SimReplica(SimDataServer.this, this, disk, group.getPg(), ledger);
                    replicas.put(key(group.getPg(), disk.id), present);
                }
                if (present != null) {
                    present.replica.onMap(group.getEpoch(), applied.epoch(), members);
                }
            }
        }
    }

    private static long key(int pg, int disk) {
        return (long) pg << 32 | disk;
    }

    SimDataServer(ClusterSim cluster, int number) {
        super(cluster.sim, "data" + number);
        this.cluster = cluster;
        this.number = number;
        uuid = uuid(number, 0);
    }

    private static ByteString uuid(int number, int life) {
        byte[] bytes = new byte[16];
        bytes[0] = (byte) number;
        bytes[1] = (byte) life;
        bytes[2] = (byte) (life >> 8);
        return ByteString.copyFrom(bytes);
    }

    ByteString uuid() {
        return uuid;
    }

    static ByteString diskUuid(int disk) {
        return uuid(disk, 0xffff);
    }

    // ---- process ------------------------------------------------------------------------------

    @Override
    void started() {
        lives++;
        incarnation = uuid(number, lives);
        id = 0;
        map = ClusterMap.EMPTY;
        atAppend = null;
        ends.clear();
        ledger = new SpaceLedger(0, 1 << 30);
        lease = new Lease(this::clock);
        for (int i = 0; i < LOOPS; i++) {
            loops[i] = new SimLoop();
        }
        register();
        heartbeat();
        tick();
        if (disks.stream().anyMatch(SimDisk::hasBits)) {
            scrub();
        }
    }

    @Override
    void crashed() {
        disks.forEach(d -> d.crash(sim.random));
    }

    SimLoop loopOf(int pg) {
        return loops[(pg & 0xffff) % LOOPS];
    }

    @Nullable SimReplica replica(int pg, int disk) {
        return loopOf(pg).replica(pg, disk);
    }

    /** Null if the primary of a group that ends is not known here to have come to its end. */
    Merges.@Nullable End endOf(int pg, int disk) {
        return ends.get(key(pg, disk));
    }

    boolean leaseValid() {
        boolean valid = lease.valid();
        @Nullable Server entry = cluster.raft.map().server(id);
        if (valid && entry != null && !entry.getUp()) {
            throw new AssertionError(name + " has a lease, and the map says that it is down");
        }
        return valid;
    }

    /** A long collection of garbage, or a slow call, on one loop. */
    void delayLoop(long nanos) {
        loops[sim.random.nextInt(LOOPS)].beBusy(nanos);
    }

    /** What is appended next is not synced yet when the server crashes, or just so. */
    void crashAfterAppend(Runnable crash) {
        atAppend = crash;
    }

    void appended() {
        Runnable crash = atAppend;
        if (crash != null) {
            atAppend = null;
            after(sim.upTo(8 * MILLI), crash);
        }
    }

    private void tick() {
        for (SimLoop loop : loops) {
            loop.execute(() -> {
                loop.placeAgain();
                loop.merge();
                loop.removeStrays();
                if (cluster.planned) {
                    loop.removeSome();
                }
                loop.replicas.values().forEach(r -> r.replica.tick(clock()));
            });
        }
        for (SimDisk disk : disks) {
            for (int pg : disk.groups()) {
                boolean inTime =
                        sim.random.nextInt(8) == 0
                                || cluster.fault == ClusterSim.Fault.SPLIT_UNCOMMITTED;
                if (!disk.splitsDue(pg).isEmpty() && inTime) {
                    disk.flush(pg, sim.random);
                }
                if (inTime || cluster.fault == ClusterSim.Fault.MERGE_UNCOMMITTED) {
                    disk.mergeSome(pg);
                }
            }
        }
        after(MILLI * (10 + sim.random.nextInt(20)), this::tick);
    }

    /** What is damaged is repaired from others, as far as they have it now. */
    private void scrub() {
        for (SimDisk disk : disks) {
            if (disk.hasFlipped()) {
                for (SimDisk.BadBlock block : disk.scrub()) {
                    SimLoop loop = loopOf(block.pg());
                    loop.execute(() -> {
                        @Nullable SimReplica replica = loop.replica(block.pg(), disk.id);
                        if (replica != null) {
                            replica.repair(block);
                        }
                    });
                }
            }
        }
        after(SCRUB_INTERVAL, this::scrub);
    }

    // ---- metadata service ---------------------------------------------------------------------

    private SimMdsMember mds() {
        return cluster.mds.get(mds % cluster.mds.size());
    }

    private void register() {
        RegisterServerRequest.Builder request =
                RegisterServerRequest.newBuilder()
                        .setServerUuid(uuid)
                        .setIncarnation(incarnation)
                        .setAddress("127.0.0.1:" + (1000 + number))
                        .setHost("host" + number)
                        .setRecovers(true)
                        .setSplits(true)
                        .setUnites(true);
        for (SimDisk disk : disks) {
            request.addDisks(
                    DiskReport.newBuilder().setUuid(diskUuid(disk.id)).setCapacityBytes(1 << 30));
        }
        SimMdsMember member = mds();
        Process now = process();
        cluster.network.send(
                this,
                member,
                () ->
                        member.register(
                                request.build(),
                                reply ->
                                        cluster.network.send(
                                                member, this, now.only(() -> registered(reply))),
                                update -> push(member, now, update)));
        after(
                300 * MILLI,
                () -> {
                    if (id == 0) {
                        mds++;
                        register();
                    }
                });
    }

    private void registered(RegisterServerReply reply) {
        id = reply.getServer();
        onMap(reply.getMap());
    }

    private void heartbeat() {
        if (id != 0) {
            SimMdsMember member = mds();
            Process now = process();
            long sent = lease.now();
            HeartbeatRequest beat =
                    HeartbeatRequest.newBuilder()
                            .setServer(id)
                            .setIncarnation(incarnation)
                            .setMapEpoch(confirmedEpoch())
                            .setPgs(
                                    PgReport.newBuilder()
                                            .addAllSplit(splitOff())
                                            .addAllMerged(merged()))
                            .build();
            boolean[] answered = {false};
            Runnable silent =
                    () -> {
                        if (!answered[0]) {
                            mds++;
                        }
                    };
            cluster.network.send(
                    this,
                    member,
                    () ->
                            member.heartbeat(
                                    beat,
                                    reply ->
                                            cluster.network.send(
                                                    member,
                                                    this,
                                                    now.only(() -> {
                                                        answered[0] = true;
                                                        answered(sent, reply);
                                                    })),
                                    update -> push(member, now, update)));
            after(HEARTBEAT - 1, silent);
        }
        after(HEARTBEAT, this::heartbeat);
    }

    /** Groups that are made by a split and serve here. */
    private List<Integer> splitOff() {
        List<Integer> pgs = new ArrayList<>();
        for (SimLoop loop : loops) {
            for (PlacementGroup child : loop.applied.splitting().values()) {
                @Nullable SimReplica replica = loop.primary(child.getPg());
                if (replica != null && replica.replica.state() == PgState.ACTIVE) {
                    pgs.add(child.getPg());
                }
            }
        }
        return pgs;
    }

    /** How far groups that go back into others are on the disks here. */
    private List<MergedPg> merged() {
        List<MergedPg> all = new ArrayList<>();
        for (SimLoop loop : loops) {
            for (PlacementGroup child : loop.applied.merging().values()) {
                long epoch = child.getMergeEpoch();
                for (SimDisk disk : disks) {
                    boolean takenIn = disk.isMerged(child.getPg(), epoch);
                    boolean said =
                            loopOf(child.getPg()) == loop
                                    && child.getInSyncList().contains(disk.id)
                                    && (takenIn
                                            || disk.isFlushedWhole(child.getPg(), epoch)
                                            || cluster.fault
                                                    == ClusterSim.Fault.MERGE_BEFORE_THE_END);
                    if (said) {
                        all.add(merged(child, disk.id, takenIn));
                    }
                }
            }
        }
        return all;
    }

    static MergedPg merged(PlacementGroup child, int disk, boolean takenIn) {
        return MergedPg.newBuilder()
                .setPg(child.getPg())
                .setDisk(disk)
                .setMergeEpoch(child.getMergeEpoch())
                .setTakenIn(takenIn)
                .build();
    }

    private void answered(long sent, HeartbeatReply reply) {
        if (reply.getRegisterAgain()) {
            register();
        } else {
            renewed(sent, reply.getMapEpoch());
            if (reply.getMapEpoch() > map.epoch()) {
                needMap();
            }
        }
    }

    private void renewed(long sent, long namedEpoch) {
        boolean broken = cluster.fault == ClusterSim.Fault.LEASE_UNDER_AN_OLD_MAP;
        lease.renewed(sent, ClusterSim.SERVER_LEASE / MILLI, broken ? 0 : namedEpoch);
        lease.applied(confirmedEpoch());
    }

    private long confirmedEpoch() {
        long least = Long.MAX_VALUE;
        for (SimLoop loop : loops) {
            least = Math.min(least, loop.gate.confirmed());
        }
        return least;
    }

    private void push(SimMdsMember from, Process to, MapUpdate update) {
        cluster.network.send(from, this, to.only(() -> onMap(update)));
    }

    private void onMap(MapUpdate update) {
        if (id == 0 || update.getEpoch() <= map.epoch()) {
            return;
        }
        @Nullable ClusterMap newer = map.apply(update);
        if (newer == null) {
            needMap();
            return;
        }
        map = newer;
        ledger.servers(newer.servers().size());
        newer.disks().forEach(d -> ledger.place(d.getId(), d.getServer()));
        for (SimLoop loop : loops) {
            loop.execute(() -> {
                loop.onMap(newer, update.getForgottenSessionsList());
                lease.applied(confirmedEpoch());
            });
        }
    }

    /** A primary asks for it. */
    void askToJoin(int pg, long pgEpoch, int disk) {
        SimMdsMember member = mds();
        cluster.network.send(this, member, () -> member.join(pg, pgEpoch, disk));
    }

    /** A primary waits for it. */
    void memberSilent(int pg, long pgEpoch, int disk) {
        SimMdsMember member = mds();
        cluster.network.send(this, member, () -> member.memberSilent(pg, pgEpoch, disk));
    }

    void needMap() {
        SimMdsMember member = mds();
        Process now = process();
        cluster.network.send(
                this, member, () -> member.askMap(update -> push(member, now, update)));
    }

    // ---- clients ------------------------------------------------------------------------------

    /** A mutation as it arrives. */
    void mutate(DataOp op, ByteBuf payload, OpAnswer answer) {
        SimLoop loop = loopOf(op.pg());
        loop.execute(() -> {
            @Nullable SimReplica replica = admitted(loop, op, answer);
            if (replica != null) {
                new Call(loop, op, answer).start(replica, payload);
            }
        });
    }

    /** A read as it arrives. */
    void read(DataOp op, ReadAnswer answer) {
        SimLoop loop = loopOf(op.pg());
        loop.execute(() -> {
            @Nullable SimReplica replica = admitted(loop, op, answer);
            if (replica != null) {
                replica.read(op, answer);
            }
        });
    }

    /** What a read has seen, should it be shown. */
    interface ReadAnswer extends OpAnswer {
        void seen(SimHistory.Seen seen);
    }

    private @Nullable SimReplica admitted(SimLoop loop, DataOp op, OpAnswer answer) {
        if (loop.applied.epoch() < op.mapEpoch()) {
            needMap();
            answer.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "a newer map is on its way"));
            return null;
        }
        if (loop.applied.refused(op.session())) {
            answer.fail(RpcStatus.fail(Errno.EIO, Advice.FENCED, "evicted"));
            return null;
        }
        if (op.session() != 0 && op.mapEpoch() < loop.applied.sessionFloor()) {
            answer.fail(RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "an old map"));
            return null;
        }
        boolean elsewhere =
                op.session() != 0
                        && cluster.fault != ClusterSim.Fault.SPLIT_UNNOTICED
                        && !loop.applied.isIn(op.pg(), op.inode(), op.chunk());
        @Nullable SimReplica replica = elsewhere ? null : loop.primary(op.pg());
        if (replica == null) {
            answer.fail(RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "elsewhere"));
        }
        return replica;
    }

    /** A mutation in flight, which leaves when the map refuses its session. */
    private final class Call extends EpochGate.Entry implements OpAnswer {
        private final SimLoop loop;
        private final DataOp op;
        private final OpAnswer answer;

        Call(SimLoop loop, DataOp op, OpAnswer answer) {
            this.loop = loop;
            this.op = op;
            this.answer = answer;
            loop.gate.enter(this);
        }

        void start(SimReplica replica, ByteBuf payload) {
            replica.replica.onOperation(op, payload, this);
        }

        @Override
        protected long session() {
            return op.session();
        }

        @Override
        protected void refused() {
            fail(RpcStatus.fail(Errno.EIO, Advice.FENCED, "evicted"));
        }

        @Override
        public void done() {
            if (loop.gate.leave(this)) {
                cluster.history.acknowledged(op, name);
                answer.done();
            }
        }

        @Override
        public void fail(RpcStatus status) {
            if (loop.gate.leave(this)) {
                answer.fail(status);
            }
        }
    }

    /** The real replica of a placement group, with what it needs of this server. */
    @Nullable PgReplica real(int pg, int disk) {
        @Nullable SimReplica replica = replica(pg, disk);
        return replica == null ? null : replica.replica;
    }
}
