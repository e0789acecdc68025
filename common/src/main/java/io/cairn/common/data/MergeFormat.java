package io.cairn.common.data;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.netty.buffer.ByteBuf;

/**
 * Layout of the payload of MERGE. Little-endian. Described in {@code docs/formats/data.md}.
 *
 * <pre>
 *   0  u32 child   4  u32 base   8  u64 epoch   16  u64 childEpoch   24  u64 childSequence
 * </pre>
 *
 * Stateless.
 */
public final class MergeFormat {
    public static final int LENGTH = 32;

    private static final int CHILD_OFFSET = 0;
    private static final int BASE_OFFSET = 4;
    private static final int EPOCH_OFFSET = 8;
    private static final int CHILD_EPOCH_OFFSET = 16;
    private static final int CHILD_SEQUENCE_OFFSET = 24;

    private MergeFormat() {}

    /** Appends the payload. */
    public static void encode(Merge merge, ByteBuf to) {
        to.ensureWritable(LENGTH);
        int at = to.writerIndex();
        to.setIntLE(at + CHILD_OFFSET, merge.child());
        to.setIntLE(at + BASE_OFFSET, merge.base());
        to.setLongLE(at + EPOCH_OFFSET, merge.epoch());
        to.setLongLE(at + CHILD_EPOCH_OFFSET, merge.childEpoch());
        to.setLongLE(at + CHILD_SEQUENCE_OFFSET, merge.childSequence());
        to.writerIndex(at + LENGTH);
    }

    /**
     * Reads the whole payload; the indices stay.
     *
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static Merge decode(ByteBuf payload) {
        if (payload.readableBytes() != LENGTH) {
            throw Malformed.of("merge", payload.readableBytes() + " bytes instead of " + LENGTH);
        }
        int at = payload.readerIndex();
        Merge merge =
                new Merge(
                        payload.getIntLE(at + CHILD_OFFSET),
                        payload.getIntLE(at + BASE_OFFSET),
                        payload.getLongLE(at + EPOCH_OFFSET),
                        payload.getLongLE(at + CHILD_EPOCH_OFFSET),
                        payload.getLongLE(at + CHILD_SEQUENCE_OFFSET));
        if (merge.base() < 1
                || merge.base() > PgHash.indexOf(merge.child())
                || merge.epoch() < 1
                || merge.childEpoch() < merge.epoch()
                || merge.childSequence() < 1) {
            throw Malformed.of("merge", merge + " is out of range");
        }
        return merge;
    }
}
