package io.cairn.cli.output;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.PoolStatus;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What {@code cairn pool} shows of pools, as text or as JSON. */
public final class PoolTable {
    private static final String ROW = "%-4s %-20s %4s %4s %12s %7s %-7s %-16s %10s%n";

    private PoolTable() {}

    public static void print(List<PoolStatus> pools, PrintWriter out) {
        out.printf(ROW, "ID", "POOL", "SIZE", "MIN", "PGS", "PLACED", "DOMAIN", "CLASSES", "USERS");
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
                    status.hasUsers() ? status.getUsers() : "-");
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
        return json;
    }

    /** {@code 128}, or {@code 130/256} of which it is to have 256. */
    private static String pgs(Pool pool) {
        int target = ClusterMap.targetOf(pool);
        return pool.getPgCount() == target
                ? Integer.toString(target)
                : pool.getPgCount() + "/" + target;
    }

    private static String domain(Pool pool) {
        return pool.getFailureDomain()
                .name()
                .replace("FAILURE_DOMAIN_", "")
                .toLowerCase(Locale.ROOT);
    }
}
