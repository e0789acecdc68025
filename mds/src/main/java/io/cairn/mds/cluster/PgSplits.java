package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings the number of placement groups of each pool up to its target, one group at a time: the
 * next one is made of a part of the one that {@link PgHash} says, on the same disks, and {@link
 * Placement} moves it later. Raises the target where that is left to it and disks have come.
 *
 * <p>A group is split while it has as many replicas as its pool wants, all of them are in sync and
 * surely serve, each disk has no other split to carry out, and no block there waits for a repair.
 * From that epoch of the map until the primary of the new group has said that it serves, which
 * takes that all members have it, the map says so ({@code split_epoch}): meanwhile neither of both
 * moves, is split, or gets other members in sync than the other.
 *
 * <p>Splits go first while the disks of a pool have few replicas of it: then moves wait, or each
 * group would be moved half for nothing. From {@link #CROWDED} replicas a disk on moves go first:
 * then the many groups of a pool that grows from few disks to many are split on many disks at once,
 * and no disk has ever thousands of them.
 *
 * <p>One thread; without clock or I/O.
 */
public final class PgSplits {
    /** Replicas of a pool on each of its disks, from which on moves go first. */
    private static final int CROWDED = 200;

    private final InSyncSets sets;
    private final Placement placement;
    private final ServerLeases servers;
    private final Supplier<Held> held;
    private final BooleanSupplier isMerging;

    /**
     * @param isMerging whether all members know maps in which groups are merged
     */
    public PgSplits(
            InSyncSets sets,
            Placement placement,
            ServerLeases servers,
            Supplier<Held> held,
            BooleanSupplier isMerging) {
        this.isMerging = isMerging;
        this.sets = sets;
        this.placement = placement;
        this.servers = servers;
        this.held = held;
    }

    // ---- what the map says --------------------------------------------------------------------

    /** The pools whose groups are split before they move. */
    static Set<Integer> goFirst(ClusterMap map) {
        Set<Integer> pools = new HashSet<>();
        if (!isKnownToAll(map)) {
            return pools; // it may be long until something is split
        }
        for (Pool pool : map.pools()) {
            if (isGrowing(pool) && !isCrowded(map, pool)) {
                pools.add(pool.getId());
            }
        }
        return pools;
    }

    private static boolean isGrowing(Pool pool) {
        return pool.getPgCount() < ClusterMap.targetOf(pool);
    }

    private static boolean isCrowded(ClusterMap map, Pool pool) {
        Set<Integer> disks = new HashSet<>();
        int replicas = 0;
        for (PlacementGroup group : map.pgs()) {
            if (PgHash.poolOf(group.getPg()) == pool.getId()) {
                disks.addAll(group.getReplicasList());
                replicas += group.getReplicasCount();
            }
        }
        return replicas >= (long) CROWDED * Math.max(1, disks.size());
    }

    // ---- what is to be done -------------------------------------------------------------------

    /** Whether something can be done now. */
    public boolean isAny(ClusterMap map, long nowNanos) {
        boolean some =
                map.pools().stream().anyMatch(p -> p.getPgAuto() || isGrowing(p))
                        || !map.splitting().isEmpty();
        return some && change(map, nowNanos) != null;
    }

    /** The next step; null if none can be done now. */
    public InSyncSets.@Nullable Change change(ClusterMap base, long nowNanos) {
        InSyncSets.@Nullable Change made = made(base);
        if (made != null) {
            return made;
        }
        for (Pool pool : base.pools()) {
            InSyncSets.@Nullable Change raised = raised(base, pool);
            if (raised != null) {
                return raised;
            }
        }
        if (isHeld() || !isKnownToAll(base)) {
            return null;
        }
        for (Pool pool : base.pools()) {
            InSyncSets.@Nullable Change split = split(base, pool, nowNanos);
            if (split != null) {
                return split;
            }
        }
        return null;
    }

    private static boolean isKnownToAll(ClusterMap map) {
        return map.servers().stream().allMatch(Server::getSplits);
    }

    private boolean isHeld() {
        Held now = held.get();
        return now.noRebalance() || now.noRecover() || now.pause();
    }

    /** Groups whose primaries serve are made. */
    private InSyncSets.@Nullable Change made(ClusterMap base) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (PlacementGroup group : base.splitting().values()) {
            if (isSaidToServe(base, group)) {
                update.addPgs(group.toBuilder().setSplitEpoch(0));
            }
        }
        return update.getPgsCount() == 0
                ? null
                : new InSyncSets.Change(
                        update, update.getPgsCount() + " placement groups are split off");
    }

    private boolean isSaidToServe(ClusterMap base, PlacementGroup group) {
        @Nullable Server server = base.serverOfDisk(ClusterMap.primaryOf(group));
        ServerLeases.@Nullable Known known =
                server == null ? null : servers.all().get(server.getId());
        @Nullable PgReport report = known == null ? null : known.report().pgs();
        return report != null && report.getSplitList().contains(group.getPg());
    }

    private static InSyncSets.@Nullable Change raised(ClusterMap base, Pool pool) {
        if (!pool.getPgAuto() || base.pg(PgHash.pg(pool.getId(), 0)) == null) {
            return null;
        }
        PoolDisks disks = PoolDisks.placeable(base, pool);
        if (ClusterMap.targetOf(pool) >= disks.groups(PoolDisks.REPLICAS_PER_DISK)) {
            return null;
        }
        long target = Math.min(disks.evenGroups(PoolDisks.REPLICAS_PER_DISK), PgHash.MAX_PGS);
        if (target <= ClusterMap.targetOf(pool)) {
            return null;
        }
        return new InSyncSets.Change(
                Pools.update(Pools.withTarget(pool, (int) target)),
                "pool %s is to have %d placement groups, for %d disks"
                        .formatted(pool.getName(), target, disks.count()));
    }

    private InSyncSets.@Nullable Change split(ClusterMap base, Pool pool, long nowNanos) {
        int index = pool.getPgCount();
        boolean ends =
                base.merging().keySet().stream().anyMatch(g -> PgHash.poolOf(g) == pool.getId());
        if (!isGrowing(pool) || ends) {
            return null;
        }
        int pgBase = ClusterMap.baseOf(pool);
        @Nullable PlacementGroup parent =
                base.pg(PgHash.pg(pool.getId(), PgHash.parent(index, pgBase)));
        if (parent == null
                || !isReady(base, pool, parent, nowNanos)
                || (isCrowded(base, pool) && isAnyToMove(base, pool))) {
            return null;
        }
        long epoch = base.epoch() + 1;
        PlacementGroup.Builder child =
                parent.toBuilder()
                        .setPg(PgHash.pg(pool.getId(), index))
                        .setEpoch(epoch)
                        .setSplitEpoch(epoch)
                        .clearMadeEpoch();
        if (isMerging.getAsBoolean()) {
            child.setMadeEpoch(epoch); // before, no group of that number can have been merged
        }
        MapUpdate.Builder update =
                MapUpdate.newBuilder()
                        .addPools(pool.toBuilder().setPgBase(pgBase).setPgCount(index + 1))
                        .addPgs(parent.toBuilder().setEpoch(epoch))
                        .addPgs(child);
        return new InSyncSets.Change(
                update,
                "placement group %x is split: %x is made, %d of %d of pool %s"
                        .formatted(
                                parent.getPg(),
                                child.getPg(),
                                index + 1,
                                ClusterMap.targetOf(pool),
                                pool.getName()));
    }

    private boolean isReady(ClusterMap base, Pool pool, PlacementGroup group, long nowNanos) {
        List<Integer> disks = group.getReplicasList();
        return !base.isTied(group)
                && disks.size() == pool.getSize()
                && group.getInSyncList().containsAll(disks)
                && !InSyncSets.isAstray(group)
                && disks.stream().allMatch(d -> sets.isSure(base, group, d, nowNanos))
                && disks.stream().noneMatch(d -> InSyncSets.isSlow(base, d))
                && disks.stream().noneMatch(this::waitsForRepair)
                && !PgMerges.isBusy(base, disks);
    }

    private boolean waitsForRepair(int disk) {
        var status = servers.disks().get(disk);
        return status != null && status.getWaitingForRepair() > 0;
    }

    private boolean isAnyToMove(ClusterMap base, Pool pool) {
        return base.pgs().stream()
                .filter(g -> PgHash.poolOf(g.getPg()) == pool.getId())
                .anyMatch(g -> !placement.isPlaced(base, g) || InSyncSets.isAstray(g));
    }
}
