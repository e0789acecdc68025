package io.cairn.dataserver.disk;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which 4 KiB blocks of the data file are in use: a bitmap, filled from the chunk index at start
 * (32 MiB of heap for each TiB), with the number of free blocks of each 16 MiB region, so that full
 * regions are skipped. Searches go on from where the last ended, which keeps files written together
 * near each other. Block 0 is the superblock. Any thread.
 *
 * <p>Only blocks of regions that are backed, whose space the file system below keeps for this file,
 * are given out and count as free. Blocks in use may lie in any region.
 */
public final class BlockAllocator {
    private static final int REGION_BITS = 12;

    /** A region: 16 MiB. */
    public static final int REGION_BLOCKS = 1 << REGION_BITS;

    private static final int REGION_WORDS = REGION_BLOCKS / Long.SIZE;

    /** Runs looked at before the longest so far is taken: bounds the time on a full disk. */
    private static final int MAX_CANDIDATES = 16_384;

    private final long blocks;
    private final long[] used;
    private final int[] regionFree;
    private final boolean[] backed;
    private long free;
    private long freeUnbacked;
    private long cursor = 1;

    /** No region from here on is backed: a search need not look at them. */
    private int backedEnd;

    /** With no region backed yet. */
    public BlockAllocator(long blocks) {
        this.blocks = blocks;
        this.used = new long[Math.toIntExact((blocks + 63) >>> 6)];
        this.regionFree = new int[Math.toIntExact((blocks + REGION_BLOCKS - 1) >>> REGION_BITS)];
        this.backed = new boolean[regionFree.length];
        Arrays.fill(regionFree, REGION_BLOCKS);
        long inLast = blocks & (REGION_BLOCKS - 1);
        if (inLast != 0) {
            regionFree[regionFree.length - 1] = (int) inLast;
        }
        this.freeUnbacked = blocks;
        markUsed(0, 1);
    }

    /** The file system keeps the space of these regions: their free blocks may be given out. */
    public synchronized void back(int firstRegion, int regions) {
        for (int r = firstRegion; r < firstRegion + regions; r++) {
            if (!backed[r]) {
                backed[r] = true;
                backedEnd = Math.max(backedEnd, r + 1);
                free += regionFree[r];
                freeUnbacked -= regionFree[r];
            }
        }
    }

    public int regions() {
        return regionFree.length;
    }

    public synchronized boolean isBacked(int region) {
        return backed[region];
    }

    /** Whether a block of the region is in use. */
    public synchronized boolean isInUse(int region) {
        return regionFree[region] < regionBlocks(region);
    }

    /** Blocks of the region; the last one may have fewer than the others. */
    public int regionBlocks(int region) {
        return (int) Math.min(REGION_BLOCKS, blocks - (long) region * REGION_BLOCKS);
    }

    /** Blocks not in use in regions that are not backed. */
    public synchronized long unbackedBlocks() {
        return freeUnbacked;
    }

    /** Throws IllegalStateException if one of them is in use or outside: the index is damaged. */
    public synchronized void markUsed(long first, int count) {
        if (first < 0 || first + count > blocks) {
            throw new IllegalStateException(
                    "blocks " + first + "+" + count + " lie outside the disk's " + blocks);
        }
        for (long b = first; b < first + count; b++) {
            if (isUsed(b)) {
                throw new IllegalStateException("block " + b + " is used twice");
            }
            set(b);
        }
    }

    /**
     * As {@link #markUsed(long, int)}, of one region.
     *
     * @param bits 64 words: bit i of word w is block 64 w + i of the region
     */
    public synchronized void markUsed(int region, long[] bits) {
        if (region < 0 || region >= regions()) {
            throw new IllegalStateException("region " + region + " lies outside the disk");
        }
        int first = region * REGION_WORDS;
        int marked = 0;
        for (int i = 0; i < REGION_WORDS; i++) {
            if (bits[i] == 0) {
                continue;
            }
            if (first + i >= used.length || (outside(first + i) & bits[i]) != 0) {
                throw new IllegalStateException("blocks of region " + region + " lie outside");
            }
            if ((used[first + i] & bits[i]) != 0) {
                throw new IllegalStateException("blocks of region " + region + " are used twice");
            }
            used[first + i] |= bits[i];
            marked += Long.bitCount(bits[i]);
        }
        count(region, -marked);
    }

