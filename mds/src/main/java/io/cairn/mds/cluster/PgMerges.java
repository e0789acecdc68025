package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MergedPg;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.PgPlanner;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings the number of placement groups of each pool down to its target, one group of a pool at a
 * time: the one with the highest number goes back into the one that it was made of. Lowers the
 * target where that is left to it and disks have far too many replicas.
 *
 * <p>{@link Placement} first brings the group to the disks of the other one. Once both have the
 * same members, all of which surely serve, have all their replicas, and wait for no repair, the map
 * says that they are merged ({@code merge_epoch}): from then on the group takes nothing any more,
 * neither of both moves, is split, or gets other members in sync than the other. Once all members
 * in sync have its whole history in their indexes, the map says so too ({@code merge_flushed}), and
 * the primary of the other group logs the merge. Once all members in sync have carried that out,
 * the map has the group no more. From the first step on it goes through, whatever the target is
 * then.
 *
 * <p>One thread; without clock or I/O.
 */
public final class PgMerges {
    /**
     * Replicas of a pool on each of its disks, of whichever tier, from which on the automatic
     * target goes down: eight times as many as those below which it goes up, so that it never goes
     * to and fro.
     */
    static final int MOST_PER_DISK = 8 * PoolDisks.REPLICAS_PER_DISK;

    /** What a lowered target leaves on each disk at least. */
    static final int LEFT_PER_DISK = 2 * PoolDisks.REPLICAS_PER_DISK;

    /** Groups of a pool that are brought to the disks of those that they go back into. */
    private static final int PREPARED = 8;

    private final InSyncSets sets;
    private final ServerLeases servers;
    private final Supplier<Held> held;
    private final BooleanSupplier isMerging;

    /**
     * @param isMerging whether all members know maps in which groups are merged
     */
    public PgMerges(
            InSyncSets sets, ServerLeases servers, Supplier<Held> held, BooleanSupplier isMerging) {
        this.sets = sets;
        this.servers = servers;
        this.held = held;
        this.isMerging = isMerging;
    }

    // ---- what the map says --------------------------------------------------------------------

    private static boolean isShrinking(Pool pool) {
        return pool.getPgCount() > lowest(pool);
    }

    /** The number of groups that the pool is to come down to. */
    private static int lowest(Pool pool) {
        return Math.max(ClusterMap.targetOf(pool), ClusterMap.baseOf(pool));
    }

    private static boolean isKnownToAll(ClusterMap map) {
        return map.servers().stream().allMatch(Server::getUnites);
    }

    /**
     * Where a group is to live because it is to be merged soon: where the one is that it goes back
     * into, which stays. Null if it is to live where any group may.
     */
    public static @Nullable List<Integer> wanted(ClusterMap map, PlacementGroup group) {
        Pool pool = map.pool(PgHash.poolOf(group.getPg()));
        if (pool == null || !isShrinking(pool) || !isKnownToAll(map)) {
            return null;
        }
        int index = PgHash.indexOf(group.getPg());
        int last = pool.getPgCount() - 1;
        int first = Math.max(lowest(pool), pool.getPgCount() - PREPARED);
        if (isPrepared(pool, index, first, last)) {
            @Nullable PlacementGroup parent = map.pg(map.parentOf(group.getPg()));
            return parent == null ? null : parent.getReplicasList();
        }
        for (int child = first; child <= last; child++) {
            if (isPrepared(pool, child, first, last) && parent(pool, child) == index) {
                boolean mayStay =
                        group.getReplicasList().stream().allMatch(d -> isPlaceable(map, d));
                return mayStay ? group.getReplicasList() : null;
            }
        }
        return null;
    }

    /** Whether it goes to its parent now: the last one does, and others whose parent does not. */
    private static boolean isPrepared(Pool pool, int index, int first, int last) {
        if (index < first || index > last) {
            return false;
        }
        return index == last || (parent(pool, index) < first && index != parent(pool, last));
    }

