package io.cairn.mds.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The counters, little-endian.
 *
 * <pre>
 *  0  version:1 (1)
 *  1  inodes used:8
 *  9  bytes used:8
 * 17  deletion inodes:8
 * 25  deletion bytes:8
 * 33  deletion head:8
 * 41  next deletion:8
 * 49  highest inode:8
 * 57  highest session:8
 * 65  map epoch:8
 * </pre>
 */
final class CountersFormat {
    static final byte VERSION = 1;
    static final int BYTES = 73;

    private CountersFormat() {}

    static byte[] encode(Counters c) {
        return ByteBuffer.allocate(BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(VERSION)
                .putLong(c.inodesUsed())
                .putLong(c.bytesUsed())
                .putLong(c.deletionInodes())
                .putLong(c.deletionBytes())
                .putLong(c.deletionHead())
                .putLong(c.nextDeletion())
                .putLong(c.maxInode())
                .putLong(c.maxSession())
                .putLong(c.mapEpoch())
                .array();
    }

    static Counters decode(byte[] value) {
        ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
        if (value.length != BYTES || in.get() != VERSION) {
            throw new CorruptStateException(value.length + " bytes that are no counters");
        }
        return new Counters(
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getLong());
    }
}
