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

    private ChunkHeadFormat() {}

    static byte[] encode(ChunkHead h) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES)
                        .putLong(h.epoch())
                        .putLong(h.sequence())
                        .putLong(h.truncateSequence())
                        .putInt(h.lengthBytes()));
    }

    static ChunkHead decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "chunk head");
        return new ChunkHead(b.getLong(), b.getLong(), b.getLong(), b.getInt());
    }
}
