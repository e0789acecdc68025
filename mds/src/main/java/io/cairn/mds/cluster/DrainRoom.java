package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.mds.map.PgPlanner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether the disks that stay can hold what drained ones have: placement is planned as it would be
 * then, and no disk may get more than it has room for. Room is what a disk uses and what it says is
 * free, which ends where its data server takes no more writes. Pure; one thread.
 */
final class DrainRoom {
    /** Named in the message. */
    private static final int NAMED = 4;

    private final ClusterMap base;
    private final Map<Integer, DiskStatus> reported;
    private final DiskLoads loads;
    private final ReplicaBytes bytesOf;

    /**
     * @param reported what disks say of themselves; a disk that is not in it is believed to have
     *     room
     */
    DrainRoom(ClusterMap base, Map<Integer, DiskStatus> reported) {
        this.base = base;
        this.reported = reported;
        this.loads = DiskLoads.of(base.pgs());
        this.bytesOf = new ReplicaBytes(loads, reported);
    }

    /** ENOSPC where a disk would get more replicas than it has room for. */
    void check(MapUpdate drain) {
        Map<Integer, Integer> replicas = new HashMap<>();
        Map<Integer, Double> bytes = new TreeMap<>();
        ClusterMap then = base.with(drain);
        for (Pool pool : base.pools()) {
            if (base.pg(PgHash.pg(pool.getId(), 0)) == null) {
                continue; // has none yet
            }
            List<List<Integer>> table;
            try {
                table = PgPlanner.plan(then, pool);
            } catch (FsException e) {
                continue; // too few failure domains: everything stays
            }
            for (int i = 0; i < table.size(); i++) {
                @Nullable PlacementGroup group = base.pg(PgHash.pg(pool.getId(), i));
                double each = group == null ? 0 : bytesOf.replicaOf(group);
                for (int disk : table.get(i)) {
                    replicas.merge(disk, 1, Integer::sum);
                    bytes.merge(disk, each, Double::sum);
                }
            }
        }
        List<String> full = new ArrayList<>();
        bytes.forEach((disk, wanted) -> {
            boolean gains = replicas.getOrDefault(disk, 0) > loads.of(disk).replicas();
            @Nullable DiskStatus now = reported.get(disk);
            if (gains && now != null && wanted > now.getUsedBytes() + now.getFreeBytes()) {
                full.add(
                        "disk %d would get %s and has room for %s"
                                .formatted(
                                        disk,
                                        gib(wanted),
                                        gib(now.getUsedBytes() + now.getFreeBytes())));
            }
        });
        if (!full.isEmpty()) {
            throw new FsException(Errno.ENOSPC, message(full));
        }
    }

    private static String message(List<String> full) {
        String more = full.size() > NAMED ? "; and %d others".formatted(full.size() - NAMED) : "";
        return String.join("; ", full.subList(0, Math.min(NAMED, full.size())))
                + more
                + ": add disks or delete files first, or drain with --force, and what has no room"
                + " stays where it is";
    }

    private static String gib(double bytes) {
        return String.format(Locale.ROOT, "%.2f GiB", bytes / (1 << 30));
    }
}
