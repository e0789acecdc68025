package io.cairn.dataserver.replication;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/**
 * Head of the reply to {@code PG_PREPARE}, little-endian; no payload.
 *
 * <pre>
 *  0              8              16                    24            28            32
 *  ├ u64 PG epoch ┼ u64 sequence ┼ u64 admissible ─────┼ u32 outcome ┼ u32 flags ────┤
 * </pre>
 *
 * Outcome 0: everything up to the sequence is durable here. Outcome 1: the prepare does not follow
 * what is here; the primary goes on after the sequence. Admissible: bytes this disk still takes.
 * Flag 1: the disk is growing, so a write that finds no room will find some soon; the other bits
 * are 0 and ignored.
 */
public final class PrepareReplyFormat {
    public static final int LENGTH = 32;

    private static final int PG_EPOCH_OFFSET = 0;
    private static final int SEQUENCE_OFFSET = 8;
    private static final int ADMISSIBLE_OFFSET = 16;
    private static final int OUTCOME_OFFSET = 24;
    private static final int FLAGS_OFFSET = 28;

    private static final int DURABLE = 0;
    private static final int GAP = 1;

    private static final int GROWING = 1;

    /** What a backup answered. */
    public record Reply(long pgEpoch, long sequence, DiskSpace space, boolean gap) {}

    private PrepareReplyFormat() {}

    /** Appends the head. */
    public static void encode(Reply r, ByteBuf to) {
        to.ensureWritable(LENGTH);
        int at = to.writerIndex();
        to.setLongLE(at + PG_EPOCH_OFFSET, r.pgEpoch());
        to.setLongLE(at + SEQUENCE_OFFSET, r.sequence());
        to.setLongLE(at + ADMISSIBLE_OFFSET, r.space().admissibleBytes());
        to.setIntLE(at + OUTCOME_OFFSET, r.gap() ? GAP : DURABLE);
        to.setIntLE(at + FLAGS_OFFSET, r.space().growing() ? GROWING : 0);
        to.writerIndex(at + LENGTH);
    }

    /** Reads the head, the indices stay; throws FsException EPROTO when it is no such reply. */
    public static Reply decode(ByteBuf head) {
        if (head.readableBytes() < LENGTH) {
            throw new FsException(
                    Errno.EPROTO, "prepare reply of " + head.readableBytes() + " bytes");
        }
        int at = head.readerIndex();
        int outcome = head.getIntLE(at + OUTCOME_OFFSET);
        if (outcome != DURABLE && outcome != GAP) {
            throw new FsException(Errno.EPROTO, "prepare reply with outcome " + outcome);
        }
        return new Reply(
                head.getLongLE(at + PG_EPOCH_OFFSET),
                head.getLongLE(at + SEQUENCE_OFFSET),
                new DiskSpace(
                        head.getLongLE(at + ADMISSIBLE_OFFSET),
                        (head.getIntLE(at + FLAGS_OFFSET) & GROWING) != 0),
                outcome == GAP);
    }
}
