package io.cairn.common.rpc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.zip.CRC32C;

/**
 * Builds outgoing frames. A caller's thread makes a buffer with room for the header and the head in
 * place ({@link #withHead}); the connection's loop fills the header in ({@link #seal}). One per
 * connection; {@code seal} on its event loop only.
 */
final class FrameSender {
    private final byte[] header = new byte[FrameFormat.HEADER_LENGTH];
    private final CRC32C crc = new CRC32C();

    /** Any thread. */
    static ByteBuf withHead(ByteBufAllocator allocator, MessageLite head) {
        int length = head.getSerializedSize();
        ByteBuf frame = allocator.directBuffer(FrameFormat.HEADER_LENGTH + length);
        frame.writerIndex(FrameFormat.HEADER_LENGTH + length);
        if (length > 0) {
            var to =
                    CodedOutputStream.newInstance(
                            frame.nioBuffer(FrameFormat.HEADER_LENGTH, length));
            try {
                head.writeTo(to);
                to.flush();
            } catch (IOException e) {
                frame.release();
                throw new UncheckedIOException("message does not fit its own size", e);
            }
        }
        return frame;
    }

    /** Any thread. Copies the head, which is short, and takes it over. */
    static ByteBuf withHead(ByteBufAllocator allocator, ByteBuf head) {
        try {
            ByteBuf frame =
                    allocator.directBuffer(FrameFormat.HEADER_LENGTH + head.readableBytes());
            frame.writerIndex(FrameFormat.HEADER_LENGTH);
            frame.writeBytes(head);
            return frame;
        } finally {
            head.release();
        }
    }

    /** Fills in the header of a frame made by withHead. */
    void seal(ByteBuf frame, int kind, int method, long requestId, int word, int payloadLength) {
        int headLength = frame.writerIndex() - FrameFormat.HEADER_LENGTH;
        int headCrc = HeadCrc.of(frame, FrameFormat.HEADER_LENGTH, headLength, crc);
        FrameFormat.encode(
                header, kind, method, requestId, word, headLength, headCrc, payloadLength, crc);
        frame.setBytes(0, header);
    }
}
