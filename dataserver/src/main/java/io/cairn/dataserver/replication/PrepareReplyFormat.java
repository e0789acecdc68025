package io.cairn.dataserver.replication;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/**
 * Head of the reply to {@code PG_PREPARE}, little-endian; no payload.
 *
 * <pre>
 *  0              8              16                    24            28            32
 *  ├ u64 PG epoch ┼ u64 sequence ┼ u64 admissible ─────┼ u32 outcome ┼ u32 reserved ┤
 * </pre>
 *
 * Outcome 0: everything up to the sequence is durable here. Outcome 1: the prepare does not follow
 * what is here; the primary goes on after the sequence. Admissible: bytes this disk still takes.
 */
public final class PrepareReplyFormat {
    public static final int LENGTH = 32;

    private static final int DURABLE = 0;
    private static final int GAP = 1;

    /** What a backup answered. */
    public record Reply(long pgEpoch, long sequence, long admissibleBytes, boolean gap) {}

    private PrepareReplyFormat() {}

    public static void write(Reply r, ByteBuf out) {
        out.writeLongLE(r.pgEpoch());
        out.writeLongLE(r.sequence());
        out.writeLongLE(r.admissibleBytes());
        out.writeIntLE(r.gap() ? GAP : DURABLE);
        out.writeIntLE(0);
    }

    /** Throws FsException EPROTO when it is no such reply. */
    public static Reply read(ByteBuf in) {
        if (in.readableBytes() < LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "prepare reply of " + in.readableBytes() + " bytes");
        }
        int at = in.readerIndex();
        int outcome = in.getIntLE(at + 24);
        if (outcome != DURABLE && outcome != GAP) {
            throw new FsException(Errno.EPROTO, "prepare reply with outcome " + outcome);
        }
        return new Reply(
                in.getLongLE(at), in.getLongLE(at + 8), in.getLongLE(at + 16), outcome == GAP);
    }
}
