package io.cairn.common.data;

import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Layout of a {@link DataOp}: on the wire as the head of DATA_WRITE and DATA_READ and inside
 * PG_PREPARE, on disk in the WAL. Little-endian. Described in {@code docs/formats/data.md}.
 *
 * <pre>
 *   0  u8  version = 1   1  u8  type        2  u16 flags = 0     4  u32 pg
 *   8  u64 session                         16  u64 number
 *  24  u64 ackedBelow                      32  u64 inode
 *  40  u32 chunk                           44  u32 offset
 *  48  u32 length                          52  u16 cutCount     54  u16 crcCount
 *  56  u64 truncateSequence                64  u64 mapEpoch
 *  72  cutCount × { u64 sequence, u32 length, u32 zero }
 *      crcCount × u32 CRC32C
 * </pre>
 *
 * Payloads: WRITE the bytes; TRUNCATE_INODE see {@link TruncateInodeFormat}; DELETE_INODES see
 * {@link DeleteInodesFormat}; SPLIT see {@link SplitFormat}; MERGE see {@link MergeFormat}; others
 * none. Stateless.
 */
public final class DataOpFormat {
    public static final int VERSION = 1;

    /** Length without cuts and checksums. */
    public static final int FIXED_LENGTH = 72;

    public static final int CUT_LENGTH = 16;
    public static final int CRC_LENGTH = 4;
    public static final int MAX_CUTS = 4;

    private static final int VERSION_OFFSET = 0;
    private static final int TYPE_OFFSET = 1;
    private static final int FLAGS_OFFSET = 2;
    private static final int PG_OFFSET = 4;
    private static final int SESSION_OFFSET = 8;
    private static final int NUMBER_OFFSET = 16;
    private static final int ACKED_BELOW_OFFSET = 24;
    private static final int INODE_OFFSET = 32;
    private static final int CHUNK_OFFSET = 40;
    private static final int OFFSET_OFFSET = 44;
    private static final int LENGTH_OFFSET = 48;
    private static final int CUT_COUNT_OFFSET = 52;
    private static final int CRC_COUNT_OFFSET = 54;
    private static final int TRUNCATE_SEQUENCE_OFFSET = 56;
    private static final int MAP_EPOCH_OFFSET = 64;

    private static final int CUT_SEQUENCE_OFFSET = 0;
    private static final int CUT_SIZE_OFFSET = 8;
    private static final int CUT_RESERVED_OFFSET = 12;

    private static final int[] NO_CRCS = new int[0];

    private DataOpFormat() {}

    public static int encodedLength(DataOp op) {
        return FIXED_LENGTH + op.cuts().size() * CUT_LENGTH + op.blockCrcs().length * CRC_LENGTH;
    }

    /**
     * Appends the operation.
     *
     * @throws IllegalArgumentException if it would be refused by {@link #decode}
     */
    public static void encode(DataOp op, ByteBuf to) {
        int length = encodedLength(op);
        to.ensureWritable(length);
        int start = to.writerIndex();
        // The buffer is being written: nobody else uses its internal view.
        ByteBuffer view = to.internalNioBuffer(start, length);
        encode(op, view);
        to.writerIndex(start + length);
    }