    /** Bits of a word that stand for no block. */
    private long outside(int word) {
        int inLast = (int) (blocks & (Long.SIZE - 1));
        return word == used.length - 1 && inLast != 0 ? -1L << inLast : 0;
    }

    /** The blocks of a region that are in use, as {@link #markUsed(int, long[])} takes them. */
    public synchronized long[] used(int region) {
        int first = region * REGION_WORDS;
        long[] bits = new long[REGION_WORDS];
        System.arraycopy(used, first, bits, 0, Math.min(REGION_WORDS, used.length - first));
        return bits;
    }

    /**
     * Takes up to {@code wanted} consecutive blocks: the next run long enough, else the longest
     * found; null when nothing is free.
     */
    public synchronized @Nullable BlockRun allocate(int wanted) {
        if (free == 0) {
            return null;
        }
        long end = Math.min(blocks, (long) backedEnd << REGION_BITS);
        long start = cursor >= end ? 0 : cursor;
        BlockRun best = search(start, end, wanted, new BlockRun(0, 0));
        if (best.count() < wanted) {
            best = search(0, start, wanted, best);
        }
        for (long b = best.first(); b < best.end(); b++) {
            set(b);
        }
        cursor = best.end();
        return best;
    }

    /** Throws IllegalStateException if one of them is free already. */
    public synchronized void release(long first, int count) {
        for (long b = first; b < first + count; b++) {
            if (!isUsed(b)) {
                throw new IllegalStateException("block " + b + " is freed twice");
            }
            used[(int) (b >>> 6)] &= ~(1L << b);
            count((int) (b >>> REGION_BITS), 1);
        }
    }

    /** Blocks that may be given out. */
    public synchronized long freeBlocks() {
        return free;
    }

    public long blocks() {
        return blocks;
    }

    public synchronized boolean isUsed(long block) {
        return (used[(int) (block >>> 6)] & 1L << block) != 0;
    }

    private BlockRun search(long from, long to, int wanted, BlockRun bestSoFar) {
        BlockRun best = bestSoFar;
        long b = from;
        int candidates = 0;
        while (b < to && (candidates++ < MAX_CANDIDATES || best.count() == 0)) {
            int region = (int) (b >>> REGION_BITS);
            if (!backed[region] || regionFree[region] == 0) {
                b = (long) (region + 1) << REGION_BITS;
                continue;
            }
            long start = nextFree(b, to);
            if (start >= to) {
                break;
            }
            if (!isAvailable(start)) {
                b = start;
                continue;
            }
            int count = 1;
            while (count < wanted && start + count < to && isAvailable(start + count)) {
                count++;
            }
            if (count > best.count()) {
                best = new BlockRun(start, count);
                if (count == wanted) {
                    return best;
                }
            }
            b = start + count;
        }
        return best;
    }

    /** The next free block, or the begin of the next region, which may be in use. */
    private long nextFree(long from, long to) {
        long b = from;
        while (b < to) {
            long word = ~used[(int) (b >>> 6)] & -1L << b;
            if (word != 0) {
                return (b & ~63L) + Long.numberOfTrailingZeros(word);
            }
            b = (b | 63) + 1;
            if ((b & (REGION_BLOCKS - 1)) == 0) {
                return b;
            }
        }
        return to;
    }

    private void set(long b) {
        used[(int) (b >>> 6)] |= 1L << b;
        count((int) (b >>> REGION_BITS), -1);
    }

    private void count(int region, int more) {
        regionFree[region] += more;
        if (backed[region]) {
            free += more;
        } else {
            freeUnbacked += more;
        }
    }

    private boolean isAvailable(long b) {
        return backed[(int) (b >>> REGION_BITS)] && !isUsed(b);
    }
}
