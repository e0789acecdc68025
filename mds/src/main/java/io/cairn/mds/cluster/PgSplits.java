package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.NextSplits;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings the number of placement groups of each pool up to its target: the next one is made of a
 * part of the one that {@link PgHash} says, on the same disks, and {@link Placement} moves it
 * later. One change of the map makes as many as come next on disks that have no other split to
 * carry out ({@link NextSplits}). Raises the target where that is left to it and disks have come.
 *
 * <p>A group is split while it has as many replicas as its pool wants, all of them are in sync and
 * surely serve, each disk has no other split to carry out, and no block there waits for a repair.
 * From that epoch of the map until the primary of the new group has said that it serves, which
 * takes that all members have it, the map says so ({@code split_epoch}): meanwhile neither of both
 * moves, is split, or gets other members in sync than the other.
 *
 * <p>Splits go first while the disks of a pool have few replicas of it: then moves wait, or each
 * group would be moved half for nothing. Where all groups have been divided as often, and so have
 * the same size, and a disk has {@link #CROWDED} replicas, moves go first: then the many groups of
 * a pool that grows from few disks to many are split on many disks at once, and no disk has ever
 * thousands of them. In between splits go first again: the planner counts groups, and would move
 * some only because others are twice as large.
 *
 * <p>One thread; without clock or I/O.
 */
public final class PgSplits {
    /**
     * Replicas of a pool on one of its disks, from which on moves go first. When all are divided
     * once more before they have moved, it has twice as many.
     */
    private static final int CROWDED = 200;

    /**
     * How long groups that serve wait for others that are being made, so that one change of the map
     * says so of all.
     */
    private static final long GATHER_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final InSyncSets sets;
    private final Placement placement;
    private final ServerLeases servers;
    private final Supplier<Held> held;
    private final BooleanSupplier isMerging;
    private final BooleanSupplier isTogether;

    /** Since when a group serves of which the map does not say so; null while there is none. */
    private @Nullable Long servesSince;

    /**
     * @param isMerging whether all members know maps in which groups are merged
     * @param isTogether whether all members know changes of the map that split several groups of a
     *     pool
     */
    public PgSplits(
            InSyncSets sets,
            Placement placement,
            ServerLeases servers,
            Supplier<Held> held,
            BooleanSupplier isMerging,
            BooleanSupplier isTogether) {
        this.isMerging = isMerging;
        this.isTogether = isTogether;
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

    /** Whether all groups of the pool have the same size, and a disk has many of them. */
    private static boolean isCrowded(ClusterMap map, Pool pool) {
        return NextSplits.isEven(pool, pool.getPgCount()) && mostOnADisk(map, pool) >= CROWDED;
    }

    /** Also of replicas that are to leave the disk. */
    private static int mostOnADisk(ClusterMap map, Pool pool) {
        Map<Integer, Integer> replicas = new HashMap<>();
        for (PlacementGroup group : map.pgs()) {
            if (PgHash.poolOf(group.getPg()) == pool.getId()) {
                Set<Integer> disks = new HashSet<>(group.getReplicasList());
                disks.addAll(group.getInSyncList());
                disks.forEach(d -> replicas.merge(d, 1, Integer::sum));
            }
        }
        return replicas.values().stream().mapToInt(n -> n).max().orElse(0);
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
        InSyncSets.@Nullable Change made = made(base, nowNanos);
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
    private InSyncSets.@Nullable Change made(ClusterMap base, long nowNanos) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (PlacementGroup group : base.splitting().values()) {
            if (isSaidToServe(base, group)) {
                update.addPgs(group.toBuilder().setSplitEpoch(0));
            }
        }
        if (update.getPgsCount() == 0) {
            servesSince = null;
            return null;
        }
        long since = servesSince == null ? nowNanos : servesSince;
        servesSince = since;
        return update.getPgsCount() < base.splitting().size() && nowNanos - since < GATHER_NANOS
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
        boolean ends =
                base.merging().keySet().stream().anyMatch(g -> PgHash.poolOf(g) == pool.getId());
        if (!isGrowing(pool) || ends) {
            return null;
        }
        List<PlacementGroup> parents = ready(base, pool, nowNanos);
        return parents.isEmpty() || (isCrowded(base, pool) && isAnyToMove(base, pool))
                ? null
                : split(base, pool, parents);
    }

    /**
     * The groups that can be split now: those that come next, up to one that cannot be. None where
     * that one only waits until its disks have carried out other splits: then it is split with
     * those before it, which does not take longer, as it holds up all that come after it.
     */
    private List<PlacementGroup> ready(ClusterMap base, Pool pool, long nowNanos) {
        Set<Integer> busy = PgMerges.busyDisks(base);
        Set<Integer> waiting = servers.waitingForRepair();
        List<PlacementGroup> ready = new ArrayList<>();
        for (PlacementGroup parent : next(base, pool)) {
            if (!isReady(base, pool, parent, waiting, nowNanos)) {
                break;
            }
            if (!Collections.disjoint(parent.getReplicasList(), busy)) {
                return List.of();
            }
            ready.add(parent);
        }
        return ready;
    }

    private List<PlacementGroup> next(ClusterMap base, Pool pool) {
        List<PlacementGroup> parents = NextSplits.parents(base, pool);
        return isTogether.getAsBoolean()
                ? parents
                : parents.subList(0, Math.min(1, parents.size()));
    }

    /**
     * @param parents those from which the next groups are made, in this order
     */
    private InSyncSets.Change split(ClusterMap base, Pool pool, List<PlacementGroup> parents) {
        long epoch = base.epoch() + 1;
        int first = pool.getPgCount();
        int count = first + parents.size();
        MapUpdate.Builder update =
                MapUpdate.newBuilder()
                        .addPools(
                                pool.toBuilder()
                                        .setPgBase(ClusterMap.baseOf(pool))
                                        .setPgCount(count));
        for (int i = 0; i < parents.size(); i++) {
            PlacementGroup parent = parents.get(i);
            update.addPgs(parent.toBuilder().setEpoch(epoch))
                    .addPgs(child(parent, PgHash.pg(pool.getId(), first + i), epoch));
        }
        return new InSyncSets.Change(
                update,
                "%s split: %d of %d of pool %s are made"
                        .formatted(
                                parents.size() == 1
                                        ? "placement group %x is"
                                                .formatted(parents.getFirst().getPg())
                                        : parents.size() + " placement groups are",
                                count,
                                ClusterMap.targetOf(pool),
                                pool.getName()));
    }

    private PlacementGroup.Builder child(PlacementGroup parent, int pg, long epoch) {
        PlacementGroup.Builder child =
                parent.toBuilder().setPg(pg).setEpoch(epoch).setSplitEpoch(epoch).clearMadeEpoch();
        if (isMerging.getAsBoolean()) {
            child.setMadeEpoch(epoch); // before, no group of that number can have been merged
        }
        return child;
    }

    /**
     * Whether nothing but other splits is in its way.
     *
     * @param waiting disks with blocks that wait for their repair
     */
    private boolean isReady(
            ClusterMap base, Pool pool, PlacementGroup group, Set<Integer> waiting, long nowNanos) {
        List<Integer> disks = group.getReplicasList();
        return disks.size() == pool.getSize()
                && group.getInSyncList().containsAll(disks)
                && !InSyncSets.isAstray(group)
                && disks.stream().noneMatch(waiting::contains)
                && disks.stream().noneMatch(d -> InSyncSets.isSlow(base, d))
                && disks.stream().allMatch(d -> sets.isSure(base, group, d, nowNanos));
    }

    private boolean isAnyToMove(ClusterMap base, Pool pool) {
        return base.pgs().stream()
                .filter(g -> PgHash.poolOf(g.getPg()) == pool.getId())
                .anyMatch(g -> !placement.isPlaced(base, g) || InSyncSets.isAstray(g));
    }
}
