package io.cairn.mds.map;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How good a table of a pool's PGs is: whether each PG has replicas that it may have, and how far
 * the disks are from their shares. Immutable; one thread.
 */
final class TableBalance {
    /** Below what a replica that moves changes. */
    private static final double EPSILON = 1e-9;

    /** Of a replica, by its place in the PG. */
    private final List<ReplicaTier> tierAt = new ArrayList<>();

    private final Map<Integer, Disk> disks = new HashMap<>();
    private final Map<Integer, String> domains = new HashMap<>();
    private final Map<Integer, Double> shares = new HashMap<>();

    TableBalance(ClusterMap map, Pool pool) {
        for (ReplicaTier tier : ReplicaTier.of(pool)) {
            for (int i = 0; i < tier.size(); i++) {
                tierAt.add(tier);
            }
        }
        List<Disk> placeable = map.disks().stream().filter(PgPlanner::isPlaceable).toList();
        PgPlanner.shares(placeable, pool).forEach(shares::put);
        for (Disk disk : placeable) {
            disks.put(disk.getId(), disk);
            domains.put(disk.getId(), FailureDomains.label(map, disk, pool.getFailureDomain()));
        }
    }

    /** Each PG has all replicas, on disks of the right classes in different failure domains. */
    boolean isValid(List<List<Integer>> table) {
        return table.stream().allMatch(this::isValidGroup);
    }

    private boolean isValidGroup(List<Integer> replicas) {
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < replicas.size(); i++) {
            Disk disk = disks.get(replicas.get(i));
            if (disk == null
                    || i >= tierAt.size()
                    || !tierAt.get(i).takes(disk)
                    || !seen.add(domains.getOrDefault(disk.getId(), ""))) {
                return false;
            }
        }
        return replicas.size() == tierAt.size();
    }

    /** Whether the disks are nearer to their shares in one table than in another. */
    boolean isBetter(List<List<Integer>> table, List<List<Integer>> other) {
        return imbalance(table) < imbalance(other) - EPSILON;
    }

    /** Pearson's chi-squared of the replicas the disks have, against their shares. */
    private double imbalance(List<List<Integer>> table) {
        Map<Integer, Integer> counts = new HashMap<>();
        table.forEach(group -> group.forEach(disk -> counts.merge(disk, 1, Integer::sum)));
        return shares.entrySet().stream()
                .mapToDouble(e -> {
                    double off = counts.getOrDefault(e.getKey(), 0) - e.getValue();
                    return off * off / e.getValue();
                })
                .sum();
    }
}