    private static int parent(Pool pool, int index) {
        return PgHash.parent(index, ClusterMap.baseOf(pool));
    }

    private static boolean isPlaceable(ClusterMap map, int id) {
        @Nullable Disk disk = map.disk(id);
        return disk != null && PgPlanner.isPlaceable(disk);
    }

    // ---- what is to be done -------------------------------------------------------------------

    /** Whether something can be done now. */
    public boolean isAny(ClusterMap map, long nowNanos) {
        boolean some =
                map.pools().stream().anyMatch(p -> p.getPgAuto() || isShrinking(p))
                        || !map.merging().isEmpty();
        return some && change(map, nowNanos) != null;
    }

    /** The next step; null if none can be done now. */
    public InSyncSets.@Nullable Change change(ClusterMap base, long nowNanos) {
        if (!isMerging.getAsBoolean()) {
            return null;
        }
        for (PlacementGroup child : base.merging().values()) {
            InSyncSets.@Nullable Change on = goneOn(base, child);
            if (on != null) {
                return on;
            }
        }
        for (Pool pool : base.pools()) {
            InSyncSets.@Nullable Change lowered = lowered(base, pool);
            if (lowered != null) {
                return lowered;
            }
        }
        Held now = held.get();
        if (now.noRebalance() || now.noRecover() || now.pause() || !isKnownToAll(base)) {
            return null;
        }
        for (Pool pool : base.pools()) {
            InSyncSets.@Nullable Change begun = begun(base, pool, nowNanos);
            if (begun != null) {
                return begun;
            }
        }
        return null;
    }

    // ---- a merge under way --------------------------------------------------------------------

    private InSyncSets.@Nullable Change goneOn(ClusterMap base, PlacementGroup child) {
        if (!child.getMergeFlushed()) {
            return isSaidOfAll(base, child, m -> true)
                    ? new InSyncSets.Change(
                            MapUpdate.newBuilder().addPgs(child.toBuilder().setMergeFlushed(true)),
                            "placement group %x has come to its end".formatted(child.getPg()))
                    : null;
        }
        return isSaidOfAll(base, child, MergedPg::getTakenIn) ? ended(base, child) : null;
    }

    /** What is said once stays true of a disk. */
    private boolean isSaidOfAll(ClusterMap base, PlacementGroup child, Predicate<MergedPg> enough) {
        return child.getInSyncList().stream().allMatch(disk -> isSaid(base, child, disk, enough));
    }

    private boolean isSaid(
            ClusterMap base, PlacementGroup child, int disk, Predicate<MergedPg> enough) {
        @Nullable Server server = base.serverOfDisk(disk);
        ServerLeases.@Nullable Known known =
                server == null ? null : servers.all().get(server.getId());
        @Nullable PgReport report = known == null ? null : known.report().pgs();
        return report != null
                && report.getMergedList().stream()
                        .anyMatch(m ->
                                m.getPg() == child.getPg()
                                        && m.getDisk() == disk
                                        && m.getMergeEpoch() == child.getMergeEpoch()
                                        && enough.test(m));
    }

    private static InSyncSets.@Nullable Change ended(ClusterMap base, PlacementGroup child) {
        @Nullable Pool pool = base.pool(PgHash.poolOf(child.getPg()));
        @Nullable PlacementGroup parent = base.pg(base.parentOf(child.getPg()));
        if (pool == null || parent == null) {
            return null;
        }
        long epoch = base.epoch() + 1;
        MapUpdate.Builder update =
                MapUpdate.newBuilder()
                        .addPools(
                                pool.toBuilder()
                                        .setPgCount(pool.getPgCount() - 1)
                                        .setMergedEpoch(epoch))
                        .addPgs(parent.toBuilder().setEpoch(epoch));
        return new InSyncSets.Change(
                update,
                "placement group %x is merged into %x: pool %s has %d, and is to have %d"
                        .formatted(
                                child.getPg(),
                                parent.getPg(),
                                pool.getName(),
                                pool.getPgCount() - 1,
                                ClusterMap.targetOf(pool)));
    }

