package io.cairn.mds.map;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Computes the PG table of a pool: which disks hold each PG, the primary first. Every disk gets its
 * share by weight to within one PG, as far as failure domains allow (a domain holds at most one
 * replica of a PG, so a huge one cannot get more than all PGs once); primaries are spread likewise;
 * and what is in the right place already stays there. A pool that asks for disks of several device
 * classes is planned class by class, the primary's first; the later ones keep out of the failure
 * domains of the earlier ones. Disks that are near full keep what they have, and get no more where
 * others can take it.
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
    public static List<List<Integer>> plan(ClusterMap map, Pool pool) {
        requireDomains(map, pool);
        List<List<Integer>> present = new ArrayList<>();
        for (int i = 0; i < pool.getPgCount(); i++) {
            PlacementGroup pg = map.pg(PgHash.pg(pool.getId(), i));
            present.add(pg == null ? List.of() : pg.getReplicasList());
        }
        return ReplicaTier.of(pool).size() == 1
                ? next(map, pool, present)
                : settled(map, pool, present);
    }

    /**
     * Of several tiers: what an earlier one has taken may leave no way to the quotas of a later
     * one, and then one table would follow another without end. So what is there stays until there
     * is better.
     */
    private static List<List<Integer>> settled(
            ClusterMap map, Pool pool, List<List<Integer>> present) {
        TableBalance balance = new TableBalance(map, pool);
        List<List<Integer>> table = balance.isValid(present) ? present : next(map, pool, present);
        while (true) {
            List<List<Integer>> next = next(map, pool, table);
            if (replicas(next).equals(replicas(table))) {
                return next;
            }
            if (!balance.isBetter(next, table)) {
                return table;
            }
            table = next;
        }
    }

    /** Of each PG, whichever of them leads. */
    private static List<Set<Integer>> replicas(List<List<Integer>> table) {
        return table.stream().map(Set::copyOf).toList();
    }

    /** The table that follows a table. */
    private static List<List<Integer>> next(
            ClusterMap map, Pool pool, List<List<Integer>> present) {
        Map<String, Integer> domains = domains(map, pool);
        List<List<Integer>> table = new ArrayList<>();
        BitSet[] taken = new BitSet[pool.getPgCount()];
        for (int pg = 0; pg < taken.length; pg++) {
            table.add(new ArrayList<>());
            taken[pg] = new BitSet();
        }
        for (ReplicaTier tier : ReplicaTier.of(pool)) {
            add(map, pool, tier, domains, present, taken, table);
        }
        return table.stream().map(List::copyOf).toList();
    }

    /**
     * @param domains their numbers, from 0, by label
     * @param now of each PG the disks it has
     * @param taken of each PG the domains of the tiers before; those of this tier are added
     */
    private static void add(
            ClusterMap map,
            Pool pool,
            ReplicaTier tier,
            Map<String, Integer> domains,
            List<List<Integer>> now,
            BitSet[] taken,
            List<List<Integer>> table) {
        List<Disk> disks = placeable(map).stream().filter(tier::takes).toList();
        double[] weights = disks.stream().mapToDouble(PgPlanner::weight).toArray();
        int[] domainOf =
                disks.stream()
                        .mapToInt(d ->
                                domains.getOrDefault(
                                        FailureDomains.label(map, d, pool.getFailureDomain()), 0))
                        .toArray();
        int[] caps = new int[domains.size()];
        Arrays.setAll(caps, d -> (int) Arrays.stream(taken).filter(t -> !t.get(d)).count());
        int[][] present = present(now, disks);
        int[][] replicas = replicas(disks, weights, domainOf, caps, tier, taken, present);
        int[] first =
                table.getFirst().isEmpty()
                        ? new PrimaryAssignment(replicas, disks.size()).assign(present)
                        : Arrays.stream(replicas).mapToInt(r -> r[0]).toArray();
        for (int pg = 0; pg < taken.length; pg++) {
            table.get(pg).add(disks.get(first[pg]).getId());
            for (int disk : replicas[pg]) {
                taken[pg].set(domainOf[disk]);
                if (disk != first[pg]) {
                    table.get(pg).add(disks.get(disk).getId());
                }
            }
        }
    }

    /**
     * Nothing more to disks that are near full; else, where the others cannot take it, to those
     * that are not full; else as if none was: what stays undone then is the mover's to say.
     */
    private static int[][] replicas(
            List<Disk> disks,
            double[] weights,
            int[] domainOf,
            int[] caps,
            ReplicaTier tier,
            BitSet[] taken,
            int[][] present) {
        int all = taken.length * tier.size();
        for (Fill from : List.of(Fill.FILL_NEAR_FULL, Fill.FILL_FULL)) {
            BitSet closed = new BitSet();
            for (int i = 0; i < disks.size(); i++) {
                closed.set(i, disks.get(i).getFill().compareTo(from) >= 0);
            }
            int[] quotas =
                    closed.isEmpty()
                            ? null
                            : new OpenQuotas(weights, domainOf, caps, all, closed).quotas(present);
            if (quotas != null) {
                try {
                    return new ReplicaAssignment(quotas, domainOf, tier.size(), taken, closed)
                            .assign(present);
                } catch (FsException e) {
                    continue; // a placement group would have too few domains
                }
            }
        }
        int[] quotas = new DiskQuotas(weights, domainOf, caps, all).quotas(present);
        return new ReplicaAssignment(quotas, domainOf, tier.size(), taken, new BitSet())
                .assign(present);
    }

    /**
     * Failure domains that have disks to place on: a pool needs as many as it has replicas. With
     * several device classes, fewer than that where some choice of domains for the first class
     * leaves too few for the second.
     */
    public static int domainCount(ClusterMap map, Pool pool) {
        Set<String> before = new HashSet<>();
        int chosen = 0;
        int lacking = 0;
        for (ReplicaTier tier : ReplicaTier.of(pool)) {
            Set<String> mine = new HashSet<>();
            for (Disk disk : placeable(map)) {
                if (tier.takes(disk)) {
                    mine.add(FailureDomains.label(map, disk, pool.getFailureDomain()));
                }
            }
            Set<String> shared = new HashSet<>(mine);
            shared.retainAll(before);
            lacking =
                    Math.max(
                            lacking, tier.size() - (mine.size() - Math.min(chosen, shared.size())));
            before.addAll(mine);
            chosen += tier.size();
        }
        return lacking > 0 ? pool.getSize() - lacking : before.size();
    }

    /**
     * How many replicas of the pool each disk is to hold by weight, whatever its failure domain.
     */
    public static Map<Integer, Double> shares(Collection<Disk> disks, Pool pool) {
        Map<Integer, Double> shares = new HashMap<>();
        for (ReplicaTier tier : ReplicaTier.of(pool)) {
            List<Disk> takes = disks.stream().filter(d -> isPlaceable(d) && tier.takes(d)).toList();
            double all = takes.stream().mapToDouble(PgPlanner::weight).sum();
            for (Disk disk : takes) {
                shares.merge(
                        disk.getId(),
                        (double) pool.getPgCount() * tier.size() * (weight(disk) / all),
                        Double::sum);
            }
        }
        return shares;
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

    private static List<Disk> placeable(ClusterMap map) {
        return map.disks().stream().filter(PgPlanner::isPlaceable).toList();
    }

    private static void requireDomains(ClusterMap map, Pool pool) {
        int domains = domainCount(map, pool);
        if (domains < pool.getSize()) {
            throw new FsException(
                    Errno.ENOSPC,
                    "pool "
                            + pool.getName()
                            + " needs disks in "
                            + pool.getSize()
                            + " failure domains ("
                            + FailureDomains.name(pool.getFailureDomain())
                            + "), there are "
                            + domains
                            + (pool.getReplicaClassesCount() == 0
                                    ? ""
                                    : " with the device classes it asks for"));
        }
    }

    private static Map<String, Integer> domains(ClusterMap map, Pool pool) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        for (Disk disk : placeable(map)) {
            String label = FailureDomains.label(map, disk, pool.getFailureDomain());
            numbers.putIfAbsent(label, numbers.size());
        }
        return numbers;
    }

    /** A table in disk numbers, primary first; disks that are not of these left out. */
    private static int[][] present(List<List<Integer>> table, List<Disk> disks) {
        Map<Integer, Integer> numbers = new HashMap<>();
        for (int i = 0; i < disks.size(); i++) {
            numbers.put(disks.get(i).getId(), i);
        }
        return table.stream()
                .map(pg ->
                        pg.stream()
                                .filter(numbers::containsKey)
                                .mapToInt(disk -> numbers.getOrDefault(disk, 0))
                                .toArray())
                .toArray(int[][]::new);
    }
}
