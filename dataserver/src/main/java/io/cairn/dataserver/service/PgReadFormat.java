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

    /** A read of one member's replica. */
    record PgRead(int disk, long pgEpoch, DataOp op) {}

    private PgReadFormat() {}

    static int length(DataOp op) {
        return FIXED_LENGTH + DataOpFormat.encodedLength(op);
    }

    static void write(PgRead read, ByteBuf out) {
        out.writeIntLE(read.disk());
        out.writeIntLE(0);
        out.writeLongLE(read.pgEpoch());
        DataOpFormat.encode(read.op(), out);
    }

    /** Reads from a duplicate; throws FsException EPROTO when it is no such head. */
    static PgRead read(ByteBuf head) {
        ByteBuf in = head.duplicate();
        if (in.readableBytes() < FIXED_LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "member read of " + in.readableBytes() + " bytes is too short");
        }
        int disk = in.readIntLE();
        in.skipBytes(4);
        long pgEpoch = in.readLongLE();
        return new PgRead(disk, pgEpoch, DataOpFormat.decode(in));
    }
}
