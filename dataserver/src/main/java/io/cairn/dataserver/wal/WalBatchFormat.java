package io.cairn.dataserver.wal;

import io.cairn.common.map.Uuids;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Layout of a batch's header, at the start of a page, little-endian; records follow, the last page
 * is filled up with zeros. A batch is written and synced as a whole.
 *
 * <pre>
 *  0  u32  magic "WBAT"
 *  4  u32  CRC32C of bytes 8..63
 *  8  u64  salt of the segment
 * 16  u64  generation of the segment
 * 24  u64  LSN of the first record
 * 32  u64  last LSN known synced when the batch was written
 * 40  u32  length in bytes of header and records, without the filling
 * 44  u32  number of records
 * 48  u128 disk uuid (most significant half first)
 * </pre>
 */
public final class WalBatchFormat {
    public static final int BYTES = 64;

    static final int MAGIC = 0x54414257;

    private static final int MAGIC_OFFSET = 0;
    private static final int CRC_OFFSET = 4;
    private static final int SALT_OFFSET = 8;
    private static final int GENERATION_OFFSET = 16;
    private static final int FIRST_LSN_OFFSET = 24;
    private static final int SYNCED_LSN_OFFSET = 32;
    private static final int LENGTH_OFFSET = 40;
    private static final int RECORDS_OFFSET = 44;
    private static final int DISK_OFFSET = 48;

    private WalBatchFormat() {}

    /** The fields of a header. */
    record Header(
            long salt, long generation, long firstLsn, long syncedLsn, int length, int records) {}

    /** The buffer is little-endian; its position is not used. */
    static void encode(ByteBuffer b, Header h, UUID disk) {
        b.putInt(MAGIC_OFFSET, MAGIC);
        b.putLong(SALT_OFFSET, h.salt());
        b.putLong(GENERATION_OFFSET, h.generation());
        b.putLong(FIRST_LSN_OFFSET, h.firstLsn());
        b.putLong(SYNCED_LSN_OFFSET, h.syncedLsn());
        b.putInt(LENGTH_OFFSET, h.length());
        b.putInt(RECORDS_OFFSET, h.records());
        Uuids.put(b, DISK_OFFSET, disk);
        b.putInt(CRC_OFFSET, crc(b, 0));
    }

    /** Null if there is no intact header of a batch of this disk at the offset. */
    static @Nullable Header decode(ByteBuffer b, int at, UUID disk) {
        if (b.limit() - at < BYTES
                || b.getInt(at + MAGIC_OFFSET) != MAGIC
                || b.getInt(at + CRC_OFFSET) != crc(b, at)
                || !Uuids.get(b, at + DISK_OFFSET).equals(disk)) {
            return null;
        }
        return new Header(
                b.getLong(at + SALT_OFFSET),
                b.getLong(at + GENERATION_OFFSET),
                b.getLong(at + FIRST_LSN_OFFSET),
                b.getLong(at + SYNCED_LSN_OFFSET),
                b.getInt(at + LENGTH_OFFSET),
                b.getInt(at + RECORDS_OFFSET));
    }

    /** Of everything behind the checksum itself. */
    private static int crc(ByteBuffer b, int at) {
        return Crc.of(b, at + SALT_OFFSET, BYTES - SALT_OFFSET);
    }
}
