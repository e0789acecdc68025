package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;

/**
 * Head of {@code PG_PREPARE}, little-endian; the frame's payload is the operation's payload.
 *
 * <pre>
 *  0        4             8                    16                   24
 *  ├ u32 pg ┼ u32 disk ───┼ u64 PG epoch ──────┼ u64 entry epoch ───┤
 * 24                     32                    40                   48
 *  ├ u64 previous epoch ──┼ u64 sequence ──────┼ u64 committed ─────┤
 * 48
 *  ├ head of the operation (DataOpFormat) ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┤
 * </pre>
 *
 * The PG epoch is that of the sending primary; the entry's own epoch is older when the operation is
 * sent again after peering. The previous epoch is that of the operation before this one.
 */
public final class PrepareFormat {
    public static final int FIXED_LENGTH = 48;

    private static final int PG_OFFSET = 0;
    private static final int DISK_OFFSET = 4;
    private static final int PG_EPOCH_OFFSET = 8;
    private static final int EPOCH_OFFSET = 16;
    private static final int PREVIOUS_EPOCH_OFFSET = 24;
    private static final int SEQUENCE_OFFSET = 32;
    private static final int COMMITTED_OFFSET = 40;

    private PrepareFormat() {}

    public static int encodedLength(Prepare p) {
        return FIXED_LENGTH + DataOpFormat.encodedLength(p.entry().op());
    }

    /** Appends the head. */
    public static void encode(Prepare p, ByteBuf to) {
        PgLogEntry entry = p.entry();
        to.ensureWritable(encodedLength(p));
        int at = to.writerIndex();
        to.setIntLE(at + PG_OFFSET, entry.pg());
        to.setIntLE(at + DISK_OFFSET, p.targetDisk());
        to.setLongLE(at + PG_EPOCH_OFFSET, p.pgEpoch());
        to.setLongLE(at + EPOCH_OFFSET, entry.epoch());
        to.setLongLE(at + PREVIOUS_EPOCH_OFFSET, p.previousEpoch());
        to.setLongLE(at + SEQUENCE_OFFSET, entry.sequence());
        to.setLongLE(at + COMMITTED_OFFSET, p.committedSequence());
        to.writerIndex(at + FIXED_LENGTH);
        DataOpFormat.encode(entry.op(), to);
    }

    /**
     * Reads the whole head; the indices stay.
     *
     * @param payload becomes the entry's, not retained
     * @throws FsException EPROTO when the head is no prepare
     */
    public static Prepare decode(ByteBuf head, ByteBuf payload) {
        if (head.readableBytes() < FIXED_LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "prepare of " + head.readableBytes() + " bytes is too short");
        }
        int at = head.readerIndex();
        int pg = head.getIntLE(at + PG_OFFSET);
        long pgEpoch = head.getLongLE(at + PG_EPOCH_OFFSET);
        long epoch = head.getLongLE(at + EPOCH_OFFSET);
        long previousEpoch = head.getLongLE(at + PREVIOUS_EPOCH_OFFSET);
        long sequence = head.getLongLE(at + SEQUENCE_OFFSET);
        long committed = head.getLongLE(at + COMMITTED_OFFSET);
        DataOp op = DataOpFormat.decode(head.duplicate().skipBytes(FIXED_LENGTH));
        boolean consistent =
                op.pg() == pg
                        && sequence > 0
                        && epoch > 0
                        && epoch <= pgEpoch
                        && previousEpoch >= 0
                        && previousEpoch <= epoch
                        && committed >= 0;
        if (!consistent) {
            throw new FsException(
                    Errno.EPROTO,
                    "prepare of operation (%d, %d) of placement group %x contradicts itself"
                            .formatted(epoch, sequence, pg));
        }
        return new Prepare(
                head.getIntLE(at + DISK_OFFSET),
                pgEpoch,
                previousEpoch,
                committed,
                new PgLogEntry(epoch, sequence, op, payload));
    }
}
