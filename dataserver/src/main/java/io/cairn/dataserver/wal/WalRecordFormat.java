package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.BlockRun;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Layout of a record in a batch, little-endian, at a multiple of 8 from the batch's start.
 *
 * <pre>
 *  0  u32  CRC32C of bytes 4..63 and of head and extents
 *  4  u32  length of the whole record, without the filling to 8
 *  8  u64  salt of the segment
 * 16  u64  LSN
 * 24  u64  epoch
 * 32  u64  sequence (DROP_TAIL: the last one kept; REPAIR: of the operation it follows)
 * 40  u32  placement group
 * 44  u16  type: 1 operation, 2 DROP_TAIL, 3 operation whose payload lies in the data file,
 *          4 REPAIR: a WRITE of one block with the content it has as of the sequence
 * 46  u16  number of extents (type 3)
 * 48  u32  length of the head
 * 52  u32  length of the payload (0 for type 3)
 * 56  u32  CRC32C of the payload; 0 for a WRITE, whose head has the checksums of its blocks
 * 60  u32  0
 * 64       head of the operation (DataOpFormat)
 *          extents: u64 first block, u32 blocks, u32 0 each
 *          payload
 * </pre>
 */
public final class WalRecordFormat {
    public static final int BYTES = 64;
    public static final int OPERATION = 1;
    public static final int DROP_TAIL = 2;
    public static final int DIRECT_OPERATION = 3;
    public static final int REPAIR = 4;

    static final int EXTENT_BYTES = 16;
    private static final int LENGTH = 4;
    private static final int SALT = 8;

    private WalRecordFormat() {}

    /** Everything of a record but head and payload. */
    record Header(
            long lsn,
            long epoch,
            long sequence,
            int pg,
            int type,
            int extents,
            int headLength,
            int payloadLength,
            int payloadCrc) {
        int length() {
            return BYTES + headLength + extents * EXTENT_BYTES + payloadLength;
        }
    }

    static void encodeExtents(ByteBuffer b, int at, List<BlockRun> extents) {
        int next = at;
        for (BlockRun run : extents) {
            b.putLong(next, run.first()).putInt(next + 8, run.count()).putInt(next + 12, 0);
            next += EXTENT_BYTES;
        }
    }

    /** Of an intact record at the offset. */
    static List<BlockRun> decodeExtents(ByteBuffer b, int at, Header h) {
        List<BlockRun> extents = new ArrayList<>(h.extents());
        int next = at + BYTES + h.headLength();
        for (int i = 0; i < h.extents(); i++) {
            extents.add(new BlockRun(b.getLong(next), b.getInt(next + 8)));
            next += EXTENT_BYTES;
        }
        return extents;
    }

    static int aligned(int length) {
        return (length + 7) & ~7;
    }

    /** Writes all but salt and checksum, which are known when the batch gets its segment. */
    static void encode(ByteBuffer b, int at, Header h) {
        b.putInt(at + LENGTH, h.length()).putLong(at + 16, h.lsn());
        b.putLong(at + 24, h.epoch()).putLong(at + 32, h.sequence());
        b.putInt(at + 40, h.pg()).putShort(at + 44, (short) h.type());
        b.putShort(at + 46, (short) h.extents());
        b.putInt(at + 48, h.headLength()).putInt(at + 52, h.payloadLength());
        b.putInt(at + 56, h.payloadCrc()).putInt(at + 60, 0);
    }

    /** Completes the record at the offset and returns its length with the filling. */
    static int seal(ByteBuffer b, int at, long salt) {
        b.putLong(at + SALT, salt);
        int length = b.getInt(at + LENGTH);
        int covered = length - b.getInt(at + 52);
        b.putInt(at, Crc.of(b, at + 4, covered - 4));
        return aligned(length);
    }

    /** Null if there is no intact record of the salt at the offset, ending before the limit. */
    static @Nullable Header decode(ByteBuffer b, int at, int limit, long salt) {
        if (limit - at < BYTES || b.getLong(at + SALT) != salt) {
            return null;
        }
        Header h =
                new Header(
                        b.getLong(at + 16),
                        b.getLong(at + 24),
                        b.getLong(at + 32),
                        b.getInt(at + 40),
                        b.getShort(at + 44),
                        Short.toUnsignedInt(b.getShort(at + 46)),
                        b.getInt(at + 48),
                        b.getInt(at + 52),
                        b.getInt(at + 56));
        int length = b.getInt(at + LENGTH);
        if (h.headLength() < 0
                || h.headLength() > limit
                || h.payloadLength() < 0
                || h.payloadLength() > limit
                || length != h.length()
                || length > limit - at) {
            return null;
        }
        int covered = length - h.payloadLength();
        return b.getInt(at) == Crc.of(b, at + 4, covered - 4) ? h : null;
    }
}
