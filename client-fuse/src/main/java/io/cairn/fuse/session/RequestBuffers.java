package io.cairn.fuse.session;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;

/**
 * The direct memory requests are read into. Any thread. How much of it writes may keep is bounded
 * by the client, which knows what they wait for.
 */
public final class RequestBuffers {
    /** Room beyond the data for header and structure; the kernel insists on some. */
    private static final int OVERHEAD_BYTES = 4096;

    private static final int PAGE_BYTES = 8192;

    /** 8 MiB per arena chunk: seven requests of 1 MiB. */
    private static final int CHUNK_ORDER = 10;

    private final PooledByteBufAllocator allocator =
            new PooledByteBufAllocator(true, 0, 2, PAGE_BYTES, CHUNK_ORDER, 64, 32, false, 0);
    private final int requestBytes;
    private final int copyBelowBytes;

    /**
     * @param maxWriteBytes largest data of a WRITE
     */
    public RequestBuffers(int maxWriteBytes) {
        this.requestBytes = maxWriteBytes + OVERHEAD_BYTES;
        this.copyBelowBytes = maxWriteBytes / 2;
    }

    int requestBytes() {
        return requestBytes;
    }

    /**
     * Data shorter than this is copied out of the reader's buffer, so that no write keeps more than
     * twice its size: many writes of a tenth of a buffer each would cost ten times their data.
     */
    int copyBelowBytes() {
        return copyBelowBytes;
    }

    ByteBuf request() {
        return allocator.directBuffer(requestBytes, requestBytes);
    }

    ByteBuf copy(ByteBuf from, int start, int length) {
        return allocator.directBuffer(length, length).writeBytes(from, start, length);
    }

    /** The largest data of one WRITE. */
    public int maxWriteBytes() {
        return requestBytes - OVERHEAD_BYTES;
    }

    /** The largest answer the kernel may ask for. */
    public int answerMaximumBytes() {
        return requestBytes;
    }

    /** A buffer for an answer, to be released by who answers with it. */
    public ByteBuf answer(int capacityBytes) {
        return allocator.directBuffer(capacityBytes, capacityBytes);
    }
}
