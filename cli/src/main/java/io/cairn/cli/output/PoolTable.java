package io.cairn.cli.output;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.PoolStatus;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What {@code cairn pool} shows of pools, as text or as JSON. */
public final class PoolTable {
    private static final String ROW = "%-4s %-20s %4s %4s %12s %7s %-7s %-16s %10s  %s%n";

    private PoolTable() {}

    public static void print(List<PoolStatus> pools, PrintWriter out) {
        out.printf(
                ROW, "ID", "POOL", "SIZE", "MIN", "PGS", "PLACED", "DOMAIN", "CLASSES", "USERS",
                "FILL");
        for (PoolStatus status : pools) {
            Pool pool = status.getPool();
            out.printf(
                    ROW,
                    pool.getId(),
                    pool.getName(),
                    pool.getSize(),
                    pool.getMinSize(),
                    pgs(pool),
                    status.getPlaced(),
                    domain(pool),
                    DeviceClassNames.text(pool.getReplicaClassesList()),
                    status.hasUsers() ? status.getUsers() : "-",
                    fill(pool.getFill()));
        }
        out.flush();
    }

    public static Map<String, Object> asMap(PoolStatus status) {
        Map<String, Object> json = asMap(status.getPool());
        json.put("placed", status.getPlaced());
        if (status.hasUsers()) {
            json.put("users", status.getUsers());
        }
        return json;
    }

    public static Map<String, Object> asMap(Pool pool) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", pool.getId());
        json.put("name", pool.getName());
        json.put("size", pool.getSize());
        json.put("min_size", pool.getMinSize());
        json.put("pg_count", pool.getPgCount());
        json.put("pg_target", ClusterMap.targetOf(pool));
        json.put("pg_base", ClusterMap.baseOf(pool));
        json.put("pg_auto", pool.getPgAuto());
        json.put("failure_domain", domain(pool));
        json.put("device_classes", DeviceClassNames.text(pool.getReplicaClassesList()));
        json.put("fill", fill(pool.getFill()));
        if (pool.hasNearFullPercent()) {
            json.put("near_full_percent", pool.getNearFullPercent());
        }
        if (pool.hasFullPercent()) {
            json.put("full_percent", pool.getFullPercent());
        }
        return json;
    }

    /** {@code 128}, or {@code 130/256} of which it is to have 256. */
    private static String pgs(Pool pool) {
        int target = ClusterMap.targetOf(pool);
        return pool.getPgCount() == target
                ? Integer.toString(target)
                : pool.getPgCount() + "/" + target;
    }

    /** Of a pool or a disk, for the administrator. */
    static String fill(Fill fill) {
        return switch (fill) {
            case FILL_NORMAL -> "ok";
            case FILL_NEAR_FULL -> "near full";
            case FILL_FULL -> "full";
            case UNRECOGNIZED -> "unknown";
        };
    }

    private static String domain(Pool pool) {
        return pool.getFailureDomain()
                .name()
                .replace("FAILURE_DOMAIN_", "")
                .toLowerCase(Locale.ROOT);
    }
}
