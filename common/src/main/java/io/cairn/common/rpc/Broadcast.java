package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A one-way message to many peers: encoded once, when it is first sent, and its bytes are shared by
 * all connections. Nothing of a frame's header is of one connection ({@link FrameFormat}).
 * Immutable; any thread.
 */
public final class Broadcast {
    private final int method;
    private final MessageLite head;

    /** The whole frame; freed with this object. */
    private @Nullable ByteBuffer encoded;

    public Broadcast(int method, MessageLite head) {
        this.method = method;
        this.head = head;
    }

    public int method() {
        return method;
    }

    public MessageLite head() {
        return head;
    }

    /** Bytes that it is on each connection. */
    public int lengthBytes() {
        return FrameFormat.HEADER_LENGTH + head.getSerializedSize();
    }

    /** The whole frame, for one connection; released by the caller. */
    ByteBuf frame() {
        return Unpooled.wrappedBuffer(encoded().duplicate());
    }

    private synchronized ByteBuffer encoded() {
        @Nullable ByteBuffer known = encoded;
        if (known == null) {
            ByteBuf frame = FrameSender.withHead(PooledByteBufAllocator.DEFAULT, head);
            try {
                new FrameSender().seal(frame, FrameFormat.KIND_ONE_WAY, method, 0, 0, 0);
                known = ByteBuffer.allocateDirect(frame.readableBytes());
                frame.readBytes(known);
                known.flip();
            } finally {
                frame.release();
            }
            encoded = known;
        }
        return known;
    }
}
