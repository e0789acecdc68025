package io.cairn.client.move;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.util.internal.PlatformDependent;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * How much is copied at a time and in a second, by all files that are moved together. Any thread.
 */
public final class MovePace {
    /** What may be copied at once after a rest, as time at the rate. */
    private static final long BURST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /**
     * Direct memory that a piece is reckoned to take: 1 MiB in the frame it is read in, as much in
     * what is written, and again what Netty's pool keeps beside these.
     */
    private static final long PIECE_MEMORY = 4 << 20;

    private final double nanosPerByte;
    private final Semaphore pieces;

    /** When the next byte may be copied. */
    private long freeNanos = System.nanoTime();

    /**
     * @param bytesPerSecond 0: no limit
     * @param piecesInFlight of at most 1 MiB; fewer where the process has too little direct memory
     */
    public MovePace(long bytesPerSecond, int piecesInFlight) {
        this(bytesPerSecond, piecesInFlight, PlatformDependent.maxDirectMemory());
    }

    MovePace(long bytesPerSecond, int piecesInFlight, long directMemory) {
        this.nanosPerByte = bytesPerSecond == 0 ? 0 : 1e9 / bytesPerSecond;
        this.pieces =
                new Semaphore(
                        (int) Math.clamp(directMemory / PIECE_MEMORY, 1L, (long) piecesInFlight));
    }

    /** How many pieces may begin now. */
    int free() {
        return pieces.availablePermits();
    }

    /** Waits until so many bytes may be copied; {@link #end} must follow. */
    void begin(int bytes) {
        try {
            pieces.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new FsException(Errno.EINTR, "interrupted");
        }
        long waitNanos;
        synchronized (this) {
            long now = System.nanoTime();
            freeNanos = Math.max(freeNanos, now - BURST_NANOS) + (long) (bytes * nanosPerByte);
            waitNanos = freeNanos - now;
        }
        for (long end = System.nanoTime() + waitNanos;
                System.nanoTime() - end < 0 && !Thread.currentThread().isInterrupted(); ) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }

    void end() {
        pieces.release();
    }
}
