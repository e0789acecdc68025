package io.cairn.common.layout;

/**
 * Which placement group a chunk belongs to: the finaliser of SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014) over inode and chunk, reduced to
 * the number of PGs by multiply-shift (Lemire, "Fast random integer generation in an interval",
 * 2019). Part of the format of a cluster: it must never change. Stateless.
 *
 * <p>A pool grows by linear hashing (Litwin, "Linear hashing: a new tool for file and table
 * addressing", VLDB 1980) over that. It keeps the number of PGs that it was made with, its
 * <i>base</i> B. The 128-bit product of hash and B has the index among B in its upper half; each
 * bit of the lower half, from the highest, divides a PG of the level before in two. So with B × 2^k
 * PGs the first k of them count. In between, those that were divided already count one bit more
 * than the others: PG N is made of PG N - B × 2^(k-1), of half of its chunks, and no other chunk
 * moves.
 */
public final class PgHash {
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    /** PG number: pool &lt;&lt; 16 | index. */
    private static final int POOL_SHIFT = 16;

    /** Pool ids are the upper half of a PG id, from 1; ids of PGs are never negative. */
    public static final int MAX_POOL = 0x7fff;

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

    /**
     * @param base PGs that the pool was made with, 1 to 65,536
     * @param pgCount PGs that it has, at least as many
     * @return 0 to pgCount - 1; with as many as at the beginning, as {@link #index(long, long,
     *     int)}
     */
    public static int index(long inode, long chunk, int base, int pgCount) {
        long hash = mix(mix(inode + GOLDEN) + chunk * GOLDEN);
        int index = (int) Math.unsignedMultiplyHigh(hash, base);
        long bits = hash * base;
        for (int level = base; level < pgCount; level <<= 1) {
            int next = bits < 0 ? index + level : index;
            if (next >= pgCount) {
                return index; // this PG is not divided yet
            }
            index = next;
            bits <<= 1;
        }
        return index;
    }

    /**
     * The PG of which a PG was made.
     *
     * @param base PGs that the pool was made with
     * @return -1 for one that was there from the beginning
     */
    public static int parent(int index, int base) {
        if (index < base) {
            return -1;
        }
        long level = base;
        while (level * 2 <= index) {
            level *= 2;
        }
        return (int) (index - level);
    }

    /** The PG of a chunk of a file in a pool that has as many PGs as at the beginning. */
    public static int pg(int pool, long inode, long chunk, int pgCount) {
        return pg(pool, index(inode, chunk, pgCount));
    }

    /** The PG of a chunk of a file in that pool, see {@link #index(long, long, int, int)}. */
    public static int pg(int pool, long inode, long chunk, int base, int pgCount) {
        return pg(pool, index(inode, chunk, base, pgCount));
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
