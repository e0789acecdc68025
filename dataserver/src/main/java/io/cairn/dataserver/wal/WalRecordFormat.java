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
 * 32  u64  sequence (DROP_TAIL: the last one kept; REPAIR, LEARNER: of the operation it follows;
 *          LEARNER that resets: the position from which the history goes on, with the epoch)
 * 40  u32  placement group
 * 44  u16  type: 1 operation, 2 DROP_TAIL, 3 operation whose payload lies in the data file,
 *          4 REPAIR: a WRITE of one block with the content it has as of the sequence,
 *          5 LEARNER: a step of a learner
 * 46  u16  number of extents (type 3)
 * 48  u32  length of the head
 * 52  u32  length of the payload (0 for type 3)
 * 56  u32  CRC32C of the payload; 0 for a WRITE or COPY, whose head has the checksums of its blocks
 * 60  u32  0
 * 64       head of the operation (DataOpFormat), of a LEARNER: LearnerStepFormat
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
    public static final int LEARNER = 5;

    public static final int EXTENT_BYTES = 16;

    private static final int CRC_OFFSET = 0;
    private static final int LENGTH_OFFSET = 4;
    private static final int SALT_OFFSET = 8;
    private static final int LSN_OFFSET = 16;
    private static final int EPOCH_OFFSET = 24;
    private static final int SEQUENCE_OFFSET = 32;
    private static final int PG_OFFSET = 40;
    private static final int TYPE_OFFSET = 44;
    private static final int EXTENTS_OFFSET = 46;
    private static final int HEAD_LENGTH_OFFSET = 48;
    private static final int PAYLOAD_LENGTH_OFFSET = 52;
    private static final int PAYLOAD_CRC_OFFSET = 56;
    private static final int RESERVED_OFFSET = 60;

    private static final int EXTENT_FIRST_OFFSET = 0;
    private static final int EXTENT_COUNT_OFFSET = 8;
    private static final int EXTENT_RESERVED_OFFSET = 12;

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
            b.putLong(next + EXTENT_FIRST_OFFSET, run.first());
            b.putInt(next + EXTENT_COUNT_OFFSET, run.count());
            b.putInt(next + EXTENT_RESERVED_OFFSET, 0);
            next += EXTENT_BYTES;
        }
    }

    /** Of an intact record at the offset. */
    static List<BlockRun> decodeExtents(ByteBuffer b, int at, Header h) {
        List<BlockRun> extents = new ArrayList<>(h.extents());
        int next = at + BYTES + h.headLength();
        for (int i = 0; i < h.extents(); i++) {
            extents.add(
                    new BlockRun(
                            b.getLong(next + EXTENT_FIRST_OFFSET),
                            b.getInt(next + EXTENT_COUNT_OFFSET)));
            next += EXTENT_BYTES;
        }
        return extents;
    }

    static int aligned(int length) {
        return (length + 7) & ~7;
    }

    /** Writes all but salt and checksum, which are known when the batch gets its segment. */
    static void encode(ByteBuffer b, int at, Header h) {
        b.putInt(at + LENGTH_OFFSET, h.length());
        b.putLong(at + LSN_OFFSET, h.lsn());
        b.putLong(at + EPOCH_OFFSET, h.epoch());
        b.putLong(at + SEQUENCE_OFFSET, h.sequence());
        b.putInt(at + PG_OFFSET, h.pg());
        b.putShort(at + TYPE_OFFSET, (short) h.type());
        b.putShort(at + EXTENTS_OFFSET, (short) h.extents());
        b.putInt(at + HEAD_LENGTH_OFFSET, h.headLength());
        b.putInt(at + PAYLOAD_LENGTH_OFFSET, h.payloadLength());
        b.putInt(at + PAYLOAD_CRC_OFFSET, h.payloadCrc());
        b.putInt(at + RESERVED_OFFSET, 0);
    }

    /** Completes the record at the offset and returns its length with the filling. */
    static int seal(ByteBuffer b, int at, long salt) {
        b.putLong(at + SALT_OFFSET, salt);
        int length = b.getInt(at + LENGTH_OFFSET);
        b.putInt(at + CRC_OFFSET, crc(b, at, length - b.getInt(at + PAYLOAD_LENGTH_OFFSET)));
        return aligned(length);
    }

    /** Null if there is no intact record of the salt at the offset, ending before the limit. */
    static @Nullable Header decode(ByteBuffer b, int at, int limit, long salt) {
        if (limit - at < BYTES || b.getLong(at + SALT_OFFSET) != salt) {
            return null;
        }
        Header h =
                new Header(
                        b.getLong(at + LSN_OFFSET),
                        b.getLong(at + EPOCH_OFFSET),
                        b.getLong(at + SEQUENCE_OFFSET),
                        b.getInt(at + PG_OFFSET),
                        b.getShort(at + TYPE_OFFSET),
                        Short.toUnsignedInt(b.getShort(at + EXTENTS_OFFSET)),
                        b.getInt(at + HEAD_LENGTH_OFFSET),
                        b.getInt(at + PAYLOAD_LENGTH_OFFSET),
                        b.getInt(at + PAYLOAD_CRC_OFFSET));
        int length = b.getInt(at + LENGTH_OFFSET);
        if (h.headLength() < 0
                || h.headLength() > limit
                || h.payloadLength() < 0
                || h.payloadLength() > limit
                || length != h.length()
                || length > limit - at) {
            return null;
        }
        return b.getInt(at + CRC_OFFSET) == crc(b, at, length - h.payloadLength()) ? h : null;
    }

    /** Of header, head and extents, behind the checksum itself. */
    private static int crc(ByteBuffer b, int at, int lengthWithoutPayload) {
        return Crc.of(b, at + LENGTH_OFFSET, lengthWithoutPayload - LENGTH_OFFSET);
    }
}
