package io.cairn.common.data;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Layout of the payload of TRUNCATE_INODE. Little-endian. Described in {@code
 * docs/formats/data.md}.
 *
 * <pre>
 *   0  u64 size   8  u32 stripeUnit   12  u32 stripeCount   16  u32 chunkSize   20  u32 zero
 * </pre>
 *
 * Stateless.
 */
public final class TruncateInodeFormat {
    public static final int LENGTH = 24;

    private static final int SIZE_OFFSET = 0;
    private static final int STRIPE_UNIT_OFFSET = 8;
    private static final int STRIPE_COUNT_OFFSET = 12;
    private static final int CHUNK_SIZE_OFFSET = 16;
    private static final int RESERVED_OFFSET = 20;

    private TruncateInodeFormat() {}

    /** Appends the payload. */
    public static void encode(TruncateInode truncation, ByteBuf to) {
        to.ensureWritable(LENGTH);
        int at = to.writerIndex();
        to.setLongLE(at + SIZE_OFFSET, truncation.size());
        to.setIntLE(at + STRIPE_UNIT_OFFSET, truncation.stripeUnit());
        to.setIntLE(at + STRIPE_COUNT_OFFSET, truncation.stripeCount());
        to.setIntLE(at + CHUNK_SIZE_OFFSET, truncation.chunkSize());
        to.setIntLE(at + RESERVED_OFFSET, 0);
        to.writerIndex(at + LENGTH);
    }

    /**
     * Reads the whole payload; the indices stay.
     *
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static TruncateInode decode(ByteBuf payload) {
        if (payload.readableBytes() != LENGTH) {
            throw Malformed.of(
                    "truncation", payload.readableBytes() + " bytes instead of " + LENGTH);
        }
        int at = payload.readerIndex();
        var truncation =
                new TruncateInode(
                        payload.getLongLE(at + SIZE_OFFSET),
                        payload.getIntLE(at + STRIPE_UNIT_OFFSET),
                        payload.getIntLE(at + STRIPE_COUNT_OFFSET),
                        payload.getIntLE(at + CHUNK_SIZE_OFFSET));
        if (truncation.size() < 0 || payload.getIntLE(at + RESERVED_OFFSET) != 0) {
            throw Malformed.of("truncation", "size or reserved bytes are out of range");
        }
        @Nullable String wrong =
                FileLayouts.problem(
                        truncation.stripeUnit(), truncation.stripeCount(), truncation.chunkSize());
        if (wrong != null) {
            throw Malformed.of("truncation", wrong);
        }
        return truncation;
    }
}
