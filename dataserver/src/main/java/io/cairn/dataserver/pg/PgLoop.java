package io.cairn.dataserver.pg;

import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.common.errno.Errno;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcLoop;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.PgMembers;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.store.DiskStore;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The placement groups that one event loop owns, and the cluster map it applied last. Called on
 * that loop, unless a method says otherwise.
 */
public final class PgLoop {
    private static final PgMembers NOBODY = new PgMembers(List.of(), List.of(), 1);

    private static final Logger LOG = LoggerFactory.getLogger(PgLoop.class);

    private static final long TICK_NANOS = 20_000_000;

    /** Between two looks at which PGs serve: shorter than the time between two heartbeats. */
    private static final long LOOK_NANOS = 250_000_000;

    private final RpcLoop loop;
    private final ServerParts parts;
    private final IntPredicate mine;
    private final StrayReplicas strays;
    private final DurableInbox inbox;
    private final EpochGate gate = new EpochGate();
    private final Map<Long, PgSlot> slots = new HashMap<>();
    private final Map<Integer, PgSlot> primaries = new HashMap<>();
    private final Map<Integer, RpcChannel> channels = new HashMap<>();

    /** Replicas that the map says are here, and that cannot begin yet. */
    private final Set<Integer> waiting = new HashSet<>();

    private ClusterMap map = ClusterMap.EMPTY;
    private boolean closed;
    private final PgWatch watch = new PgWatch();
    private long lookedNanos;
    private volatile Map<PgState, Integer> stateCounts = Map.of();
    private volatile @Nullable PgReport report;

    /**
     * @param mine whether this loop owns a PG
     */
    PgLoop(RpcLoop loop, ServerParts parts, IntPredicate mine) {
        this.loop = loop;
        this.parts = parts;
        this.mine = mine;
        strays = new StrayReplicas(this, parts, mine);
        inbox = new DurableInbox(this::execute, this::durable);
    }

    /** Begins to tick. Any thread. */
    void start() {
        loop.every(TICK_NANOS, "The clock of the placement groups", () -> run(this::tick));
    }

    /** Runs the task on the loop after a while. */
    public void after(long delayNanos, Runnable task) {
        loop.after(delayNanos, () -> run(task));
    }

    /** Whether the caller is on this loop. Any thread. */
    public boolean inLoop() {
        return loop.inLoop();
    }

    /** Runs the task now if the caller is on the loop, else later on the loop. Any thread. */
    public void runOrExecute(Runnable task) {
        if (inLoop()) {
            run(task);
        } else {
            execute(task);
        }
    }

    /** Runs the task on the loop later. Any thread. */
    public void execute(Runnable task) {
        loop.execute(() -> run(task));
    }

    /**
     * Runs the task now. An exception is a broken invariant of a replica: it stops the process, see
     * {@link ServerParts}; but for that of a disk, whose replicas are closed with it.
     */
    void run(Runnable task) {
        try {
            task.run();
        } catch (DiskOutException e) {
            LOG.debug("A task met a disk that is out", e);
        } catch (RuntimeException | Error e) {
            parts.fatal().fatal("a placement group's state is not what it must be", e);
        }
    }

    DurableInbox inbox() {
        return inbox;
    }

    /** Any thread: see {@link EpochGate#confirmed}. */
    long confirmedEpoch() {
        return gate.confirmed();
    }

    /** Any thread: number of replicas in that state. */
    int stateCount(PgState state) {
        return stateCounts.getOrDefault(state, 0);
    }

    /** Any thread: the PGs whose primary is here; null before they were looked at. */
    @Nullable PgReport report() {
        return report;
    }

    /** Counts the requests of this loop. */
    public EpochGate gate() {
        return gate;
    }

    /** The map this loop applied last. */
    public ClusterMap map() {
        return map;
    }

    // ---- map ----------------------------------------------------------------------------------

    /**
     * @param forgotten sessions of which nothing can be in flight any more
     */
    void onMap(ClusterMap newer, List<Long> forgotten) {
        if (closed || newer.epoch() <= map.epoch()) {
            return;
        }
        map = newer;
        waiting.clear();
        Set<Integer> next = Splits.next(newer);
        next.addAll(Merges.next(newer));
        parts.disks().values().forEach(d -> d.store().flushFirst(next));
        gate.advance(newer.epoch(), newer::refused);
        channels.clear();
        primaries.clear();
        List.copyOf(slots.values()).stream().filter(this::isGone).forEach(this::letGo);
        for (PlacementGroup group : newer.pgs()) {
            if (mine.test(group.getPg())) {
                place(group);
            }
        }
        for (PgSlot slot : slots.values()) {
            PgReplica replica = slot.replica();
            if (newer.pg(replica.pg()) == null) {
                replica.onMap(newer.epoch(), newer.epoch(), NOBODY); // its pool was removed
            }
        }
        for (long session : forgotten) {
            slots.values().forEach(s -> s.replica().forgetSession(session));
        }
        count();
    }

