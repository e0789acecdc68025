package io.cairn.mds.map;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Computes the PG table of a pool: which disks hold each PG, the primary first. Every disk gets its
 * share by weight to within one PG, as far as failure domains allow (a domain holds at most one
 * replica of a PG, so a huge one cannot get more than all PGs once); primaries are spread likewise;
 * and what is in the right place already stays there.
 *
 * <p>Three steps, each exact: how many replicas each disk is to hold ({@link DiskQuotas}), which
 * PGs these are ({@link ReplicaAssignment}), which of them it leads ({@link PrimaryAssignment}). A
 * pure function: the same map gives the same table everywhere. Any thread.
 */
public final class PgPlanner {
    private PgPlanner() {}

    /**
     * The disks of each PG of the pool, by PG index. ENOSPC where there are fewer failure domains
     * with disks than replicas.
     */
    public static List<List<Integer>> plan(MapState map, Pool pool) {
        List<Disk> disks = placeable(map);
        int[] domains = domains(map, disks, pool);
        double[] weights = disks.stream().mapToDouble(PgPlanner::weight).toArray();
        int pgs = pool.getPgCount();
        int[][] present = present(map, pool, disks);
        int[] quotas = new DiskQuotas(weights, domains, pgs, pool.getSize()).quotas(present);
        int[][] replicas = new ReplicaAssignment(quotas, domains, pool.getSize()).assign(present);
        int[] primaries = new PrimaryAssignment(replicas, disks.size()).assign(present);
        List<List<Integer>> table = new ArrayList<>(pgs);
        for (int pg = 0; pg < pgs; pg++) {
            List<Integer> ordered = new ArrayList<>(pool.getSize());
            ordered.add(disks.get(primaries[pg]).getId());
            for (int disk : replicas[pg]) {
                if (disk != primaries[pg]) {
                    ordered.add(disks.get(disk).getId());
                }
            }
            table.add(List.copyOf(ordered));
        }
        return table;
    }

    /** Failure domains that have disks to place on: a pool needs as many as it has replicas. */
    public static int domainCount(MapState map, Pool pool) {
        return labels(map, placeable(map), pool).size();
    }

    /** Whether a disk may have replicas. */
    public static boolean isPlaceable(Disk disk) {
        return !disk.getRemoved() && !disk.getOut() && !disk.getAbsent() && weight(disk) > 0;
    }

    /** By which a disk gets its share: its capacity, times what an administrator has set. */
    public static double weight(Disk disk) {
        return disk.hasWeightPermille()
                ? disk.getCapacityBytes() / 1000.0 * disk.getWeightPermille()
                : disk.getCapacityBytes();
    }

    private static List<Disk> placeable(MapState map) {
        return map.toUpdate().getDisksList().stream().filter(PgPlanner::isPlaceable).toList();
    }

    /** Of each disk the number of its domain, from 0. */
    private static int[] domains(MapState map, List<Disk> disks, Pool pool) {
        Map<String, Integer> numbers = labels(map, disks, pool);
        if (numbers.size() < pool.getSize()) {
            throw new FsException(
                    Errno.ENOSPC,
                    "pool "
                            + pool.getName()
                            + " needs disks in "
                            + pool.getSize()
                            + " failure domains ("
                            + FailureDomains.name(pool.getFailureDomain())
                            + "), there are "
                            + numbers.size());
        }
        return disks.stream()
                .mapToInt(d ->
                        numbers.getOrDefault(
                                FailureDomains.label(map, d, pool.getFailureDomain()), 0))
                .toArray();
    }

    private static Map<String, Integer> labels(MapState map, List<Disk> disks, Pool pool) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        for (Disk disk : disks) {
            String label = FailureDomains.label(map, disk, pool.getFailureDomain());
            numbers.putIfAbsent(label, numbers.size());
        }
        return numbers;
    }

    /** The present table in disk numbers, primary first; disks that are gone left out. */
    private static int[][] present(MapState map, Pool pool, List<Disk> disks) {
        Map<Integer, Integer> numbers = new HashMap<>();
        for (int i = 0; i < disks.size(); i++) {
            numbers.put(disks.get(i).getId(), i);
        }
        int[][] present = new int[pool.getPgCount()][];
        for (int i = 0; i < present.length; i++) {
            PlacementGroup pg = map.pg(PgHash.pg(pool.getId(), i));
            present[i] =
                    pg == null
                            ? new int[0]
                            : pg.getReplicasList().stream()
                                    .filter(numbers::containsKey)
                                    .mapToInt(disk -> numbers.getOrDefault(disk, 0))
                                    .toArray();
        }
        return present;
    }
}
