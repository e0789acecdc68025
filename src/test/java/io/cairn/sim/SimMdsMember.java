package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.OpAnswer;
import io.cairn.mds.cluster.Drains;
import io.cairn.mds.cluster.InSyncSets;
import io.cairn.mds.cluster.PgMerges;
import io.cairn.mds.cluster.PgSplits;
import io.cairn.mds.cluster.Placement;
import io.cairn.mds.cluster.Registration;
import io.cairn.mds.cluster.Registrations;
import io.cairn.mds.cluster.ServerLeases;
import io.cairn.mds.leader.EarlierLeases;
import io.cairn.mds.leader.Held;
import io.cairn.mds.leader.LeaderLease;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One member of the metadata service, with the leases, registrations and supervision of the real
 * one. Its log is {@link SimRaft}; as leader it decides by its own clock, and may be paused while
 * it thinks that it leads.
 */
final class SimMdsMember extends SimMachine {
    private static final long TICK = 50 * MILLI;
    private static final Duration ABSENT_AFTER = Duration.ofSeconds(4);
    private static final Duration NEVER = Duration.ofDays(1);
    private static final long PING = 100 * MILLI;

    final int id;
    private final ClusterSim cluster;
    private final SimRaft raft;

    /** Newest term this member has voted in; a vote is durable. */
    private long votedTerm;

    private @Nullable Office office;

    /** Of this process. */
    private EarlierLeases earlier = new EarlierLeases(clock());

    /** Being leader of a term. */
    private final class Office {
        final long term;
        final LeaderLease lease;
        final ServerLeases servers = new ServerLeases(ClusterSim.SERVER_LEASE);
        final InSyncSets inSync = new InSyncSets(servers, () -> false);
        final Duration patience = cluster.planned ? ABSENT_AFTER : NEVER;
        final Placement placement =
                new Placement(inSync, new Placement.Times(patience, patience), () -> Held.NONE);
        final PgSplits splits =
                new PgSplits(inSync, placement, servers, () -> Held.NONE, () -> true, () -> true);
        final PgMerges merges = new PgMerges(inSync, servers, () -> Held.NONE, () -> true);
        final Map<Integer, Consumer<MapUpdate>> followers = new HashMap<>();
        final Map<Long, Cutting> cutting = new HashMap<>();

        Office(long term) {
            this.term = term;
            lease = new LeaderLease(cluster.mds.size(), ClusterSim.LEADER_LEASE, clock());
            lease.ownEarlier(earlier.lead(term, clock()));
            servers.begin(raft.map(), lease.servingFromNanos());
            inSync.begin(lease.servingFromNanos());
        }

        boolean serves() {
            return office == this && lease.valid(clock());
        }

        void change(Function<ClusterMap, MapUpdate.@Nullable Builder> edit, Runnable then) {
            raft.propose(SimMdsMember.this, term, edit, then);
        }
    }

    /** The groups that have carried out a truncation, none of them merged since. */
    private record Cutting(long sequence, long mergedEpoch, Set<Integer> groups) {}

    SimMdsMember(ClusterSim cluster, SimRaft raft, int id) {
        super(cluster.sim, "mds" + id);
        this.cluster = cluster;
        this.raft = raft;
        this.id = id;
    }

    @Override
    void started() {
        earlier = new EarlierLeases(clock());
        tick();
        ping();
    }

    @Override
    void crashed() {
        office = null;
    }

    // ---- Raft ---------------------------------------------------------------------------------

    /** Whether it gives its vote, which ends the grants to the leader before. */
    boolean vote(long term) {
        if (term <= votedTerm) {
            return false;
        }
        votedTerm = term;
        return true;
    }

    void lead(long term) {
        office = new Office(term);
    }

    boolean leads(long term) {
        return office != null && office.term == term;
    }

