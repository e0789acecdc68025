package io.cairn.mds.map;

import java.util.Arrays;

/**
 * How many replicas each disk is to hold. A disk's ideal is its share of all replicas by weight; a
 * domain whose disks' ideals sum to more than one replica of every PG is cut to that, and the rest
 * goes to the others by weight. The quota is the ideal rounded up or down, preferably to what the
 * disk holds now. One use by one thread.
 */
final class DiskQuotas {
    private static final double EPSILON = 1e-9;

    private final double[] weights;
    private final int[] domainOf;
    private final int domains;
    private final int pgs;
    private final int size;

    /**
     * @param weights of each disk, positive
     * @param domainOf domain of each disk, from 0, at least {@code size} different ones
     */
    DiskQuotas(double[] weights, int[] domainOf, int pgs, int size) {
        this.weights = weights;
        this.domainOf = domainOf;
        this.domains = Arrays.stream(domainOf).max().orElse(-1) + 1;
        this.pgs = pgs;
        this.size = size;
    }

    /** Sums to pgs × size; no domain gets more than pgs. */
    int[] quotas(int[][] present) {
        double[] ideals = ideals();
        double[] held = new double[weights.length];
        for (int[] replicas : present) {
            for (int disk : replicas) {
                held[disk]++;
            }
        }
        double[] domainIdeals = new double[domains];
        double[] domainHeld = new double[domains];
        for (int disk = 0; disk < weights.length; disk++) {
            domainIdeals[domainOf[disk]] += ideals[disk];
            domainHeld[domainOf[disk]] += held[disk];
        }
        int[] domainQuotas = rounded(domainIdeals, domainHeld, pgs * size);
        int[] quotas = new int[weights.length];
        for (int domain = 0; domain < domains; domain++) {
            int[] members = members(domain);
            int[] rounded =
                    rounded(pick(ideals, members), pick(held, members), domainQuotas[domain]);
            for (int i = 0; i < members.length; i++) {
                quotas[members[i]] = rounded[i];
            }
        }
        return quotas;
    }

    /** Of each disk, not rounded. */
    double[] ideals() {
        boolean[] full = new boolean[domains];
        double[] domainWeights = new double[domains];
        for (int disk = 0; disk < weights.length; disk++) {
            domainWeights[domainOf[disk]] += weights[disk];
        }
        double left = (double) pgs * size;
        double weightLeft = Arrays.stream(weights).sum();
        for (boolean found = true; found; ) {
            found = false;
            for (int domain = 0; domain < domains; domain++) {
                if (!full[domain] && left * domainWeights[domain] / weightLeft > pgs + EPSILON) {
                    full[domain] = true;
                    left -= pgs;
                    weightLeft -= domainWeights[domain];
                    found = true;
                }
            }
        }
        double[] ideals = new double[weights.length];
        for (int disk = 0; disk < weights.length; disk++) {
            int domain = domainOf[disk];
            ideals[disk] =
                    snapped(
                            full[domain]
                                    ? pgs * weights[disk] / domainWeights[domain]
                                    : left * weights[disk] / weightLeft);
        }
        return ideals;
    }

    /**
     * Each ideal rounded up or down so that the sum comes out: up first where more is held already,
     * then where more was lost by rounding down.
     */
    private static int[] rounded(double[] ideals, double[] held, int sum) {
        int[] rounded = new int[ideals.length];
        int left = sum;
        for (int i = 0; i < ideals.length; i++) {
            rounded[i] = (int) Math.floor(snapped(ideals[i]));
            left -= rounded[i];
        }
        Integer[] order = new Integer[ideals.length];
        Arrays.setAll(order, i -> i);
        Arrays.sort(
                order,
                (a, b) -> {
                    int byHeld = Boolean.compare(held[b] > rounded[b], held[a] > rounded[a]);
                    double lostA = snapped(ideals[a]) - rounded[a];
                    double lostB = snapped(ideals[b]) - rounded[b];
                    // What is whole already goes last: it would be rounded up by one.
                    int byWhole = Boolean.compare(lostA == 0, lostB == 0);
                    return byWhole != 0
                            ? byWhole
                            : byHeld != 0 ? byHeld : Double.compare(lostB, lostA);
                });
        for (int i = 0; i < left; i++) {
            rounded[order[i]]++;
        }
        return rounded;
    }

    private static double snapped(double value) {
        double whole = Math.rint(value);
        return Math.abs(value - whole) < EPSILON * Math.max(1, whole) ? whole : value;
    }

    private int[] members(int domain) {
        int[] members = new int[domainOf.length];
        int n = 0;
        for (int disk = 0; disk < domainOf.length; disk++) {
            if (domainOf[disk] == domain) {
                members[n++] = disk;
            }
        }
        return Arrays.copyOf(members, n);
    }

    private static double[] pick(double[] of, int[] members) {
        return Arrays.stream(members).mapToDouble(i -> of[i]).toArray();
    }
}
