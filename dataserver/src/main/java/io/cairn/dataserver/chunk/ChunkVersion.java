package io.cairn.dataserver.chunk;

/**
 * The last operation of its PG that changed a chunk: replicas of the chunk with the same version
 * have the same bytes, whatever of them is flushed.
 *
 * @param epoch 0 if there is no such chunk
 */
public record ChunkVersion(long epoch, long sequence) {
    public static final ChunkVersion NONE = new ChunkVersion(0, 0);
}