    private void ping() {
        @Nullable Office now = office;
        if (now != null) {
            long sent = clock();
            for (SimMdsMember other : cluster.mds) {
                if (other != this) {
                    cluster.network.send(this, other, () -> other.pinged(this, now, sent));
                }
            }
        }
        after(PING, this::ping);
    }

    private void pinged(SimMdsMember leader, Office by, long sent) {
        OptionalLong ago = earlier.grant(by.term, () -> by.term == votedTerm, this::clock);
        if (ago.isPresent()) {
            cluster.network.send(this, leader, () -> leader.granted(by, id, sent, ago.getAsLong()));
        } else if (by.term < votedTerm) {
            cluster.network.send(this, leader, () -> leader.deposed(by));
        }
    }

    private void granted(Office by, int member, long sent, long ago) {
        by.lease.granted(member, sent);
        by.lease.earlier(member, ago, clock());
    }

    private void deposed(Office by) {
        if (office == by) {
            office = null;
        }
    }

    /** The map has changed in this term: whoever follows it is told. */
    void mapChanged(ClusterMap before, ClusterMap now) {
        @Nullable Office leading = office;
        if (leading != null) {
            MapUpdate increment = ClusterMap.diff(before, now);
            leading.followers.values().forEach(f -> f.accept(increment));
        }
    }

    // ---- requests: an answer or silence --------------------------------------------------------

    void register(
            RegisterServerRequest wanted,
            Consumer<RegisterServerReply> reply,
            Consumer<MapUpdate> push) {
        @Nullable Office leading = office;
        if (leading == null || !leading.serves()) {
            return;
        }
        int lease = (int) (ClusterSim.SERVER_LEASE / MILLI);
        @Nullable Server before = Registration.find(raft.map(), wanted.getServerUuid());
        boolean anew = before != null && !before.getIncarnation().equals(wanted.getIncarnation());
        leading.change(
                base -> {
                    Registrations all =
                            new Registrations(
                                    base, new Registrations.Terms(lease, true, true, true, true));
                    all.add(wanted);
                    return all.update();
                },
                () -> {
                    @Nullable Server server = Registration.find(raft.map(), wanted.getServerUuid());
                    if (server == null || !leading.serves()) {
                        return;
                    }
                    leading.servers.heard(server.getId(), clock(), 0, ServerLeases.Report.NONE);
                    if (anew) {
                        leading.inSync.restarted(raft.map(), server.getId(), clock());
                    }
                    leading.followers.put(server.getId(), push);
                    reply.accept(
                            RegisterServerReply.newBuilder()
                                    .setServer(server.getId())
                                    .setLeaseMillis((int) (leading.servers.leaseOf(server) / MILLI))
                                    .setMap(raft.map().toUpdate())
                                    .build());
                });
    }

    void heartbeat(
            HeartbeatRequest beat, Consumer<HeartbeatReply> reply, Consumer<MapUpdate> push) {
        @Nullable Office leading = office;
        if (leading == null || !leading.serves()) {
            return;
        }
        ClusterMap map = raft.map();
        @Nullable Server server = map.server(beat.getServer());
        boolean known =
                server != null
                        && server.getUp()
                        && (!leading.servers.isCondemned(server.getId())
                                || cluster.fault == ClusterSim.Fault.LEASE_WHILE_MARKED_DOWN)
                        && server.getIncarnation().equals(beat.getIncarnation());
        if (known) {
            leading.servers.heard(
                    beat.getServer(),
                    clock(),
                    beat.getMapEpoch(),
                    new ServerLeases.Report(List.of(), report(beat.getPgs()), null, ""));
            leading.followers.put(beat.getServer(), push);
        }
        reply.accept(
                HeartbeatReply.newBuilder()
                        .setMapEpoch(map.epoch())
                        .setRegisterAgain(!known)
                        .build());
        if (beat.getMapEpoch() < map.epoch()) {
            push.accept(map.toUpdate());
        }
    }

