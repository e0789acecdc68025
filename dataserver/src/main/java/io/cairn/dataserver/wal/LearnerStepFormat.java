package io.cairn.dataserver.wal;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.layout.FileLayouts;
import io.cairn.dataserver.wal.LearnerStep.Completed;
import io.cairn.dataserver.wal.LearnerStep.CopiedTo;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import io.cairn.dataserver.wal.LearnerStep.CopyInode;
import io.cairn.dataserver.wal.LearnerStep.Reset;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Layout of the head of a LEARNER record, little-endian. A field that the kind does not have is 0.
 *
 * <pre>
 *  0 u8  version, 2
 *  1 u8  kind: 1 RESET, 2 COMPLETED, 3 COPY, 4 COPY_INODE, 5 COPIED_TO
 *  2 u8  flags: COPY: 1 the chunk begins anew, 2 it ends; COPY_INODE: 4 all chunks are removed;
 *        RESET: 8 something had been copied
 *  3 u8  0
 *  4 i32 chunk (COPY); of the key (COPIED_TO, RESET with flag 8)
 *  8 u64 number of the step
 * 16 u64 inode (COPY, COPY_INODE); of the key (COPIED_TO, RESET with flag 8)
 * 24 u64 truncate sequence (COPY that ends, COPY_INODE); RESET: the complete sequence
 * 32 u64 epoch of the chunk's last operation (COPY that ends)
 * 40 u64 its sequence; RESET with flag 8: the complete sequence of what is up to the key
 * 48 u32 length of the chunk (COPY that ends)
 * 52 u32 offset of the bytes within the chunk (COPY)
 * 56 u32 number of checksums (COPY)
 * 60 u32 length to which the chunk is cut before (COPY where the chunk begins)
 * 64     CRC32C u32 of each block of the bytes
 * </pre>
 *
 * Version 1 has the checksums at 60: its copies begin with nothing of what was there. So what a
 * learner of that version calls complete may be gone: its RESET is read as of 0.
 *
 * <p>Payload: COPY the bytes; RESET the answered numbers (AnsweredFormat); others none.
 */
final class LearnerStepFormat {
    static final int FIXED_BYTES = 64;

    private static final int VERSION = 2;
    private static final int VERSION_1 = 1;
    private static final int FIXED_BYTES_1 = 60;
    private static final int RESET = 1;
    private static final int COMPLETED = 2;
    private static final int COPY = 3;
    private static final int COPY_INODE = 4;
    private static final int COPIED_TO = 5;
    private static final int BEGINS = 1;
    private static final int ENDS = 2;
    private static final int CLEARS = 4;
    private static final int SOME_COPIED = 8;

    private static final int VERSION_OFFSET = 0;
    private static final int KIND_OFFSET = 1;
    private static final int FLAGS_OFFSET = 2;
    private static final int RESERVED_OFFSET = 3;
    private static final int CHUNK_OFFSET = 4;
    private static final int NUMBER_OFFSET = 8;
    private static final int INODE_OFFSET = 16;
    private static final int TRUNCATE_SEQUENCE_OFFSET = 24;
    private static final int COPIED_EPOCH_OFFSET = 32;
    private static final int COPIED_SEQUENCE_OFFSET = 40;
    private static final int LENGTH_OFFSET = 48;
    private static final int OFFSET_OFFSET = 52;
    private static final int CRCS_OFFSET = 56;
    private static final int CUT_OFFSET = 60;
    private static final int CRC_BYTES = 4;

    private static final int[] NO_CRCS = {};

    private LearnerStepFormat() {}

    /** A step and what stands for it where operations are expected. */
    record Decoded(LearnerStep step, DataOp op) {}

    static int encodedLength(DataOp op) {
        return FIXED_BYTES + op.blockCrcs().length * CRC_BYTES;
    }

