package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Pool;
import io.cairn.mds.map.PgPlanner;
import io.cairn.mds.map.ReplicaTier;
import java.util.Collection;
import java.util.List;

/**
 * The disks that a pool can use, by tier, and how many placement groups it needs for them. Each
 * tier has its own replicas and its own disks: so the tier with the most disks for each of its
 * replicas needs most groups, and decides. Immutable; any thread.
 */
final class PoolDisks {
    /** Of a pool on each of its disks, at least: with fewer the planner cannot spread it evenly. */
    static final int REPLICAS_PER_DISK = 50;

    private final Pool pool;
    private final List<Tier> tiers;

    private record Tier(int replicas, long disks) {
        /** Not rounded. */
        double groups(int replicasPerDisk) {
            return (double) disks * replicasPerDisk / replicas;
        }
    }

    /**
     * @param disks those of a class that the pool does not ask for do not count
     */
    PoolDisks(Pool pool, Collection<Disk> disks) {
        this.pool = pool;
        this.tiers =
                ReplicaTier.of(pool).stream()
                        .map(t ->
                                new Tier(
                                        Math.max(1, t.size()),
                                        disks.stream().filter(t::takes).count()))
                        .toList();
    }

    /** Those on which replicas are placed now. */
    static PoolDisks placeable(ClusterMap map, Pool pool) {
        return new PoolDisks(pool, map.disks().stream().filter(PgPlanner::isPlaceable).toList());
    }

    /** Of all tiers. */
    long count() {
        return tiers.stream().mapToLong(Tier::disks).sum();
    }

    /** Whether each tier has disks. */
    boolean isComplete() {
        return tiers.stream().allMatch(t -> t.disks > 0);
    }

    /**
     * The number of groups, not rounded, with which the disks of the tier that needs most have so
     * many replicas each on average, and those of the others have more.
     */
    double groups(int replicasPerDisk) {
        return tiers.stream().mapToDouble(t -> t.groups(replicasPerDisk)).max().orElse(0);
    }

    /**
     * The least number of groups that is enough for so many replicas on each disk, and with which
     * all groups that the pool was made with have been divided as often.
     */
    long evenGroups(int replicasPerDisk) {
        double least = groups(replicasPerDisk);
        long count = ClusterMap.baseOf(pool);
        while (count < least) {
            count *= 2;
        }
        return count;
    }
}
