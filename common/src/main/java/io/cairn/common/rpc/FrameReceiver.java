package io.cairn.common.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Cuts a connection's byte stream into frames without copying. Small frames are slices of a shared
 * receive chunk that is filled until it is full; a frame that does not fit into it gets a buffer of
 * exactly its size, and as the connection's receive-buffer allocator this class has the socket read
 * straight into it. Whoever owns it says when nothing has come for a while ({@link
 * #releaseIfIdle}): then it holds no memory. On the connection's event loop only.
 */
final class FrameReceiver extends DefaultMaxMessagesRecvByteBufAllocator {
    /** Fits the allocator's per-thread cache. */
    static final int CHUNK_BYTES = 32 << 10;

    private static final int MIN_READ_BYTES = 4 << 10;
    private static final int MAX_READS_PER_TURN = 16;

    /** Receives what a connection's stream consists of. */
    interface Sink {
        /**
         * One whole frame.
         *
         * @param header see {@link FrameFormat}; reused after the call
         * @param head released by the callee, as is the payload
         */
        void frame(byte[] header, ByteBuf head, ByteBuf payload);

        /**
         * A frame begins that needs a buffer of its own. False: not now, and the receiver was
         * paused; it asks again when it is resumed.
         */
        default boolean mayBegin(int bodyBytes) {
            return true;
        }

        /** The stream cannot be understood; nothing more will be delivered. */
        void violation(String reason);
    }

    private final ByteBufAllocator allocator;
    private final Sink sink;
    private final byte[] header = new byte[FrameFormat.HEADER_LENGTH];
    private final CRC32C crc = new CRC32C();
    private int maxBodyBytes;

    /** Bytes of small frames; readable: not yet delivered. */
    private @Nullable ByteBuf chunk;

    /** Body of the frame being received into its own buffer; its header is in header. */
    private @Nullable ByteBuf body;

    /** The chunk holds a part of a frame that fits into it. */
    private boolean partInChunk;

    /** Frames are kept in the chunk instead of being delivered. */
    private boolean paused;

    private boolean delivering;
    private long frames;
    private boolean closed;

    FrameReceiver(ByteBufAllocator allocator, int maxBodyBytes, Sink sink) {
        super(MAX_READS_PER_TURN);
        this.allocator = allocator;
        this.maxBodyBytes = maxBodyBytes;
        this.sink = sink;
    }

    /** From the next frame on. */
    void maxBodyBytes(int bytes) {
        maxBodyBytes = bytes;
    }

    @Override
    @SuppressWarnings("deprecation") // the type that Netty's own signature names
    public Handle newHandle() {
        return new MaxMessageHandle() {
            @Override
            public int guess() {
                return CHUNK_BYTES;
            }

            @Override
            public ByteBuf allocate(ByteBufAllocator unused) {
                return readBuffer();
            }
        };
    }

    /** Where the next bytes go; one reference belongs to the caller. */
    ByteBuf readBuffer() {
        if (closed) {
            return allocator.directBuffer(MIN_READ_BYTES, MIN_READ_BYTES);
        }
        if (body != null) {
            return body.retain();
        }
        @Nullable ByteBuf old = chunk;
        if (old != null && (partInChunk || old.writableBytes() >= MIN_READ_BYTES)) {
            return old.retain();
        }
        if (old != null
                && old.refCnt() == 1
                && old.capacity() - old.readableBytes() >= MIN_READ_BYTES) {
            old.discardReadBytes();
            return old.retain();
        }
        int kept = old == null ? 0 : old.readableBytes();
        int capacity = kept <= CHUNK_BYTES - MIN_READ_BYTES ? CHUNK_BYTES : kept + CHUNK_BYTES;
        ByteBuf fresh = allocator.directBuffer(capacity, capacity);
        chunk = fresh;
        if (old != null) {
            fresh.writeBytes(old);
            old.release();
        }
        return fresh.retain();
    }

    @SuppressWarnings("ReferenceEquality") // which buffer, not which bytes
    private boolean ours(ByteBuf in) {
        return in == body || in == chunk;
    }

    /** Takes over a buffer that {@link #readBuffer} gave, or any other, filled by the socket. */
    void received(ByteBuf in) {
        if (ours(in)) {
            in.release();
            deliver();
            return;
        }
        try {
            while (in.isReadable() && !closed) {
                ByteBuf to = readBuffer();
                to.writeBytes(in, Math.min(in.readableBytes(), to.writableBytes()));
                to.release();
                deliver();
            }
        } finally {
            in.release();
        }
    }

    /** A frame has begun and is not complete, or, while paused, is not delivered. */
    boolean midFrame() {
        return body != null || (chunk != null && chunk.isReadable());
    }

    /** Whole frames received so far. */
    long frames() {
        return frames;
    }

    /** How much there is of the body being received into its own buffer, 0 if none is. */
    int pendingBodyBytes() {
        return body == null ? 0 : body.writerIndex();
    }

    /**
     * Gives back the memory for the next frames, unless it has some of one, or one of it is alive.
     *
     * @return whether none is held
     */
    boolean releaseIfIdle() {
        @Nullable ByteBuf held = chunk;
        if (held != null && !held.isReadable() && held.refCnt() == 1) {
            held.release();
            chunk = null;
        }
        return chunk == null;
    }

    /** Delivers nothing more, except a frame that has its own buffer; the socket should rest. */
    void pause() {
        paused = true;
    }

    boolean paused() {
        return paused;
    }

    /** Delivers again, beginning with what was received meanwhile. */
    void resume() {
        paused = false;
        if (!delivering && !closed) {
            deliver();
        }
    }

    /** Drops everything; whatever still arrives is ignored. */
    void close() {
        closed = true;
        if (body != null) {
            body.release();
            body = null;
        }
        if (chunk != null) {
            chunk.release();
            chunk = null;
        }
    }

    private void deliver() {
        delivering = true;
        try {
            deliverFrames();
        } finally {
            delivering = false;
        }
    }

    private void deliverFrames() {
        @Nullable ByteBuf whole = body;
        if (whole != null) {
            if (whole.isWritable()) {
                return;
            }
            body = null;
            try {
                frame(whole, 0);
            } finally {
                whole.release();
            }
        }
        @Nullable ByteBuf from = chunk;
        partInChunk = false;
        while (!closed
                && !paused
                && from != null
                && from.readableBytes() >= FrameFormat.HEADER_LENGTH) {
            int start = from.readerIndex();
            from.getBytes(start, header);
            @Nullable String wrong = FrameFormat.check(header, maxBodyBytes, crc);
            if (wrong != null) {
                violation(wrong);
                return;
            }
            int have = from.readableBytes() - FrameFormat.HEADER_LENGTH;
            int missing = FrameFormat.bodyLength(header) - have;
            if (missing > 0) {
                await(from, have, missing);
                return;
            }
            int bodyStart = start + FrameFormat.HEADER_LENGTH;
            from.readerIndex(bodyStart + FrameFormat.bodyLength(header));
            frame(from, bodyStart);
        }
        if (!closed && from != null && !from.isReadable() && from.refCnt() == 1) {
            // No frame of it is alive.
            from.clear();
        }
    }

    /** The frame that starts in the chunk is not all there. */
    private void await(ByteBuf from, int have, int missing) {
        if (missing <= from.writableBytes()) {
            partInChunk = true;
            return;
        }
        if (!sink.mayBegin(have + missing)) {
            return;
        }
        ByteBuf own = allocator.directBuffer(have + missing, have + missing);
        from.skipBytes(FrameFormat.HEADER_LENGTH);
        own.writeBytes(from, have);
        body = own;
    }

    private void frame(ByteBuf from, int start) {
        int headLength = FrameFormat.headLength(header);
        int payloadLength = FrameFormat.bodyLength(header) - headLength;
        if (HeadCrc.of(from, start, headLength, crc) != FrameFormat.headCrc(header)) {
            violation("head checksum is wrong");
            return;
        }
        ByteBuf head =
                headLength == 0 ? Unpooled.EMPTY_BUFFER : from.retainedSlice(start, headLength);
        ByteBuf payload =
                payloadLength == 0
                        ? Unpooled.EMPTY_BUFFER
                        : from.retainedSlice(start + headLength, payloadLength);
        frames++;
        sink.frame(header, head, payload);
    }

    private void violation(String reason) {
        close();
        sink.violation(reason);
    }
}
