package io.cairn.mds.map;

import java.util.Arrays;
import java.util.BitSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * {@link DiskQuotas} where some disks are closed: they keep what they hold, or give up what is too
 * much, and what they would get besides goes to the others by weight. One use by one thread.
 */
final class OpenQuotas {
    private final double[] weights;
    private final int[] domainOf;
    private final int[] caps;
    private final int replicas;
    private final BitSet closed;

    /** Parameters as of {@link DiskQuotas}. */
    OpenQuotas(double[] weights, int[] domainOf, int[] caps, int replicas, BitSet closed) {
        this.weights = weights;
        this.domainOf = domainOf;
        this.caps = caps;
        this.replicas = replicas;
        this.closed = closed;
    }

    /** Null where the disks that are not closed cannot take what is left. */
    int @Nullable [] quotas(int[][] present) {
        int[] held = new int[weights.length];
        for (int[] group : present) {
            for (int disk : group) {
                held[disk]++;
            }
        }
        BitSet frozen = new BitSet();
        while (true) {
            int[] quotas = quotas(present, held, frozen);
            if (quotas == null) {
                return null;
            }
            int before = frozen.cardinality();
            closed.stream().filter(d -> quotas[d] > held[d]).forEach(frozen::set);
            if (frozen.cardinality() == before) {
                return quotas;
            }
        }
    }

    /** Frozen disks have what they hold. */
    private int @Nullable [] quotas(int[][] present, int[] held, BitSet frozen) {
        int[] free = IntStream.range(0, weights.length).filter(d -> !frozen.get(d)).toArray();
        int[] place = new int[weights.length];
        Arrays.fill(place, -1);
        for (int i = 0; i < free.length; i++) {
            place[free[i]] = i;
        }
        int left = replicas;
        int[] capsLeft = caps.clone();
        int[] quotas = new int[weights.length];
        for (int disk = frozen.nextSetBit(0); disk >= 0; disk = frozen.nextSetBit(disk + 1)) {
            quotas[disk] = held[disk];
            left -= held[disk];
            capsLeft[domainOf[disk]] = Math.max(0, capsLeft[domainOf[disk]] - held[disk]);
        }
        int most = Arrays.stream(free).map(d -> domainOf[d]).distinct().map(d -> capsLeft[d]).sum();
        if (left > most) {
            return null;
        }
        int[][] presentLeft =
                Arrays.stream(present)
                        .map(g -> Arrays.stream(g).map(d -> place[d]).filter(d -> d >= 0).toArray())
                        .toArray(int[][]::new);
        int[] some =
                new DiskQuotas(
                                Arrays.stream(free).mapToDouble(d -> weights[d]).toArray(),
                                Arrays.stream(free).map(d -> domainOf[d]).toArray(),
                                capsLeft,
                                Math.max(0, left))
                        .quotas(presentLeft);
        for (int i = 0; i < free.length; i++) {
            quotas[free[i]] = some[i];
        }
        return quotas;
    }
}
