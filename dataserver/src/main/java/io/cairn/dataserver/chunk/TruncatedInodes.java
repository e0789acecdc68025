package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Which inodes may have a truncate sequence: a Bloom filter of one hash, so that writes to the many
 * that were never truncated do not ask the index. Any thread.
 */
public final class TruncatedInodes {
    private static final int BITS = 1 << 20;

    private final AtomicLongArray words = new AtomicLongArray(BITS / Long.SIZE);

    public void note(DataOp op) {
        if (op.truncateSequence() > 0 || !op.cuts().isEmpty()) {
            add(op.inode());
        }
    }

    public void add(long inode) {
        int bit = bit(inode);
        long mask = 1L << bit;
        if ((words.get(bit / Long.SIZE) & mask) == 0) {
            words.getAndUpdate(bit / Long.SIZE, w -> w | mask);
        }
    }

    public boolean mayBe(long inode) {
        int bit = bit(inode);
        return (words.get(bit / Long.SIZE) & 1L << bit) != 0;
    }

    static int pages() {
        return BITS / BitPageFormat.BITS;
    }

    /** The page with the inode's bit. */
    static int pageOf(long inode) {
        return bit(inode) / BitPageFormat.BITS;
    }

    /** A page of the filter. */
    long[] page(int page) {
        long[] copy = new long[BitPageFormat.WORDS];
        for (int i = 0; i < BitPageFormat.WORDS; i++) {
            copy[i] = words.get(page * BitPageFormat.WORDS + i);
        }
        return copy;
    }

    /** Adds all inodes whose bits are set. Throws IllegalStateException for no page of it. */
    void addPage(int page, long[] bits) {
        if (page < 0 || page >= pages()) {
            throw new IllegalStateException("the filter has no page " + page);
        }
        for (int i = 0; i < BitPageFormat.WORDS; i++) {
            long more = bits[i];
            words.getAndUpdate(page * BitPageFormat.WORDS + i, w -> w | more);
        }
    }

    /** Fibonacci hashing: multiplication by 2^64 over the golden ratio. */
    private static int bit(long inode) {
        return (int) ((inode * 0x9E3779B97F4A7C15L) >>> 44);
    }
}
