package io.cairn.dataserver.chunk;

import java.util.Map;
import java.util.TreeMap;

/**
 * Blocks that an update of the index begins to name, and those it names no more, by region. For one
 * thread.
 */
final class BlockChanges {
    private final Map<Integer, Change> regions = new TreeMap<>();

    /** Bits of the blocks of a region. */
    record Change(long[] added, long[] removed) {
        private Change() {
            this(new long[BitPageFormat.WORDS], new long[BitPageFormat.WORDS]);
        }
    }

    /** A group of blocks is replaced by another. */
    void add(BlockGroup before, BlockGroup after) {
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (before.location(i) == after.location(i)) {
                continue;
            }
            if (before.stored(i)) {
                set(change(before.location(i)).removed(), before.location(i));
            }
            if (after.stored(i)) {
                set(change(after.location(i)).added(), after.location(i));
            }
        }
    }

    Map<Integer, Change> regions() {
        return regions;
    }

    private Change change(long block) {
        int region = (int) (block / BitPageFormat.BITS);
        return regions.computeIfAbsent(region, r -> new Change());
    }

    private static void set(long[] bits, long block) {
        int i = (int) (block % BitPageFormat.BITS);
        bits[i / Long.SIZE] |= 1L << i;
    }
}
