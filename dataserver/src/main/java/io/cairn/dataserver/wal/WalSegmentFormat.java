package io.cairn.dataserver.wal;

import io.cairn.common.map.Uuids;
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

    private static final int MAGIC_OFFSET = 0;
    private static final int VERSION_OFFSET = 8;
    private static final int SEGMENT_BYTES_OFFSET = 12;
    private static final int DISK_OFFSET = 16;
    private static final int GENERATION_OFFSET = 32;
    private static final int SALT_OFFSET = 40;
    private static final int FIRST_LSN_OFFSET = 48;
    private static final int RESERVED_OFFSET = 56;
    private static final int CRC_OFFSET = 60;

    private WalSegmentFormat() {}

    /** One use of a segment. */
    record Header(UUID disk, int segmentBytes, long generation, long salt, long firstLsn) {}

    /** Writes the header at the buffer's start; the rest of the page is left as it is. */
    static void encode(ByteBuffer page, Header h) {
        ByteBuffer b = page.order(ByteOrder.LITTLE_ENDIAN);
        b.putLong(MAGIC_OFFSET, MAGIC);
        b.putInt(VERSION_OFFSET, VERSION);
        b.putInt(SEGMENT_BYTES_OFFSET, h.segmentBytes());
        Uuids.put(b, DISK_OFFSET, h.disk());
        b.putLong(GENERATION_OFFSET, h.generation());
        b.putLong(SALT_OFFSET, h.salt());
        b.putLong(FIRST_LSN_OFFSET, h.firstLsn());
        b.putInt(RESERVED_OFFSET, 0);
        b.putInt(CRC_OFFSET, Crc.of(b, 0, CRC_OFFSET));
    }

    /** Null if the page is not an intact header. */
    static @Nullable Header decode(ByteBuffer page) {
        ByteBuffer b = page.order(ByteOrder.LITTLE_ENDIAN);
        if (b.limit() < CRC_OFFSET + Integer.BYTES
                || b.getLong(MAGIC_OFFSET) != MAGIC
                || b.getInt(CRC_OFFSET) != Crc.of(b, 0, CRC_OFFSET)
                || b.getInt(VERSION_OFFSET) != VERSION) {
            return null;
        }
        return new Header(
                Uuids.get(b, DISK_OFFSET),
                b.getInt(SEGMENT_BYTES_OFFSET),
                b.getLong(GENERATION_OFFSET),
                b.getLong(SALT_OFFSET),
                b.getLong(FIRST_LSN_OFFSET));
    }
}
