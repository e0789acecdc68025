package io.cairn.dataserver.wal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Layout of a segment's first page, little-endian. Written anew at each use of the segment, synced
 * together with the first batch.
 *
 * <pre>
 *  0  u64  magic "CAIRNWAL"
 *  8  u32  version, 1
 * 12  u32  segment size in bytes
 * 16  u128 disk uuid (most significant half first)
 * 32  u64  generation: counts uses of segments, over the whole WAL
 * 40  u64  salt, random, of this use
 * 48  u64  LSN of the first record
 * 56  u32  0
 * 60  u32  CRC32C of bytes 0..59
 * 64       zeros to 4096
 * </pre>
 */
public final class WalSegmentFormat {
    public static final int BYTES = 4096;

    static final long MAGIC = 0x4c41574e52494143L;
    static final int VERSION = 1;
    private static final int CRC = 60;

    private WalSegmentFormat() {}

    /** One use of a segment. */
    record Header(UUID disk, int segmentBytes, long generation, long salt, long firstLsn) {}

    /** Writes the header at the buffer's start; the rest of the page is left as it is. */
    static void encode(ByteBuffer page, Header h) {
        ByteBuffer b = page.order(ByteOrder.LITTLE_ENDIAN);
        b.putLong(0, MAGIC).putInt(8, VERSION).putInt(12, h.segmentBytes());
        b.putLong(16, h.disk().getMostSignificantBits());
        b.putLong(24, h.disk().getLeastSignificantBits());
        b.putLong(32, h.generation()).putLong(40, h.salt()).putLong(48, h.firstLsn());
        b.putInt(56, 0).putInt(CRC, Crc.of(b, 0, CRC));
    }

    /** Null if the page is not an intact header. */
    static @Nullable Header decode(ByteBuffer page) {
        ByteBuffer b = page.order(ByteOrder.LITTLE_ENDIAN);
        if (b.limit() < CRC + 4
                || b.getLong(0) != MAGIC
                || b.getInt(CRC) != Crc.of(b, 0, CRC)
                || b.getInt(8) != VERSION) {
            return null;
        }
        return new Header(
                new UUID(b.getLong(16), b.getLong(24)),
                b.getInt(12),
                b.getLong(32),
                b.getLong(40),
                b.getLong(48));
    }
}
