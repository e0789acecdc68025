package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of a chunk head, little-endian.
 *
 * <pre>
 *  0 u64 epoch of the last operation
 *  8 u64 sequence of the last operation
 * 16 u64 truncate sequence
 * 24 u32 length in bytes
 * 28 u32 CRC32C of bytes 0..27
 * </pre>
 */
public final class ChunkHeadFormat {
    static final int BYTES = 28;

    private static final int EPOCH_OFFSET = 0;
    private static final int SEQUENCE_OFFSET = 8;
    private static final int TRUNCATE_SEQUENCE_OFFSET = 16;
    private static final int LENGTH_OFFSET = 24;

    private ChunkHeadFormat() {}

    static byte[] encode(ChunkHead h) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES)
                        .putLong(EPOCH_OFFSET, h.epoch())
                        .putLong(SEQUENCE_OFFSET, h.sequence())
                        .putLong(TRUNCATE_SEQUENCE_OFFSET, h.truncateSequence())
                        .putInt(LENGTH_OFFSET, h.lengthBytes()));
    }

    static ChunkHead decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "chunk head");
        return new ChunkHead(
                b.getLong(EPOCH_OFFSET),
                b.getLong(SEQUENCE_OFFSET),
                b.getLong(TRUNCATE_SEQUENCE_OFFSET),
                b.getInt(LENGTH_OFFSET));
    }
}
