package io.cairn.dataserver.wal;

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

    private WalBatchFormat() {}

    /** What a batch says of itself. */
    record Header(
            long salt, long generation, long firstLsn, long syncedLsn, int length, int records) {}

    /** The buffer is little-endian; its position is not used. */
    static void encode(ByteBuffer b, Header h, UUID disk) {
        b.putInt(0, MAGIC).putLong(8, h.salt()).putLong(16, h.generation());
        b.putLong(24, h.firstLsn()).putLong(32, h.syncedLsn());
        b.putInt(40, h.length()).putInt(44, h.records());
        b.putLong(48, disk.getMostSignificantBits()).putLong(56, disk.getLeastSignificantBits());
        b.putInt(4, Crc.of(b, 8, BYTES - 8));
    }

    /** Null if there is no intact header of a batch of this disk at the offset. */
    static @Nullable Header decode(ByteBuffer b, int at, UUID disk) {
        if (b.limit() - at < BYTES
                || b.getInt(at) != MAGIC
                || b.getInt(at + 4) != Crc.of(b, at + 8, BYTES - 8)
                || b.getLong(at + 48) != disk.getMostSignificantBits()
                || b.getLong(at + 56) != disk.getLeastSignificantBits()) {
            return null;
        }
        return new Header(
                b.getLong(at + 8),
                b.getLong(at + 16),
                b.getLong(at + 24),
                b.getLong(at + 32),
                b.getInt(at + 40),
                b.getInt(at + 44));
    }
}