    private boolean isGone(PgSlot slot) {
        PgReplica replica = slot.replica();
        long lastEpoch = slot.disk().store().lastEpoch(replica.pg());
        return Merges.isGone(map, replica.pg(), lastEpoch, replica.lastSequence());
    }

    /** The split of the group that is not carried out everywhere; null if there is none. */
    @Nullable Split splitOf(int pg) {
        return Splits.of(map, pg);
    }

    /** Whether the group is being split or merged, or is the other one of both. */
    boolean isTied(int pg) {
        PlacementGroup group = map.pg(pg);
        return group != null && map.isTied(group);
    }

    /** Whether the group goes back into another one. */
    boolean isEnding(int pg) {
        PlacementGroup group = map.pg(pg);
        return group != null && group.getMergeEpoch() > 0;
    }

    /** The merge that the group is to log on the disk; null if there is none. */
    @Nullable Merge mergeDue(int pg, long epoch, LocalDisk disk) {
        PlacementGroup child = map.merging().get(pg);
        if (child == null) {
            return null;
        }
        Merges.End end = parts.ends().get(key(child.getPg(), disk.id()));
        Merge due = Merges.due(map, pg, epoch, end);
        return due == null || disk.store().hasMerge(pg, due.child(), due.epoch()) ? null : due;
    }

    private void place(PlacementGroup group) {
        PgMembers members = membersOf(group);
        for (LocalDisk disk : parts.disks().values()) {
            boolean has =
                    !disk.isOut()
                            && (members.inSync().contains(disk.id())
                                    || members.learners().contains(disk.id()))
                            && !isTakenIn(group, disk.store());
            long key = key(group.getPg(), disk.id());
            PgSlot slot = slots.get(key);
            if (slot == null && has && !mayBegin(group, disk)) {
                waiting.add(group.getPg());
            } else if (slot == null && has && !strays.isDropping(group.getPg(), disk.id())) {
                strays.begins(group.getPg(), disk.id());
                slot = new PgSlot(this, parts, disk, group.getPg());
                slots.put(key, slot);
            }
            if (slot != null) {
                slot.replica().onMap(group.getEpoch(), map.epoch(), members);
                if (disk.id() == ClusterMap.primaryOf(group)) {
                    primaries.put(group.getPg(), slot);
                }
            }
        }
    }

    /** Whether the merge of the group is committed, as far as is known there, or carried out. */
    private static boolean isTakenIn(PlacementGroup group, DiskStore store) {
        return group.getMergeEpoch() > 0
                && (store.isMerged(group.getPg(), group.getMergeEpoch())
                        || store.isTakenIn(group.getPg()));
    }

    /** Nobody asks the replica anything any more, and it logs nothing. */
    private void letGo(PgSlot slot) {
        int pg = slot.replica().pg();
        slots.remove(key(pg, slot.disk().id()));
        primaries.remove(pg, slot);
        slot.replica().close("placement group %x was merged".formatted(pg));
    }

    /** Groups that merges wait for, which have nothing left to do. */
    private void release() {
        for (LocalDisk disk : parts.disks().values()) {
            if (disk.isOut()) {
                continue;
            }
            for (int child : disk.store().toRelease()) {
                if (mine.test(child)) {
                    PgSlot slot = slot(child, disk.id());
                    if (slot != null) {
                        letGo(slot);
                    }
                    disk.store().release(child);
                }
            }
        }
    }

    /** What the primaries of the parents have to know, wherever these live. */
    private void noteEnds() {
        for (PlacementGroup child : map.merging().values()) {
            PgSlot slot = primaries.get(child.getPg());
            Merges.End end = slot == null ? null : Merges.endOf(child, slot.replica());
            if (slot != null && end != null) {
                parts.ends().put(key(child.getPg(), slot.disk().id()), end);
            }
        }
    }

    private boolean mayBegin(PlacementGroup group, LocalDisk disk) {
        DiskStore store = disk.store();
        Splits.OnDisk there =
                new Splits.OnDisk() {
                    @Override
                    public boolean has(int pg) {
                        return store.pgs().contains(pg);
                    }

                    @Override
                    public long lastEpoch(int pg) {
                        return store.lastEpoch(pg);
                    }

                    @Override
                    public boolean begin(int pg, int parent, boolean parentIsHere) {
                        return store.begin(pg, parent, parentIsHere);
                    }
                };
        return Splits.mayBegin(map, group, disk.id(), there);
    }

