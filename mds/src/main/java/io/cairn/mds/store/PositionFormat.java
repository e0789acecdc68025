package io.cairn.mds.store;

import io.cairn.mds.raft.ReplicatedState.Position;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Place in the Raft log of the last applied entry, little-endian; in every batch.
 *
 * <pre>
 *  0  version:1 (1)   format of the whole key space
 *  1  term:8
 *  9  index:8
 * </pre>
 */
final class PositionFormat {
    static final byte VERSION = 1;
    static final int BYTES = 17;

    private PositionFormat() {}

    static byte[] encode(long term, long index) {
        return ByteBuffer.allocate(BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(VERSION)
                .putLong(term)
                .putLong(index)
                .array();
    }

    static Position decode(byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length != BYTES || in.get() != VERSION) {
            throw new CorruptStateException(
                    "the metadata was written in another format than version " + VERSION);
        }
        return new Position(in.getLong(), in.getLong());
    }
}
