package io.cairn.dataserver.store;

import java.util.List;

/**
 * What was found when a chunk was read as a whole.
 *
 * @param head as it was before; of length 0 if there is no such chunk
 * @param settled whether it was still so afterwards
 * @param digest CRC32C of the checksums of all its blocks, absent ones as zeros: the same on every
 *     replica with the same head, if settled and nothing is bad
 * @param badBlocks by their numbers in the chunk
 */
public record ChunkCheck(ContentHead head, boolean settled, int digest, List<Integer> badBlocks) {
    public ChunkCheck {
        badBlocks = List.copyOf(badBlocks);
    }

    /** Whether the digest says what the head's content is. */
    public boolean isComparable() {
        return settled && badBlocks.isEmpty();
    }
}