    private PgReport report(PgReport said) {
        if (cluster.fault != ClusterSim.Fault.MERGE_NOT_AWAITED) {
            return said;
        }
        PgReport.Builder early = said.toBuilder().clearMerged();
        said.getMergedList().forEach(m -> early.addMerged(m.toBuilder().setTakenIn(true)));
        return early.build();
    }

    /** The whole map. */
    void askMap(Consumer<MapUpdate> reply) {
        if (office != null && office.serves()) {
            reply.accept(raft.map().toUpdate());
        }
    }

    void askFile(long inode, Consumer<SimFiles.View> reply) {
        if (office != null && office.serves()) {
            reply.accept(raft.files().view(inode));
        }
    }

    /** Answered when the file is cut everywhere. */
    void truncate(SimHistory.Op op, Runnable reply) {
        @Nullable Office leading = office;
        if (leading == null || !leading.serves()) {
            return;
        }
        @Nullable Long sequence = raft.files().sequence(op);
        if (sequence == null) {
            raft.truncate(this, leading.term, op);
        } else if (!raft.files().pending(op.inode).containsKey(sequence)
                || cluster.fault == ClusterSim.Fault.CUT_NOT_AWAITED) {
            reply.run();
        }
    }

    // ---- duties -------------------------------------------------------------------------------

