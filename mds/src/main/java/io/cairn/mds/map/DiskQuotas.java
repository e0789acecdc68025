package io.cairn.mds.map;

import java.util.Arrays;

/**
 * How many replicas each disk is to hold. A disk's ideal is its share of all replicas by weight; a
 * domain whose disks' ideals sum to more than it may hold, at most one replica of every PG, is cut
 * to that, and the rest goes to the others by weight. The quota is the ideal rounded up or down,
 * preferably to what the disk holds now. One use by one thread.
 */
final class DiskQuotas {
    private static final double EPSILON = 1e-9;

    private final double[] weights;
    private final int[] domainOf;
    private final int[] caps;
    private final int replicas;

    /**
     * @param weights of each disk, positive
     * @param domainOf domain of each disk, from 0
     * @param caps of each domain, how many replicas it may hold
     * @param replicas of all PGs together, at most the sum of the caps of the disks' domains
     */
    DiskQuotas(double[] weights, int[] domainOf, int[] caps, int replicas) {
        this.weights = weights;
        this.domainOf = domainOf;
        this.caps = caps;
        this.replicas = replicas;
    }

    /** Sums to the replicas; no domain gets more than its cap. */
    int[] quotas(int[][] present) {
        double[] ideals = ideals();
        double[] held = new double[weights.length];
        for (int[] replicas : present) {
            for (int disk : replicas) {
                held[disk]++;
            }
        }
        double[] domainIdeals = new double[caps.length];
        double[] domainHeld = new double[caps.length];
        for (int disk = 0; disk < weights.length; disk++) {
            domainIdeals[domainOf[disk]] += ideals[disk];
            domainHeld[domainOf[disk]] += held[disk];
        }
        int[] domainQuotas = rounded(domainIdeals, domainHeld, replicas);
        int[] quotas = new int[weights.length];
        for (int domain = 0; domain < caps.length; domain++) {
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
        boolean[] full = new boolean[caps.length];
        double[] domainWeights = new double[caps.length];
        for (int disk = 0; disk < weights.length; disk++) {
            domainWeights[domainOf[disk]] += weights[disk];
        }
        double left = replicas;
        double weightLeft = Arrays.stream(weights).sum();
        for (boolean found = true; found; ) {
            found = false;
            for (int domain = 0; domain < caps.length; domain++) {
                if (!full[domain]
                        && domainWeights[domain] > 0
                        && left * domainWeights[domain] / weightLeft > caps[domain] + EPSILON) {
                    full[domain] = true;
                    left -= caps[domain];
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
                                    ? caps[domain] * weights[disk] / domainWeights[domain]
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
