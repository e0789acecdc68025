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
 * The PG epoch is the one the primary speaks in; the entry's own epoch is older when the operation
 * is sent again after peering. The previous epoch is that of the operation before this one.
 */
public final class PrepareFormat {
    public static final int FIXED_LENGTH = 48;

    private PrepareFormat() {}

    public static int length(Prepare p) {
        return FIXED_LENGTH + DataOpFormat.encodedLength(p.entry().op());
    }

    public static void write(Prepare p, ByteBuf out) {
        PgLogEntry entry = p.entry();
        out.writeIntLE(entry.pg());
        out.writeIntLE(p.targetDisk());
        out.writeLongLE(p.pgEpoch());
        out.writeLongLE(entry.epoch());
        out.writeLongLE(p.previousEpoch());
        out.writeLongLE(entry.sequence());
        out.writeLongLE(p.committedSequence());
        DataOpFormat.encode(entry.op(), out);
    }

    /**
     * Reads from a duplicate of the head.
     *
     * @param payload becomes the entry's, not retained
     * @throws FsException EPROTO when the head is no prepare
     */
    public static Prepare read(ByteBuf head, ByteBuf payload) {
        ByteBuf in = head.duplicate();
        if (in.readableBytes() < FIXED_LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "prepare of " + in.readableBytes() + " bytes is too short");
        }
        int pg = in.readIntLE();
        int disk = in.readIntLE();
        long pgEpoch = in.readLongLE();
        long epoch = in.readLongLE();
        long previousEpoch = in.readLongLE();
        long sequence = in.readLongLE();
        long committed = in.readLongLE();
        DataOp op = DataOpFormat.decode(in);
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
                disk,
                pgEpoch,
                previousEpoch,
                committed,
                new PgLogEntry(epoch, sequence, op, payload));
    }
}