    /**
     * Writes the operation at the position, which moves behind it; the byte order does not matter.
     *
     * @throws IllegalArgumentException if it would be refused by {@link #decode}
     */
    public static void encode(DataOp op, ByteBuffer to) {
        @Nullable String wrong = problem(op);
        if (wrong != null) {
            throw new IllegalArgumentException(wrong);
        }
        int at = to.position();
        to.put(at + VERSION_OFFSET, (byte) VERSION);
        to.put(at + TYPE_OFFSET, (byte) op.type().number());
        LittleEndian.putU16(to, at + FLAGS_OFFSET, op.flags());
        LittleEndian.putInt(to, at + PG_OFFSET, op.pg());
        LittleEndian.putLong(to, at + SESSION_OFFSET, op.session());
        LittleEndian.putLong(to, at + NUMBER_OFFSET, op.number());
        LittleEndian.putLong(to, at + ACKED_BELOW_OFFSET, op.ackedBelow());
        LittleEndian.putLong(to, at + INODE_OFFSET, op.inode());
        LittleEndian.putInt(to, at + CHUNK_OFFSET, op.chunk());
        LittleEndian.putInt(to, at + OFFSET_OFFSET, op.offset());
        LittleEndian.putInt(to, at + LENGTH_OFFSET, op.length());
        LittleEndian.putU16(to, at + CUT_COUNT_OFFSET, op.cuts().size());
        LittleEndian.putU16(to, at + CRC_COUNT_OFFSET, op.blockCrcs().length);
        LittleEndian.putLong(to, at + TRUNCATE_SEQUENCE_OFFSET, op.truncateSequence());
        LittleEndian.putLong(to, at + MAP_EPOCH_OFFSET, op.mapEpoch());
        int next = at + FIXED_LENGTH;
        for (int i = 0; i < op.cuts().size(); i++) {
            Cut cut = op.cuts().get(i);
            LittleEndian.putLong(to, next + CUT_SEQUENCE_OFFSET, cut.sequence());
            LittleEndian.putInt(to, next + CUT_SIZE_OFFSET, cut.lengthBytes());
            LittleEndian.putInt(to, next + CUT_RESERVED_OFFSET, 0);
            next += CUT_LENGTH;
        }
        for (int crc : op.blockCrcs()) {
            LittleEndian.putInt(to, next, crc);
            next += CRC_LENGTH;
        }
        to.position(next);
    }

    /**
     * Reads one operation; the reader index moves behind it.
     *
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static DataOp decode(ByteBuf from) {
        ByteBuffer view = from.nioBuffer();
        int start = view.position();
        DataOp op = decode(view);
        from.skipBytes(view.position() - start);
        return op;
    }

    /**
     * Reads one operation; the position moves behind it.
     *
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static DataOp decode(ByteBuffer from) {
        int at = from.position();
        if (from.remaining() < FIXED_LENGTH) {
            throw Malformed.of("data operation", "only " + from.remaining() + " bytes");
        }
        int version = from.get(at + VERSION_OFFSET) & 0xff;
        if (version != VERSION) {
            throw Malformed.of("data operation", "version " + version + " is unknown");
        }
        int cutCount = LittleEndian.getU16(from, at + CUT_COUNT_OFFSET);
        int crcCount = LittleEndian.getU16(from, at + CRC_COUNT_OFFSET);
        int length = FIXED_LENGTH + cutCount * CUT_LENGTH + crcCount * CRC_LENGTH;
        if (cutCount > MAX_CUTS || length > from.remaining()) {
            throw Malformed.of(
                    "data operation",
                    cutCount + " cuts and " + crcCount + " CRCs in " + from.remaining() + " bytes");
        }
        DataOp op =
                new DataOp(
                        type(from.get(at + TYPE_OFFSET) & 0xff),
                        LittleEndian.getU16(from, at + FLAGS_OFFSET),
                        LittleEndian.getInt(from, at + PG_OFFSET),
                        LittleEndian.getLong(from, at + SESSION_OFFSET),
                        LittleEndian.getLong(from, at + NUMBER_OFFSET),
                        LittleEndian.getLong(from, at + ACKED_BELOW_OFFSET),
                        LittleEndian.getLong(from, at + INODE_OFFSET),
                        LittleEndian.getInt(from, at + CHUNK_OFFSET),
                        LittleEndian.getInt(from, at + OFFSET_OFFSET),
                        LittleEndian.getInt(from, at + LENGTH_OFFSET),
                        LittleEndian.getLong(from, at + TRUNCATE_SEQUENCE_OFFSET),
                        LittleEndian.getLong(from, at + MAP_EPOCH_OFFSET),
                        cuts(from, at + FIXED_LENGTH, cutCount),
                        crcs(from, at + FIXED_LENGTH + cutCount * CUT_LENGTH, crcCount));
        @Nullable String wrong = problem(op);
        if (wrong != null) {
            throw Malformed.of("data operation", wrong);
        }
        from.position(at + length);
        return op;
    }

    private static DataOpType type(int number) {
        try {
            return DataOpType.of(number);
        } catch (IllegalArgumentException e) {
            throw Malformed.of("data operation", "type " + number + " is unknown");
        }
    }

    private static List<Cut> cuts(ByteBuffer from, int at, int count) {
        if (count == 0) {
            return List.of();
        }
        var cuts = new Cut[count];
        for (int i = 0; i < count; i++) {
            int start = at + i * CUT_LENGTH;
            if (LittleEndian.getInt(from, start + CUT_RESERVED_OFFSET) != 0) {
                throw Malformed.of("data operation", "reserved bytes of a cut are set");
            }
            cuts[i] =
                    new Cut(
                            LittleEndian.getLong(from, start + CUT_SEQUENCE_OFFSET),
                            LittleEndian.getInt(from, start + CUT_SIZE_OFFSET));
        }
        return List.of(cuts);
    }

    private static int[] crcs(ByteBuffer from, int at, int count) {
        if (count == 0) {
            return NO_CRCS;
        }
        int[] crcs = new int[count];
        for (int i = 0; i < count; i++) {
            crcs[i] = LittleEndian.getInt(from, at + i * CRC_LENGTH);
        }
        return crcs;
    }

    /** What makes an operation impossible, or null. */
    private static @Nullable String problem(DataOp op) {
        if (op.flags() != 0) {
            return "unknown flags " + op.flags();
        }
        return switch (op.type()) {
            case WRITE, READ -> chunkProblem(op);
            case TRUNCATE_INODE -> payloadProblem(op, op.length() == TruncateInodeFormat.LENGTH);
            case DELETE_INODES -> payloadProblem(op, DeleteInodesFormat.validLength(op.length()));
            case NOOP -> payloadProblem(op, op.length() == 0);
            case SPLIT -> payloadProblem(op, op.length() == SplitFormat.LENGTH);
            case MERGE -> payloadProblem(op, op.length() == MergeFormat.LENGTH);
        };
    }