    // ---- the target ---------------------------------------------------------------------------

    private static InSyncSets.@Nullable Change lowered(ClusterMap base, Pool pool) {
        if (!pool.getPgAuto() || base.pg(PgHash.pg(pool.getId(), 0)) == null) {
            return null;
        }
        PoolDisks disks = PoolDisks.placeable(base, pool);
        if (!disks.isComplete() || ClusterMap.targetOf(pool) <= disks.groups(MOST_PER_DISK)) {
            return null;
        }
        long target = disks.evenGroups(LEFT_PER_DISK);
        return target >= ClusterMap.targetOf(pool)
                ? null
                : new InSyncSets.Change(
                        Pools.update(Pools.withTarget(pool, (int) target)),
                        "pool %s is to have %d placement groups only, for %d disks"
                                .formatted(pool.getName(), target, disks.count()));
    }

    // ---- beginning ----------------------------------------------------------------------------

    private InSyncSets.@Nullable Change begun(ClusterMap base, Pool pool, long nowNanos) {
        if (!isShrinking(pool) || isAnyTied(base, pool)) {
            return null;
        }
        @Nullable PlacementGroup child = base.pg(PgHash.pg(pool.getId(), pool.getPgCount() - 1));
        @Nullable PlacementGroup parent =
                child == null ? null : base.pg(base.parentOf(child.getPg()));
        if (child == null
                || parent == null
                || !haveSameMembers(child, parent)
                || !isReady(base, pool, child, nowNanos)
                || !isReady(base, pool, parent, nowNanos)) {
            return null;
        }
        long epoch = base.epoch() + 1;
        MapUpdate.Builder update =
                MapUpdate.newBuilder()
                        .addPgs(parent.toBuilder().setEpoch(epoch))
                        .addPgs(child.toBuilder().setEpoch(epoch).setMergeEpoch(epoch));
        return new InSyncSets.Change(
                update,
                "placement group %x goes back into %x".formatted(child.getPg(), parent.getPg()));
    }

    /** The last group of a pool is the one that is made, or ends: so there is one at a time. */
    static boolean isAnyTied(ClusterMap map, Pool pool) {
        return map.merging().keySet().stream().anyMatch(g -> PgHash.poolOf(g) == pool.getId())
                || map.splitting().keySet().stream()
                        .anyMatch(g -> PgHash.poolOf(g) == pool.getId());
    }

    private static boolean haveSameMembers(PlacementGroup child, PlacementGroup parent) {
        return ClusterMap.primaryOf(child) == ClusterMap.primaryOf(parent)
                && new HashSet<>(child.getInSyncList())
                        .equals(new HashSet<>(parent.getInSyncList()))
                && child.getReplicasList().equals(parent.getReplicasList());
    }

    private boolean isReady(ClusterMap base, Pool pool, PlacementGroup group, long nowNanos) {
        List<Integer> disks = group.getReplicasList();
        return disks.size() >= pool.getMinSize()
                && group.getInSyncList().containsAll(disks)
                && !InSyncSets.isAstray(group)
                && disks.stream().allMatch(d -> sets.isSure(base, group, d, nowNanos))
                && disks.stream().noneMatch(d -> InSyncSets.isSlow(base, d))
                && Collections.disjoint(disks, servers.waitingForRepair())
                && Collections.disjoint(disks, busyDisks(base));
    }

    /** Disks on which a group is being made or ends, in whatever pool. */
    static Set<Integer> busyDisks(ClusterMap map) {
        Set<Integer> busy = new HashSet<>();
        map.splitting().values().forEach(g -> busy.addAll(g.getReplicasList()));
        map.merging().values().forEach(g -> busy.addAll(g.getReplicasList()));
        return busy;
    }
}
