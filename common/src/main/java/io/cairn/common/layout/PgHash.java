package io.cairn.common.layout;

/**
 * Which placement group a chunk belongs to: the finaliser of SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014) over inode and chunk, reduced to
 * the number of PGs by multiply-shift (Lemire, "Fast random integer generation in an interval",
 * 2019). Part of the format of a cluster: it must never change. Stateless.
 */
public final class PgHash {
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    /** PG number: pool &lt;&lt; 16 | index. */
    private static final int POOL_SHIFT = 16;

    /** Pool ids are the upper half of a PG id, from 1. */
    public static final int MAX_POOL = 0xffff;

    /** The index within the pool is the lower half. */
    public static final int MAX_PGS = 1 << 16;

    private PgHash() {}

    /**
     * @param pgCount 1 to 65,536
     * @return 0 to pgCount - 1
     */
    public static int index(long inode, long chunk, int pgCount) {
        long hash = mix(mix(inode + GOLDEN) + chunk * GOLDEN);
        return (int) Math.unsignedMultiplyHigh(hash, pgCount);
    }

    /** The PG of a chunk of a file in that pool. */
    public static int pg(int pool, long inode, long chunk, int pgCount) {
        return pg(pool, index(inode, chunk, pgCount));
    }

    public static int pg(int pool, int index) {
        return pool << POOL_SHIFT | index;
    }

    public static int poolOf(int pg) {
        return pg >>> POOL_SHIFT;
    }

    public static int indexOf(int pg) {
        return pg & 0xffff;
    }

    private static long mix(long z) {
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