    /** A replica that could not begin with the last map perhaps can now. */
    void placeAgain(int pg) {
        PlacementGroup group = map.pg(pg);
        if (group != null && !closed) {
            place(group);
        }
    }

    /** The same of all groups. */
    void placeAgain() {
        map.pgs().stream().map(PlacementGroup::getPg).filter(mine::test).forEach(this::placeAgain);
    }

    /** Ends a replica that is none any more; false if it is, or has something to finish. */
    boolean endIdle(int pg, int disk) {
        PgSlot slot = slot(pg, disk);
        if (slot != null && !slot.replica().isIdle()) {
            return false;
        }
        slots.remove(key(pg, disk));
        return true;
    }

    /** Replicas that are not in sync learn; slow disks only where the others are too few. */
    private PgMembers membersOf(PlacementGroup group) {
        Pool pool = map.pool(PgHash.poolOf(group.getPg()));
        int minSize = pool == null ? 1 : pool.getMinSize();
        List<Integer> learners = new ArrayList<>(ClusterMap.learnersOf(group));
        if (group.getInSyncCount() >= minSize) {
            learners.removeIf(this::isSlow);
        }
        if (group.getMergeEpoch() > 0 || map.merging().containsKey(group.getPg())) {
            learners.clear(); // until both are one
        }
        return new PgMembers(group.getInSyncList(), learners, minSize);
    }

    private boolean isSlow(int diskId) {
        Disk disk = map.disk(diskId);
        return disk != null && disk.getSlow();
    }

    /** The in-sync members, the primary first. */
    private static int[] members(PlacementGroup group) {
        return group.getInSyncList().stream().mapToInt(Integer::intValue).toArray();
    }

    /** The PG's members in the map this loop has, the primary first; empty if it is unknown. */
    public int[] members(int pg) {
        PlacementGroup group = map.pg(pg);
        return group == null ? new int[0] : members(group);
    }

    static long key(int pg, int disk) {
        return (long) pg << 32 | disk;
    }

    /** The replica on this disk, null if there is none in the map this loop has. */
    public @Nullable PgSlot slot(int pg, int disk) {
        return slots.get(key(pg, disk));
    }

    /** The replica that is the PG's primary here, null if it is elsewhere. */
    public @Nullable PgSlot primary(int pg) {
        return primaries.get(pg);
    }

    /** The PGs whose primary is here, and on which disk each is. */
    public Map<Integer, LocalDisk> primaries() {
        Map<Integer, LocalDisk> disks = new HashMap<>();
        primaries.forEach((pg, slot) -> disks.put(pg, slot.disk()));
        return disks;
    }

    /** What a client is told whose PG has no primary among the replicas here. */
    public RpcStatus noPrimary(int pg) {
        int[] members = members(pg);
        if (members.length > 0 && isWaiting(pg) && isHere(members[0])) {
            return waitingStatus(pg);
        }
        if (members.length > 0 && isHere(members[0]) && isEnding(pg)) {
            return RpcStatus.fail(
                    Errno.EAGAIN,
                    Advice.RETRY,
                    "placement group %x goes back into the one that it was made of".formatted(pg));
        }
        return members.length > 0 && isOutHere(members[0])
                ? LocalDisk.outStatus(members[0])
                : RpcStatus.fail(
                        Errno.EAGAIN,
                        Advice.REFRESH_MAP,
                        "placement group %x has its primary elsewhere".formatted(pg));
    }

    /** Whether a replica is to begin here once a split is carried out. */
    public boolean isWaiting(int pg) {
        return waiting.contains(pg);
    }

    /** What is answered until it has begun. */
    public static RpcStatus waitingStatus(int pg) {
        return RpcStatus.fail(
                Errno.EAGAIN,
                Advice.RETRY,
                "placement group %x is being made of a part of another one".formatted(pg));
    }

    private boolean isHere(int disk) {
        return parts.disks().containsKey(disk);
    }

    /** Whether the disk is one of this server, but cannot serve. */
    public boolean isOutHere(int disk) {
        LocalDisk opened = parts.disks().get(disk);
        if (opened != null) {
            return opened.isOut();
        }
        Integer owner = parts.lost().get(disk);
        Server server = map.serverOfDisk(disk);
        return owner != null && server != null && server.getId() == owner;
    }

    /** To the server of another disk, null while the map does not know it. */
    public @Nullable RpcChannel channel(int diskId) {
        RpcChannel channel = channels.get(diskId);
        if (channel == null) {
            Server server = map.serverOfDisk(diskId);
            if (server == null) {
                return null;
            }
            channel = parts.peers().channel(RpcAddress.parse(server.getAddress()), loop);
            channels.put(diskId, channel);
        }
        return channel;
    }

