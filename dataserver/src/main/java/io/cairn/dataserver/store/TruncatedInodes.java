package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Which inodes may have a truncate sequence: a Bloom filter of one hash, so that writes to the many
 * that were never truncated do not ask the index. Any thread.
 */
final class TruncatedInodes {
    private static final int BITS = 1 << 20;

    private final AtomicLongArray words = new AtomicLongArray(BITS / 64);

    void note(DataOp op) {
        if (op.truncateSequence() > 0 || !op.cuts().isEmpty()) {
            add(op.inode());
        }
    }

    void add(long inode) {
        int bit = bit(inode);
        long mask = 1L << bit;
        if ((words.get(bit >>> 6) & mask) == 0) {
            words.getAndUpdate(bit >>> 6, w -> w | mask);
        }
    }

    boolean mayBe(long inode) {
        int bit = bit(inode);
        return (words.get(bit >>> 6) & 1L << bit) != 0;
    }

    /** Fibonacci hashing: multiplication by 2^64 over the golden ratio. */
    private static int bit(long inode) {
        return (int) ((inode * 0x9E3779B97F4A7C15L) >>> 44);
    }
}