    private void tick() {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            supervise(leading);
            for (var eviction : new TreeMap<>(raft.evictions()).entrySet()) {
                boolean fenced = leading.servers.allBeyond(raft.map(), eviction.getValue());
                if (fenced) {
                    raft.release(this, leading.term, eviction.getKey());
                }
            }
            boolean forgets = cluster.fault != ClusterSim.Fault.SESSIONS_NOT_FORGOTTEN;
            if (forgets && raft.forgetting(raft.map()) != null) {
                leading.change(raft::forgetting, () -> {});
            }
            List.copyOf(raft.deletions()).forEach(inode -> delete(leading, inode));
            raft.files().pending().forEach(inode -> cut(leading, inode));
        }
        after(TICK, this::tick);
    }

    private void supervise(Office leading) {
        long now = clock();
        List<Integer> silent = leading.servers.silent(raft.map(), now);
        if (cluster.fault == ClusterSim.Fault.LEASE_WAIT_SKIPPED) {
            silent =
                    leading.servers.all().entrySet().stream()
                            .filter(e -> now - e.getValue().answeredNanos() > 700 * MILLI)
                            .map(Map.Entry::getKey)
                            .toList();
        }
        for (int id : silent) {
            if (leading.servers.condemn(id)) {
                leading.change(
                        base -> leading.servers.down(base, id, now),
                        () -> leading.servers.decided(id));
            }
        }
        if (leading.inSync.isLeaving(raft.map(), now)) {
            leading.change(base -> left(update(leading.inSync.leaving(base, clock()))), () -> {});
        }
        if (cluster.fault == ClusterSim.Fault.LEARNER_JOINS_TOO_SOON) {
            raft.map().pgs().forEach(g -> joinAny(g));
        }
        if (leading.splits.isAny(raft.map(), now)) {
            leading.change(base -> update(leading.splits.change(base, clock())), () -> {});
        }
        if (leading.merges.isAny(raft.map(), now)) {
            leading.change(base -> update(leading.merges.change(base, clock())), () -> {});
        }
        if (cluster.planned) {
            place(leading);
        } else {
            for (PlacementGroup group : raft.map().pgs()) {
                @Nullable List<Integer> wanted = PgMerges.wanted(raft.map(), group);
                if (wanted != null && !wanted.equals(group.getReplicasList())) {
                    move(group.getPg(), group.getEpoch(), wanted);
                }
            }
        }
        if (leading.inSync.isSettling(raft.map(), now)) {
            leading.change(base -> update(leading.inSync.settling(base, clock())), () -> {});
        }
    }

    /** As {@code InSyncChanges} does. */
    private void place(Office leading) {
        long now = clock();
        if (leading.placement.isAnyToChange(raft.map(), now)) {
            leading.change(base -> update(leading.placement.absent(base, clock())), () -> {});
        } else if (leading.placement.isMoving(raft.map(), now)) {
            leading.change(
                    base -> moved(update(leading.placement.moving(base, clock()))), () -> {});
        }
    }

    private MapUpdate.@Nullable Builder moved(MapUpdate.@Nullable Builder update) {
        if (update != null && cluster.fault == ClusterSim.Fault.MOVED_UNCOPIED) {
            update.getPgsBuilderList()
                    .forEach(g -> g.clearInSync().addAllInSync(g.getReplicasList()));
        }
        return update;
    }

    /** Whether this one leads, and knows no group that could be where it is wanted. */
    boolean hasPlaced() {
        @Nullable Office leading = office;
        return leading != null
                && leading.serves()
                && !leading.placement.isMoving(raft.map(), clock());
    }

    private MapUpdate.@Nullable Builder left(MapUpdate.@Nullable Builder update) {
        if (update != null && cluster.fault == ClusterSim.Fault.SPLIT_MEMBER_STAYS) {
            List<PlacementGroup> alone =
                    update.getPgsList().stream().filter(g -> g.getSplitEpoch() == 0).toList();
            update.clearPgs().addAllPgs(alone);
        }
        if (update != null && cluster.fault == ClusterSim.Fault.MERGE_MEMBER_STAYS) {
            List<PlacementGroup> alone =
                    update.getPgsList().stream().filter(g -> g.getMergeEpoch() == 0).toList();
            update.clearPgs().addAllPgs(alone);
        }
        return update;
    }

    private static MapUpdate.@Nullable Builder update(InSyncSets.@Nullable Change change) {
        return change == null ? null : change.update();
    }

    private void joinAny(PlacementGroup group) {
        for (int disk : group.getReplicasList()) {
            join(group.getPg(), group.getEpoch(), disk);
        }
    }

    /** The reaper, which goes on until the primary has answered. */
    private void delete(Office leading, long inode) {
        int pg = raft.map().pgOf(ClusterSim.POOL, inode, 0);
        long merged = cluster.pool().getMergedEpoch();
        ByteBuf payload = Unpooled.buffer();
        DeleteInodesFormat.encode(new long[] {inode}, payload);
        DataOp op = DataOp.deleteInodes(pg, inode, 1, raft.map().epoch());
        mutate(pg, op, payload, () -> deleted(leading, inode, pg, merged));
    }

    /**
     * The group has no more of it; if that is another one since, or may have got it from one, it is
     * asked at the next tick.
     */
    private void deleted(Office leading, long inode, int pg, long merged) {
        if (raft.map().pgOf(ClusterSim.POOL, inode, 0) == pg
                && cluster.pool().getMergedEpoch() == merged) {
            raft.deleted(this, leading.term, inode);
        }
    }

    /** The truncator: sends the oldest cut to all groups that have not answered. */
    private void cut(Office leading, long inode) {
        Map.Entry<Long, Long> cut = raft.files().pending(inode).firstEntry();
        long sequence = cut.getKey();
        long merged = cluster.pool().getMergedEpoch();
        Cutting now = leading.cutting.computeIfAbsent(inode, i -> new Cutting(0, 0, Set.of()));
        boolean asksAgain =
                now.mergedEpoch != merged
                        && cluster.fault != ClusterSim.Fault.MERGE_CUT_NOT_REPEATED;
        if (now.sequence != sequence || asksAgain) {
            now = new Cutting(sequence, merged, new HashSet<>());
            leading.cutting.put(inode, now);
        }
        Cutting current = now;
        Set<Integer> left = groups(inode, cut.getValue());
        left.removeAll(now.groups);
        if (left.isEmpty()) {
            raft.truncated(this, leading.term, inode, sequence);
        }
        for (int pg : left) {
            DataOp op = DataOp.truncateInode(pg, inode, sequence, raft.map().epoch());
            mutate(
                    pg,
                    op,
                    SimClient.payload(sentSize(cut.getValue())),
                    () -> current.groups.add(pg));
        }
    }

    private long sentSize(long size) {
        boolean roundsUp = cluster.fault == ClusterSim.Fault.CUT_AT_BLOCKS;
        return roundsUp ? Math.ceilDiv(size, SimClient.BLOCK) * SimClient.BLOCK : size;
    }

    private Set<Integer> groups(long inode, long size) {
        Set<Integer> groups = new TreeSet<>();
        for (int chunk = (int) SimClient.STRIPING.chunkOf(size);
                chunk < SimClient.CHUNKS;
                chunk++) {
            groups.add(raft.map().pgOf(ClusterSim.POOL, inode, chunk));
        }
        return groups;
    }

    private void mutate(int pg, DataOp op, ByteBuf payload, Runnable then) {
        SimDataServer primary = cluster.serverOf(cluster.group(pg).getInSync(0));
        OpAnswer answer =
                new OpAnswer() {
                    @Override
                    public void done() {
                        cluster.network.send(primary, SimMdsMember.this, then);
                    }

                    @Override
                    public void fail(RpcStatus status) {}
                };
        cluster.network.send(
                this,
                primary,
                () -> primary.mutate(op, Unpooled.unreleasableBuffer(payload), answer));
    }

    /** A primary waits for a member that says nothing. */
    void memberSilent(int pg, long pgEpoch, int disk) {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            leading.inSync.told(pg, pgEpoch, disk, clock());
        }
    }

    /** A planner gives the group other replicas, unless it is in another epoch. */
    void move(int pg, long pgEpoch, List<Integer> replicas) {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            leading.change(
                    base -> {
                        @Nullable PlacementGroup group = base.pg(pg);
                        return group == null || group.getEpoch() != pgEpoch || base.isTied(group)
                                ? null
                                : MapUpdate.newBuilder()
                                        .addPgs(
                                                group.toBuilder()
                                                        .clearReplicas()
                                                        .addAllReplicas(replicas)
                                                        .setEpoch(base.epoch() + 1));
                    },
                    () -> {});
        }
    }

    /** An administrator drains a server, or has it used again. */
    void drain(int server, boolean restore) {
        @Nullable Office leading = office;
        DrainRequest wanted =
                DrainRequest.newBuilder().addServers(server).setRestore(restore).build();
        if (leading != null && leading.serves()) {
            leading.change(
                    base -> {
                        try {
                            return Drains.update(base, wanted);
                        } catch (FsException e) {
                            return null; // too few servers would be left, or it is not known yet
                        }
                    },
                    () -> {});
        }
    }

    /** An administrator sets how many groups there are to be. */
    void retarget(int target) {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            leading.change(
                    base ->
                            MapUpdate.newBuilder()
                                    .addPools(
                                            Objects.requireNonNull(base.pool(ClusterSim.POOL))
                                                    .toBuilder()
                                                    .setPgTarget(target)),
                    () -> {});
        }
    }

    /** A primary asks for a learner that has everything acknowledged. */
    void join(int pg, long pgEpoch, int disk) {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            JoinPgRequest wanted =
                    JoinPgRequest.newBuilder().setPg(pg).setPgEpoch(pgEpoch).setDisk(disk).build();
            leading.change(
                    base -> update(leading.inSync.joining(base, List.of(wanted), clock())),
                    () -> {});
        }
    }

    /** Of a client that has done nothing wrong: as an administrator does. */
    void evict(long session) {
        @Nullable Office leading = office;
        if (leading != null && leading.serves()) {
            leading.change(
                    base ->
                            base.refused(session)
                                    ? null
                                    : MapUpdate.newBuilder().addRefusedSessions(session),
                    () -> {});
        }
    }
}