    /** Whether the map says that the server of the disk is up. */
    boolean isUp(int diskId) {
        Server server = map.serverOfDisk(diskId);
        return server != null && server.getUp();
    }

    /** Id of the server that has the disk, for messages. */
    public String serverOf(int diskId) {
        Server server = map.serverOfDisk(diskId);
        return server == null ? "?" : Integer.toString(server.getId());
    }

    // ---- time and disks -----------------------------------------------------------------------

    private void tick() {
        if (closed) {
            return;
        }
        long now = System.nanoTime();
        for (PgSlot slot : slots.values()) {
            slot.replica().tick(now);
        }
        List.copyOf(waiting)
                .forEach(pg -> {
                    waiting.remove(pg);
                    placeAgain(pg);
                });
        strays.tick(now);
        noteEnds();
        if (!map.merging().isEmpty()) {
            release();
        }
        count();
        if (map.epoch() > 0 && (report == null || now - lookedNanos >= LOOK_NANOS)) {
            lookedNanos = now;
            look(now);
        }
    }

    private void look(long now) {
        watch.begin(now);
        for (PgSlot slot : primaries.values()) {
            PgReplica replica = slot.replica();
            watch.see(
                    replica.pg(),
                    replica.state(),
                    replica.lastSequence(),
                    replica.committedSequence(),
                    replica.belowMinimum() || isMemberDown(replica.pg()),
                    slot::problem);
            watch.recovering(replica.recovering());
            PlacementGroup group = map.pg(replica.pg());
            if (group != null && group.getSplitEpoch() > 0 && replica.state() == PgState.ACTIVE) {
                watch.split(replica.pg());
            }
        }
        for (PlacementGroup child : map.merging().values()) {
            int pg = child.getPg();
            boolean released = mine.test(pg) && !primaries.containsKey(pg);
            if (released && isHere(ClusterMap.primaryOf(child))) {
                watch.see(
                        pg,
                        PgState.IDLE,
                        0,
                        0,
                        false,
                        () -> "goes back into the one that it was made of");
            }
        }
        for (int pg : waiting) {
            int[] members = members(pg);
            if (members.length > 0 && isHere(members[0])) {
                watch.see(
                        pg,
                        PgState.IDLE,
                        0,
                        0,
                        false,
                        () ->
                                "waits on disk %d for the split that makes it: for what was logged before,"
                                                .formatted(members[0])
                                        + " and perhaps for the repair of a damaged block");
            }
        }
        release();
        reportMerges();
        report = watch.end();
    }

    private void reportMerges() {
        for (PlacementGroup child : map.merging().values()) {
            long epoch = child.getMergeEpoch();
            for (LocalDisk disk : parts.disks().values()) {
                if (!mine.test(child.getPg())
                        || disk.isOut()
                        || !child.getInSyncList().contains(disk.id())) {
                    continue;
                }
                if (disk.store().isMerged(child.getPg(), epoch)) {
                    watch.merged(child.getPg(), disk.id(), epoch, true);
                } else if (disk.store().isFlushedWhole(child.getPg(), epoch)) {
                    watch.merged(child.getPg(), disk.id(), epoch, false);
                }
            }
        }
    }

    /**
     * Whether the map says that the server of a member is down: until it is up, nothing commits.
     */
    private boolean isMemberDown(int pg) {
        PlacementGroup group = map.pg(pg);
        if (group == null) {
            return false;
        }
        for (int disk : group.getInSyncList()) {
            Server server = map.serverOfDisk(disk);
            if (server != null && !server.getUp()) {
                return true;
            }
        }
        return false;
    }

    private void count() {
        Map<PgState, Integer> counts = new EnumMap<>(PgState.class);
        for (PgSlot slot : slots.values()) {
            counts.merge(slot.replica().state(), 1, Integer::sum);
        }
        stateCounts = counts;
    }

    private void durable(DurableInbox.Appended a) {
        long delay = a.slot.disk().delayNanos();
        if (delay == 0) {
            a.slot.replica().onDurable(a.epoch, a.sequence);
        } else {
            after(delay, () -> a.slot.replica().onDurable(a.epoch, a.sequence));
        }
    }

    /** The disk is out: its replicas end, and whoever waits for one of them is told to retry. */
    void diskOut(LocalDisk disk) {
        List<PgSlot> gone = slots.values().stream().filter(s -> s.disk() == disk).toList();
        slots.values().removeAll(gone);
        primaries.values().removeAll(gone);
        gone.forEach(s -> s.replica().close("disk %d is out of service".formatted(disk.id())));
        count();
    }

    void close() {
        closed = true;
        List<PgSlot> all = new ArrayList<>(slots.values());
        slots.clear();
        primaries.clear();
        all.forEach(s -> s.replica().close("the data server stops"));
    }
}
