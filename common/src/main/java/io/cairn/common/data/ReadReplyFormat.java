package io.cairn.common.data;

import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * Layout of the head of the reply to DATA_READ; the payload is the bytes. Little-endian. Described
 * in {@code docs/formats/data.md}.
 *
 * <pre>
 *   0  u32 requestedLength   4  u32 dataLength   8  u32 crcCount
 *  12  crcCount × u32 CRC32C
 * </pre>
 *
 * Stateless.
 */
public final class ReadReplyFormat {
    /** Length without checksums. */
    public static final int FIXED_LENGTH = 12;

    private static final int REQUESTED_LENGTH_OFFSET = 0;
    private static final int DATA_LENGTH_OFFSET = 4;
    private static final int CRC_COUNT_OFFSET = 8;

    private ReadReplyFormat() {}

    public static int encodedLength(ReadReply reply) {
        return FIXED_LENGTH + reply.blockCrcs().length * DataOpFormat.CRC_LENGTH;
    }

    /** Appends the reply. */
    public static void encode(ReadReply reply, ByteBuf to) {
        to.ensureWritable(encodedLength(reply));
        int at = to.writerIndex();
        to.setIntLE(at + REQUESTED_LENGTH_OFFSET, reply.requestedLength());
        to.setIntLE(at + DATA_LENGTH_OFFSET, reply.dataLength());
        to.setIntLE(at + CRC_COUNT_OFFSET, reply.blockCrcs().length);
        to.writerIndex(at + FIXED_LENGTH);
        for (int crc : reply.blockCrcs()) {
            to.writeIntLE(crc);
        }
    }

    /**
     * Reads the whole head and checks that it fits what was asked for and what came with it; the
     * indices stay. The checksums are not verified here.
     *
     * @param offset asked for, within the chunk
     * @param length asked for
     * @param payloadLength bytes received
     * @throws FsException EPROTO saying what is wrong with it
     */
    public static ReadReply decode(ByteBuf head, int offset, int length, int payloadLength) {
        ByteBuffer view = head.nioBuffer();
        int at = view.position();
        if (view.remaining() < FIXED_LENGTH) {
            throw Malformed.of("read reply", "only " + view.remaining() + " bytes");
        }
        int requested = LittleEndian.getInt(view, at + REQUESTED_LENGTH_OFFSET);
        int data = LittleEndian.getInt(view, at + DATA_LENGTH_OFFSET);
        int count = LittleEndian.getInt(view, at + CRC_COUNT_OFFSET);
        if (requested != length || data < 0 || data > length || data != payloadLength) {
            throw Malformed.of(
                    "read reply",
                    String.format(
                            "%d of %d bytes, where %d were asked for and %d came",
                            data, requested, length, payloadLength));
        }
        if (count != BlockCrc.count(offset, data)
                || view.remaining() != FIXED_LENGTH + (long) count * DataOpFormat.CRC_LENGTH) {
            throw Malformed.of(
                    "read reply", count + " CRCs in a head of " + view.remaining() + " bytes");
        }
        int[] crcs = new int[count];
        for (int i = 0; i < count; i++) {
            crcs[i] = LittleEndian.getInt(view, at + FIXED_LENGTH + i * DataOpFormat.CRC_LENGTH);
        }
        return new ReadReply(requested, data, crcs);
    }
}
