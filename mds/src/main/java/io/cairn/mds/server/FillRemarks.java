package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Pool;
import io.cairn.mds.cluster.ServerLeases.Known;
import io.cairn.mds.leader.FillLimits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the administrator should know of disks and pools that are near full, or full. */
final class FillRemarks {
    private FillRemarks() {}

    static List<String> warnings(ClusterMap map, Map<Integer, Known> heard, FillLimits limits) {
        Map<Integer, DiskStatus> reported = new HashMap<>();
        heard.values().forEach(k -> k.report().disks().forEach(d -> reported.put(d.getDisk(), d)));
        List<String> warnings = new ArrayList<>();
        for (Pool pool : map.pools()) {
            String name = "pool " + pool.getName();
            if (pool.getFill() == Fill.FILL_FULL) {
                warnings.add(
                        "%s is full, as a disk of it is more than %d %% full: new data is refused with ENOSPC; deletions, truncations and overwrites work. Delete files, move some to another pool ('cairn migrate'), or add disks; %s gives room for the moment"
                                .formatted(name, limits.of(pool).full(), raise(pool)));
            } else if (pool.getFill() == Fill.FILL_NEAR_FULL) {
                warnings.add(
                        "%s is near full, as a disk of it is more than %d %% full; at %d %% it takes no new data. Delete files, move some to another pool ('cairn migrate'), or add disks"
                                .formatted(
                                        name, limits.of(pool).nearFull(), limits.of(pool).full()));
            }
        }
        for (Disk disk : map.disks()) {
            if (disk.getFill() != Fill.FILL_NORMAL) {
                boolean full = disk.getFill() == Fill.FILL_FULL;
                warnings.add(
                        "disk %d of data server %d is %s%s: no further replicas are placed on it%s"
                                .formatted(
                                        disk.getId(),
                                        disk.getServer(),
                                        full ? "full" : "near full",
                                        percent(reported.get(disk.getId())),
                                        full ? "" : " where other disks can take them"));
            }
        }
        return warnings;
    }

    /** By which new data is taken again. */
    private static String raise(Pool pool) {
        return pool.hasFullPercent()
                ? "'cairn pool set %s --full PERCENT'".formatted(pool.getName())
                : "'cairn set space.full PERCENT'";
    }

    private static String percent(@Nullable DiskStatus disk) {
        double holds = disk == null ? 0 : (double) disk.getUsedBytes() + disk.getFreeBytes();
        return disk == null || holds <= 0
                ? ""
                : String.format(Locale.ROOT, " (%.0f %%)", 100 * disk.getUsedBytes() / holds);
    }
}
