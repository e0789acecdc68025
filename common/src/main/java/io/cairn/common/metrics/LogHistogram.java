package io.cairn.common.metrics;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts non-negative values in logarithmic buckets, each power of two cut into 16, so that a
 * percentile is right to within 1/16 of its value. 8 KiB, no allocation and no lock on recording;
 * any thread.
 *
 * <p>The arrangement is that of HdrHistogram (Gil Tene) with four significant bits.
 */
final class LogHistogram {
    private static final int SUB_BITS = 4;
    private static final int SUB = 1 << SUB_BITS;
    private static final int BUCKETS = (64 - SUB_BITS) * SUB;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

    void record(long value) {
        counts.getAndIncrement(bucketOf(Math.max(0, value)));
    }

    /** Adds all counts of the other histogram to {@code totals}. */
    void addTo(long[] totals) {
        for (int i = 0; i < BUCKETS; i++) {
            totals[i] += counts.get(i);
        }
    }

    boolean isEmpty() {
        for (int i = 0; i < BUCKETS; i++) {
            if (counts.get(i) != 0) {
                return false;
            }
        }
        return true;
    }

    static long[] newTotals() {
        return new long[BUCKETS];
    }

    /**
     * Smallest recorded value (up to the bucket's width) that {@code fraction} of all values do not
     * exceed; 0 if none.
     */
    static long percentile(long[] totals, double fraction) {
        long all = 0;
        for (long count : totals) {
            all += count;
        }
        long rank = Math.max(1, (long) Math.ceil(all * fraction));
        long seen = 0;
        for (int i = 0; i < totals.length; i++) {
            seen += totals[i];
            if (seen >= rank) {
                return highestOf(i);
            }
        }
        return 0;
    }

    /**
     * Values below 16 have a bucket each; above, the four bits after the leading one choose within
     * the power of two.
     */
    static int bucketOf(long value) {
        if (value < SUB) {
            return (int) value;
        }
        int shift = 63 - Long.numberOfLeadingZeros(value) - SUB_BITS;
        return (shift + 1) * SUB + (int) (value >>> shift) - SUB;
    }

    /** The largest value that falls into the bucket. */
    static long highestOf(int bucket) {
        if (bucket < SUB) {
            return bucket;
        }
        int shift = bucket / SUB - 1;
        long lowest = (long) (bucket % SUB + SUB) << shift;
        return lowest + (1L << shift) - 1;
    }
}
