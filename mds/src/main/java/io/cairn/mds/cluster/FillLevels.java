package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.FillLimits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which disks and pools are near full, or full, by what disks reported. It is in the map, so that
 * every primary refuses new data of a full pool, and a new leader goes on from where the old one
 * was. A pool is as full as the fullest disk that has replicas of it, by its own thresholds: its
 * files spread over all of its groups, so none can grow for long once one of them cannot.
 *
 * <p>What is not known changes nothing for the better: while some disk of a pool was not heard of,
 * the pool's level does not fall. A disk that is away, or out of service, counts for nothing, as
 * nothing is written to it. Pure; one thread.
 */
final class FillLevels {
    /**
     * Of the disks of a pool.
     *
     * @param percent used of the fullest that was heard of
     * @param known whether all were
     */
    private record Fullest(double percent, boolean known) {}

    private FillLevels() {}

    /** Percent of what the disk can hold; below 0: not known. */
    static double percent(@Nullable DiskStatus disk) {
        if (disk == null || disk.getCondition() == DiskCondition.DISK_OUT) {
            return -1;
        }
        double holds = (double) disk.getUsedBytes() + disk.getFreeBytes();
        return holds <= 0 ? -1 : 100 * disk.getUsedBytes() / holds;
    }

    /**
     * Says what is near full or full; null if the map says that.
     *
     * @param reported by disk
     */
    static InSyncSets.@Nullable Change changed(
            ClusterMap base, Map<Integer, DiskStatus> reported, FillLimits limits) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        List<String> said = new ArrayList<>();
        Map<Integer, Double> used = new HashMap<>();
        for (Disk disk : base.disks()) {
            if (!isUp(base, disk)) {
                continue;
            }
            double percent = percent(reported.get(disk.getId()));
            used.put(disk.getId(), percent);
            Fill level = percent < 0 ? disk.getFill() : limits.level(disk.getFill(), percent);
            if (level != disk.getFill()) {
                update.addDisks(disk.toBuilder().setFill(level));
                said.add(said("disk " + disk.getId(), level, percent));
            }
        }
        if (isOfInterest(base, used, limits)) {
            for (Pool pool : base.pools()) {
                Fullest fullest = fullest(base, pool, used);
                Fill level = limits.of(pool).level(pool.getFill(), fullest.percent);
                if (level != pool.getFill()
                        && (fullest.known || level.compareTo(pool.getFill()) > 0)) {
                    update.addPools(pool.toBuilder().setFill(level));
                    said.add(said("pool " + pool.getName(), level, fullest.percent));
                }
            }
        }
        return said.isEmpty() ? null : new InSyncSets.Change(update, String.join("; ", said));
    }

    /** Most of the time no disk is near any threshold: then nobody has to look at all groups. */
    private static boolean isOfInterest(
            ClusterMap map, Map<Integer, Double> used, FillLimits limits) {
        int lowest =
                map.pools().stream()
                        .mapToInt(p -> limits.of(p).nearFull())
                        .min()
                        .orElse(limits.nearFull());
        return map.pools().stream().anyMatch(p -> p.getFill() != Fill.FILL_NORMAL)
                || used.values().stream().anyMatch(percent -> percent >= lowest);
    }

    private static Fullest fullest(ClusterMap map, Pool pool, Map<Integer, Double> used) {
        Set<Integer> disks = new HashSet<>();
        for (PlacementGroup group : map.pgs()) {
            if (PgHash.poolOf(group.getPg()) == pool.getId()) {
                disks.addAll(group.getReplicasList());
                disks.addAll(group.getInSyncList());
            }
        }
        double fullest = 0;
        boolean known = true;
        for (int disk : disks) {
            double percent = used.getOrDefault(disk, 0.0); // not there: away
            known &= percent >= 0;
            fullest = Math.max(fullest, percent);
        }
        return new Fullest(fullest, known);
    }

    private static boolean isUp(ClusterMap map, Disk disk) {
        @Nullable Server server = map.server(disk.getServer());
        return server != null && server.getUp();
    }

    private static String said(String what, Fill level, double percent) {
        String is =
                switch (level) {
                    case FILL_FULL -> "full";
                    case FILL_NEAR_FULL -> "near full";
                    case FILL_NORMAL, UNRECOGNIZED -> "not near full any more";
                };
        return String.format(Locale.ROOT, "%s is %s: %.1f %% is used", what, is, percent);
    }
}
