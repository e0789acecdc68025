package io.cairn.dataserver.service;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/**
 * Head of {@code PG_READ}, with which a primary reads from a backup what is damaged on its own
 * disk; little-endian, no payload. The reply is that of DATA_READ.
 *
 * <pre>
 *  0          4              8              16
 *  ├ u32 disk ┼ u32 reserved ┼ u64 PG epoch ┼ head of the read (DataOpFormat) ─ ─ ┤
 * </pre>
 */
final class PgReadFormat {
    static final int FIXED_LENGTH = 16;

    private static final int DISK_OFFSET = 0;
    private static final int RESERVED_OFFSET = 4;
    private static final int PG_EPOCH_OFFSET = 8;

    /** A read of one member's replica. */
    record PgRead(int disk, long pgEpoch, DataOp op) {}

    private PgReadFormat() {}

    static int encodedLength(DataOp op) {
        return FIXED_LENGTH + DataOpFormat.encodedLength(op);
    }

    /** Appends the head. */
    static void encode(PgRead read, ByteBuf to) {
        to.ensureWritable(encodedLength(read.op()));
        int at = to.writerIndex();
        to.setIntLE(at + DISK_OFFSET, read.disk());
        to.setIntLE(at + RESERVED_OFFSET, 0);
        to.setLongLE(at + PG_EPOCH_OFFSET, read.pgEpoch());
        to.writerIndex(at + FIXED_LENGTH);
        DataOpFormat.encode(read.op(), to);
    }

    /** Reads the head, the indices stay; throws FsException EPROTO when it is no such head. */
    static PgRead decode(ByteBuf head) {
        if (head.readableBytes() < FIXED_LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "member read of " + head.readableBytes() + " bytes is too short");
        }
        int at = head.readerIndex();
        return new PgRead(
                head.getIntLE(at + DISK_OFFSET),
                head.getLongLE(at + PG_EPOCH_OFFSET),
                DataOpFormat.decode(head.duplicate().skipBytes(FIXED_LENGTH)));
    }
}
