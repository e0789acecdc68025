package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * Layout of the disk's state in the index, little-endian.
 *
 * <pre>
 *  0 u32  version, 1
 *  4 u32  0
 *  8 u128 disk uuid (most significant half first)
 * 24 u64  trim LSN: every operation up to here is in the index
 * 32 u32  CRC32C of bytes 0..31
 * </pre>
 */
public final class DiskStateFormat {
    static final int BYTES = 32;
    static final int VERSION = 1;

    private DiskStateFormat() {}

    /** The decoded value. */
    public record DiskState(UUID disk, long trimLsn) {}

    static byte[] encode(DiskState s) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES)
                        .putInt(VERSION)
                        .putInt(0)
                        .putLong(s.disk().getMostSignificantBits())
                        .putLong(s.disk().getLeastSignificantBits())
                        .putLong(s.trimLsn()));
    }

    static DiskState decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "disk state");
        if (b.getInt(0) != VERSION) {
            throw new IndexDamagedException("disk state has version " + b.getInt(0));
        }
        return new DiskState(new UUID(b.getLong(8), b.getLong(16)), b.getLong(24));
    }
}
