package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import java.util.BitSet;

/**
 * Which blocks of a chunk there are, by its overlay and the index: one of these that is overwritten
 * needs no space that is not given back.
 */
final class PresentBlocks {
    private PresentBlocks() {}

    /** Whether all of them are there, the last one included. */
    static boolean has(View view, Stored stored, int first, int last) {
        BitSet there = new BitSet();
        int visible = view.visibleBase(stored.length());
        for (int b = first; b <= last && b * BlockCrc.BLOCK_BYTES < visible; b++) {
            BlockGroup group = stored.group(b / ChunkKeys.GROUP_BLOCKS);
            there.set(b, group.stored(b % ChunkKeys.GROUP_BLOCKS));
        }
        for (Range r : view.ranges()) {
            there.set(r.start() / BlockCrc.BLOCK_BYTES, (r.end() - 1) / BlockCrc.BLOCK_BYTES + 1);
        }
        return there.nextClearBit(first) > last;
    }
}