    private static @Nullable String chunkProblem(DataOp op) {
        if (op.chunk() < 0) {
            return "chunk number " + Integer.toUnsignedString(op.chunk()) + " is too large";
        }
        if (op.offset() < 0
                || op.length() <= 0
                || (long) op.offset() + op.length() > FileLayouts.MAX_CHUNK_SIZE) {
            return "range of "
                    + Integer.toUnsignedString(op.length())
                    + " bytes at "
                    + Integer.toUnsignedString(op.offset())
                    + " is empty or outside of any chunk";
        }
        int blocks = op.type() == DataOpType.WRITE ? BlockCrc.count(op.offset(), op.length()) : 0;
        if (op.blockCrcs().length != blocks) {
            return op.blockCrcs().length + " CRCs for " + blocks + " blocks";
        }
        return cutProblem(op);
    }

    private static @Nullable String cutProblem(DataOp op) {
        if (op.cuts().size() > MAX_CUTS) {
            return op.cuts().size() + " cuts";
        }
        long last = 0;
        for (int i = 0; i < op.cuts().size(); i++) {
            Cut cut = op.cuts().get(i);
            if (cut.lengthBytes() < 0 || cut.lengthBytes() > FileLayouts.MAX_CHUNK_SIZE) {
                return "cut to " + Integer.toUnsignedString(cut.lengthBytes()) + " bytes";
            }
            if (cut.sequence() <= last || cut.sequence() > op.truncateSequence()) {
                return "truncate sequences out of order";
            }
            last = cut.sequence();
        }
        return null;
    }

    private static @Nullable String payloadProblem(DataOp op, boolean lengthFits) {
        if (!lengthFits) {
            return Integer.toUnsignedString(op.length()) + " bytes of payload for " + op.type();
        }
        if (op.offset() != 0 || op.chunk() != 0) {
            return op.type() + " at an offset of a chunk";
        }
        if (!op.cuts().isEmpty() || op.blockCrcs().length != 0) {
            return op.type() + " with cuts or CRCs";
        }
        return null;
    }
}
