package io.cairn.dataserver.pg;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.data.TruncateInodeFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/** What a data request must satisfy before replication sees it. Stateless. */
public final class Requests {
    /** Longest read or write, bytes. */
    public static final int MAX_IO_BYTES = 4 << 20;

    private Requests() {}

    /** Throws FsException when a client may not ask this. */
    public static void checkClient(DataOp op, DataOpType type) {
        if (op.type() != type) {
            throw new FsException(Errno.EPROTO, "a " + op.type() + " sent as a " + type);
        }
        if (op.session() == 0 || op.inode() == 0) {
            throw new FsException(Errno.EINVAL, "a request without session or inode");
        }
        if (type == DataOpType.WRITE && op.number() <= 0) {
            throw new FsException(Errno.EINVAL, "a write without a number");
        }
        if (op.length() > MAX_IO_BYTES) {
            throw new FsException(Errno.EINVAL, "a request of " + op.length() + " bytes");
        }
    }

    /** Throws FsException EBADMSG when the payload is not what its head says. */
    public static void checkPayload(DataOp op, ByteBuf payload) {
        if (payload.readableBytes() != op.length()) {
            throw new FsException(
                    Errno.EBADMSG,
                    "a payload of %d bytes where %d were announced"
                            .formatted(payload.readableBytes(), op.length()));
        }
        switch (op.type()) {
            case WRITE -> {
                if (BlockCrc.firstMismatch(payload, op.offset(), op.blockCrcs()) >= 0) {
                    throw new FsException(
                            Errno.EBADMSG, "a payload that does not match its checksums");
                }
            }
            case TRUNCATE_INODE -> TruncateInodeFormat.decode(payload);
            case DELETE_INODES -> DeleteInodesFormat.decode(payload);
            case SPLIT -> SplitFormat.decode(payload);
            case MERGE -> MergeFormat.decode(payload);
            case NOOP, READ -> {}
        }
    }
}
