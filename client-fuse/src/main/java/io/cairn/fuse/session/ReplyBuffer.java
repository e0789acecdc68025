package io.cairn.fuse.session;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.cairn.fuse.kernel.HeaderFormat;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * A thread's own native memory for the answer it is about to write: header, a small body, and the
 * vectors for a payload that lies elsewhere. Never handed to another thread.
 */
public final class ReplyBuffer {
    private static final int BODY_BYTES = 512;
    private static final int VECTORS = 64;
    private static final ThreadLocal<ReplyBuffer> OF_THREAD =
            ThreadLocal.withInitial(ReplyBuffer::new);

    private final MemorySegment message;
    private final MemorySegment body;
    private final MemorySegment vectors;

    private ReplyBuffer() {
        Arena arena = Arena.ofAuto();
        message = arena.allocate(HeaderFormat.OUT_SIZE + BODY_BYTES, 8);
        body = message.asSlice(HeaderFormat.OUT_SIZE);
        vectors = arena.allocate(VECTORS * 16L, 8);
    }

    /** The calling thread's. */
    public static ReplyBuffer ofThread() {
        return OF_THREAD.get();
    }

    /** Where the body is written before the request is answered with it. */
    public MemorySegment body() {
        return body;
    }

    /** Header and body in one piece. */
    long write(FuseDevice device, int error, long unique, int bodyBytes) {
        int length = HeaderFormat.OUT_SIZE + bodyBytes;
        HeaderFormat.putOut(message, length, error, unique);
        return device.write(message, length);
    }

    /** The header followed by the readable bytes, straight from where they lie. */
    long write(FuseDevice device, long unique, ByteBuf payload) {
        int length = HeaderFormat.OUT_SIZE + payload.readableBytes();
        HeaderFormat.putOut(message, length, 0, unique);
        if (!payload.isReadable()) {
            return device.write(message, length);
        }
        if (payload.isDirect() && payload.nioBufferCount() < VECTORS) {
            return writeDirect(device, payload);
        }
        ByteBuf copy = payload.alloc().directBuffer(payload.readableBytes());
        try {
            copy.writeBytes(payload, payload.readerIndex(), payload.readableBytes());
            return writeDirect(device, copy);
        } finally {
            copy.release();
        }
    }

    private long writeDirect(FuseDevice device, ByteBuf payload) {
        vector(0, message.address(), HeaderFormat.OUT_SIZE);
        int count = payload.nioBufferCount();
        if (payload.hasMemoryAddress()) {
            vector(1, payload.memoryAddress() + payload.readerIndex(), payload.readableBytes());
            return device.writev(vectors, 2);
        }
        if (count == 1) {
            // Kept in a local until after the call: it keeps the memory alive.
            ByteBuffer one = payload.nioBuffer();
            vector(1, MemorySegment.ofBuffer(one).address(), one.remaining());
            return device.writev(vectors, 2);
        }
        ByteBuffer[] parts = payload.nioBuffers();
        for (int i = 0; i < parts.length; i++) {
            vector(i + 1, MemorySegment.ofBuffer(parts[i]).address(), parts[i].remaining());
        }
        return device.writev(vectors, parts.length + 1);
    }

    private void vector(int index, long address, long length) {
        vectors.set(JAVA_LONG, index * 16L, address);
        vectors.set(JAVA_LONG, index * 16L + 8, length);
    }
}
