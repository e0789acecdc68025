package io.cairn.dataserver.chunk;

/**
 * What the index knows of a chunk.
 *
 * @param epoch of the last operation in it
 * @param sequence of the last operation in it
 * @param truncateSequence newest truncation applied to it
 * @param lengthBytes end of its data; bytes of its last block beyond are zeros
 */
public record ChunkHead(long epoch, long sequence, long truncateSequence, int lengthBytes) {
    public ChunkVersion version() {
        return new ChunkVersion(epoch, sequence);
    }
}
