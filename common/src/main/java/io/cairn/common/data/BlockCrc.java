package io.cairn.common.data;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * CRC32C of a chunk's bytes, one per 4 KiB-aligned block of the chunk that they touch; for a block
 * touched in part, of that part. Computed once by the client, verified by each replica and kept as
 * they are. Any thread.
 */
public final class BlockCrc {
    /** Unit of checksums, and of allocation on disk. */
    public static final int BLOCK_BYTES = 4096;

    private static final int[] NONE = new int[0];
    private static final ThreadLocal<CRC32C> CRC = ThreadLocal.withInitial(CRC32C::new);

    private BlockCrc() {}

    /**
     * Blocks that a range of a chunk touches; 0 for an empty range.
     *
     * @param offset within the chunk, not negative
     * @param length not negative
     */
    public static int count(int offset, int length) {
        if (length == 0) {
            return 0;
        }
        return (int) (((long) offset + length - 1) / BLOCK_BYTES) - offset / BLOCK_BYTES + 1;
    }

    /**
     * @param data the readable bytes; indices stay
     * @param offset of the first of them within the chunk
     */
    public static int[] compute(ByteBuf data, int offset) {
        return compute(data.nioBuffer(), offset);
    }

    /**
     * @param data the remaining bytes; position and limit stay
     * @param offset of the first of them within the chunk
     */
    public static int[] compute(ByteBuffer data, int offset) {
        int count = count(offset, data.remaining());
        if (count == 0) {
            return NONE;
        }
        int[] crcs = new int[count];
        var walk = new Walk(data, offset);
        for (int i = 0; i < count; i++) {
            crcs[i] = walk.next();
        }
        return crcs;
    }

    /**
     * Index of the first block whose checksum differs, -1 if all are right. A wrong number of
     * checksums counts as a difference.
     *
     * @param data the readable bytes; indices stay
     * @param offset of the first of them within the chunk
     */
    public static int firstMismatch(ByteBuf data, int offset, int[] expected) {
        return firstMismatch(data.nioBuffer(), offset, expected);
    }

    /** As for a ByteBuf; position and limit of the data stay. */
    public static int firstMismatch(ByteBuffer data, int offset, int[] expected) {
        int count = count(offset, data.remaining());
        var walk = new Walk(data, offset);
        for (int i = 0; i < Math.min(count, expected.length); i++) {
            if (walk.next() != expected[i]) {
                return i;
            }
        }
        return count == expected.length ? -1 : Math.min(count, expected.length);
    }

    /** CRC32C of the remaining bytes; position and limit stay. */
    public static int of(ByteBuffer bytes) {
        CRC32C crc = CRC.get();
        crc.reset();
        crc.update(bytes.duplicate());
        return (int) crc.getValue();
    }

    /** Goes over the data block by block. */
    private static final class Walk {
        private final ByteBuffer view;
        private final int end;
        private final CRC32C crc = CRC.get();
        private int toBlockEnd;

        Walk(ByteBuffer data, int offset) {
            view = data.duplicate();
            end = view.limit();
            toBlockEnd = BLOCK_BYTES - offset % BLOCK_BYTES;
        }

        int next() {
            view.limit((int) Math.min(end, (long) view.position() + toBlockEnd));
            crc.reset();
            crc.update(view);
            toBlockEnd = BLOCK_BYTES;
            return (int) crc.getValue();
        }
    }
}