    /** Fills a buffer of the length, of any byte order. */
    static void encode(LearnerStep step, DataOp op, ByteBuffer target) {
        ByteBuffer b = target.slice().order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < FIXED_BYTES; i++) {
            b.put(i, (byte) 0);
        }
        b.put(VERSION_OFFSET, (byte) VERSION);
        b.put(KIND_OFFSET, (byte) kind(step));
        b.putLong(NUMBER_OFFSET, step.number());
        switch (step) {
            case Reset r -> encode(r.content(), b);
            case Completed _ -> {}
            case CopiedTo to ->
                    b.putLong(INODE_OFFSET, to.inode()).putInt(CHUNK_OFFSET, to.chunk());
            case Copy c -> encode(c, op, b);
            case CopyInode i -> {
                b.put(FLAGS_OFFSET, (byte) (i.clears() ? CLEARS : 0));
                b.putLong(INODE_OFFSET, op.inode());
                b.putLong(TRUNCATE_SEQUENCE_OFFSET, op.truncateSequence());
            }
        }
    }

    private static int kind(LearnerStep step) {
        return switch (step) {
            case Reset _ -> RESET;
            case Completed _ -> COMPLETED;
            case CopiedTo _ -> COPIED_TO;
            case Copy _ -> COPY;
            case CopyInode _ -> COPY_INODE;
        };
    }

    private static void encode(Completeness content, ByteBuffer b) {
        b.putLong(TRUNCATE_SEQUENCE_OFFSET, content.sequence());
        if (content.hasCopied()) {
            b.put(FLAGS_OFFSET, (byte) SOME_COPIED);
            b.putLong(INODE_OFFSET, content.copiedInode());
            b.putInt(CHUNK_OFFSET, content.copiedChunk());
            b.putLong(COPIED_SEQUENCE_OFFSET, content.copiedSequence());
        }
    }

    private static void encode(Copy c, DataOp op, ByteBuffer b) {
        CopyEnd end = c.end();
        b.put(FLAGS_OFFSET, (byte) ((c.begins() ? BEGINS : 0) | (end == null ? 0 : ENDS)));
        b.putInt(CHUNK_OFFSET, op.chunk());
        b.putLong(INODE_OFFSET, op.inode());
        if (end != null) {
            b.putLong(TRUNCATE_SEQUENCE_OFFSET, end.truncateSequence());
            b.putLong(COPIED_EPOCH_OFFSET, end.epoch());
            b.putLong(COPIED_SEQUENCE_OFFSET, end.sequence());
            b.putInt(LENGTH_OFFSET, end.lengthBytes());
        }
        b.putInt(OFFSET_OFFSET, op.offset());
        b.putInt(CRCS_OFFSET, op.blockCrcs().length);
        b.putInt(CUT_OFFSET, c.cutTo());
        int next = FIXED_BYTES;
        for (int crc : op.blockCrcs()) {
            b.putInt(next, crc);
            next += CRC_BYTES;
        }
    }

    /**
     * Null if these bytes cannot be the head of a step: a newer program wrote them.
     *
     * @param head all of it
     */
    static @Nullable Decoded decode(ByteBuffer head, int pg, int payloadLength) {
        ByteBuffer b = head.slice().order(ByteOrder.LITTLE_ENDIAN);
        int fixed = fixedBytes(b);
        if (b.limit() < fixed || b.get(RESERVED_OFFSET) != 0 || b.getLong(NUMBER_OFFSET) <= 0) {
            return null;
        }
        long number = b.getLong(NUMBER_OFFSET);
        int crcs = b.getInt(CRCS_OFFSET);
        int cutTo = fixed == FIXED_BYTES ? b.getInt(CUT_OFFSET) : 0;
        if (crcs < 0
                || b.limit() != fixed + (long) crcs * CRC_BYTES
                || (cutTo != 0 && b.get(KIND_OFFSET) != COPY)) {
            return null;
        }
        int flags = b.get(FLAGS_OFFSET);
        long value = b.getLong(TRUNCATE_SEQUENCE_OFFSET);
        return switch (b.get(KIND_OFFSET)) {
            case RESET ->
                    (flags & ~SOME_COPIED) == 0
                                    && crcs == 0
                                    && value >= 0
                                    && b.getLong(COPIED_SEQUENCE_OFFSET) >= 0
                            ? new Decoded(
                                    new Reset(
                                            number,
                                            fixed == FIXED_BYTES
                                                    ? content(b, value)
                                                    : Completeness.NOTHING),
                                    LearnerStep.none(pg))
                            : null;
            case COMPLETED ->
                    flags == 0 && crcs == 0 && payloadLength == 0
                            ? new Decoded(new Completed(number), LearnerStep.none(pg))
                            : null;
            case COPIED_TO ->
                    flags == 0 && crcs == 0 && payloadLength == 0
                            ? new Decoded(
                                    new CopiedTo(
                                            number,
                                            b.getLong(INODE_OFFSET),
                                            b.getInt(CHUNK_OFFSET)),
                                    LearnerStep.none(pg))
                            : null;
            case COPY -> copy(b, pg, payloadLength, number, flags, cutTo);
            case COPY_INODE ->
                    (flags & ~CLEARS) == 0 && crcs == 0 && payloadLength == 0 && value >= 0
                            ? new Decoded(
                                    new CopyInode(number, flags == CLEARS),
                                    LearnerStep.copiedInode(pg, b.getLong(INODE_OFFSET), value))
                            : null;
            default -> null;
        };
    }

    /** Of the version; more than there can be if it is not known. */
    private static int fixedBytes(ByteBuffer b) {
        int version = b.hasRemaining() ? b.get(VERSION_OFFSET) : 0;
        return switch (version) {
            case VERSION -> FIXED_BYTES;
            case VERSION_1 -> FIXED_BYTES_1;
            default -> Integer.MAX_VALUE;
        };
    }

    private static @Nullable Decoded copy(
            ByteBuffer b, int pg, int payloadLength, long number, int flags, int cutTo) {
        int chunk = b.getInt(CHUNK_OFFSET);
        int offset = b.getInt(OFFSET_OFFSET);
        CopyEnd end = (flags & ENDS) == 0 ? null : end(b);
        int[] crcs = crcs(b);
        boolean begins = (flags & BEGINS) != 0;
        boolean possible =
                (flags & ~(BEGINS | ENDS)) == 0
                        && chunk >= 0
                        && offset >= 0
                        && (long) offset + payloadLength <= FileLayouts.MAX_CHUNK_SIZE
                        && LearnerStep.isAligned(offset, payloadLength, end)
                        && cutTo >= 0
                        && cutTo <= (begins ? FileLayouts.MAX_CHUNK_SIZE : 0)
                        && crcs.length == BlockCrc.count(offset, payloadLength)
                        && (end == null || isPossible(end, offset, payloadLength));
        DataOp op =
                LearnerStep.copied(
                        pg, b.getLong(INODE_OFFSET), chunk, offset, payloadLength, end, crcs);
        return possible ? new Decoded(new Copy(number, begins, cutTo, end), op) : null;
    }

    private static Completeness content(ByteBuffer b, long sequence) {
        return (b.get(FLAGS_OFFSET) & SOME_COPIED) == 0
                ? Completeness.upTo(sequence)
                : new Completeness(
                        sequence,
                        b.getLong(INODE_OFFSET),
                        b.getInt(CHUNK_OFFSET),
                        b.getLong(COPIED_SEQUENCE_OFFSET));
    }

    private static CopyEnd end(ByteBuffer b) {
        return new CopyEnd(
                b.getLong(COPIED_EPOCH_OFFSET),
                b.getLong(COPIED_SEQUENCE_OFFSET),
                b.getLong(TRUNCATE_SEQUENCE_OFFSET),
                b.getInt(LENGTH_OFFSET));
    }

    private static boolean isPossible(CopyEnd end, int offset, int length) {
        return end.truncateSequence() >= 0
                && end.lengthBytes() >= 0
                && end.lengthBytes() <= FileLayouts.MAX_CHUNK_SIZE
                && (length == 0 || offset + length <= end.lengthBytes());
    }

    private static int[] crcs(ByteBuffer b) {
        int count = b.getInt(CRCS_OFFSET);
        if (count == 0) {
            return NO_CRCS;
        }
        int[] crcs = new int[count];
        for (int i = 0; i < count; i++) {
            crcs[i] = b.getInt(b.limit() - (count - i) * CRC_BYTES);
        }
        return crcs;
    }
}
