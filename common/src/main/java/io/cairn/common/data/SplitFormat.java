package io.cairn.common.data;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.netty.buffer.ByteBuf;

/**
 * Layout of the payload of SPLIT. Little-endian. Described in {@code docs/formats/data.md}.
 *
 * <pre>
 *   0  u32 child   4  u32 base   8  u64 epoch
 * </pre>
 *
 * Stateless.
 */
public final class SplitFormat {
    public static final int LENGTH = 16;

    private static final int CHILD_OFFSET = 0;
    private static final int BASE_OFFSET = 4;
    private static final int EPOCH_OFFSET = 8;

    private SplitFormat() {}

    /** Appends the payload. */
    public static void encode(Split split, ByteBuf to) {
        to.ensureWritable(LENGTH);
        int at = to.writerIndex();
        to.setIntLE(at + CHILD_OFFSET, split.child());
        to.setIntLE(at + BASE_OFFSET, split.base());
        to.setLongLE(at + EPOCH_OFFSET, split.epoch());
        to.writerIndex(at + LENGTH);
    }

    /**
     * Reads the whole payload; the indices stay.
     *
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static Split decode(ByteBuf payload) {
        if (payload.readableBytes() != LENGTH) {
            throw Malformed.of("split", payload.readableBytes() + " bytes instead of " + LENGTH);
        }
        int at = payload.readerIndex();
        Split split =
                new Split(
                        payload.getIntLE(at + CHILD_OFFSET),
                        payload.getIntLE(at + BASE_OFFSET),
                        payload.getLongLE(at + EPOCH_OFFSET));
        if (split.base() < 1 || split.base() > PgHash.indexOf(split.child()) || split.epoch() < 1) {
            throw Malformed.of("split", split + " is out of range");
        }
        return split;
    }
}
