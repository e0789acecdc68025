package io.cairn.dataserver.chunk;

import org.jspecify.annotations.Nullable;

/**
 * What the index knows of a chunk.
 *
 * @param epoch of the last operation in it
 * @param sequence of the last operation in it
 * @param truncateSequence newest truncation applied to it
 * @param lengthBytes end of its data; bytes of its last block beyond are zeros
 */
public record ChunkHead(long epoch, long sequence, long truncateSequence, int lengthBytes) {
    /**
     * What a chunk with this head was truncated to; 0 without a head. What its inode was truncated
     * to says nothing of a chunk that exists: a merge of two groups brings truncations that only
     * the chunks of the other one have seen, and who made the chunk knew all that its own had.
     */
    public static long truncateSequence(@Nullable ChunkHead head) {
        return head == null ? 0 : head.truncateSequence;
    }

    public ChunkVersion version() {
        return new ChunkVersion(epoch, sequence);
    }
}
