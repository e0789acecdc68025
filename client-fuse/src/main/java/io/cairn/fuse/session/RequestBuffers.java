package io.cairn.fuse.session;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The direct memory requests are read into, and the limit on data of writes in flight. Any thread.
 *
 * <p>The limit is soft at first: a reader that would exceed it waits for writes to finish, but not
 * long, because it must come back to the device to learn of interrupts. At twice the limit it waits
 * until a write finishes, which every write does at its deadline: a cluster that stalls must not
 * cost the mount its memory.
 */
public final class RequestBuffers {
    /** Room beyond the data for header and structure; the kernel insists on some. */
    private static final int OVERHEAD_BYTES = 4096;

    private static final int PAGE_BYTES = 8192;

    /** 8 MiB per arena chunk: seven requests of 1 MiB. */
    private static final int CHUNK_ORDER = 10;

    private static final int UNIT_BYTES = 4096;
    private static final long WAIT_MILLIS = 500;

    private final PooledByteBufAllocator allocator =
            new PooledByteBufAllocator(true, 0, 2, PAGE_BYTES, CHUNK_ORDER, 64, 32, false, 0);
    private final int requestBytes;
    private final int copyBelowBytes;
    private final Semaphore units;
    private final Semaphore reserve;

    /**
     * @param maxWriteBytes largest data of a WRITE
     * @param limitBytes of memory of writes in flight, more than one request takes
     */
    public RequestBuffers(int maxWriteBytes, long limitBytes) {
        this.requestBytes = maxWriteBytes + OVERHEAD_BYTES;
        this.copyBelowBytes = maxWriteBytes / 2;
        this.units = new Semaphore((int) (limitBytes / UNIT_BYTES));
        this.reserve = new Semaphore((int) (limitBytes / UNIT_BYTES));
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

    /** Counts a write's memory; returns what {@link #finished} must be given at its end. */
    public int started(int bytes) {
        int held = bytes < copyBelowBytes ? bytes : requestBytes;
        int wanted = (held + UNIT_BYTES - 1) / UNIT_BYTES;
        try {
            if (units.tryAcquire(wanted, WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
                return wanted;
            }
            reserve.acquire(wanted);
            return -wanted;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    public void finished(int counted) {
        if (counted >= 0) {
            units.release(counted);
        } else {
            reserve.release(-counted);
        }
    }
}
