package io.cairn.dataserver.scrub;

import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.ScrubStore;
import java.util.concurrent.locks.LockSupport;

/**
 * How fast scrubs read from one disk: at most at the configured rate, and at a sixteenth of it
 * while clients wait for the disk. One thread, but for {@link #close}.
 */
final class ReadPace implements ScrubStore.Pace {
    /** How much slower while clients wait: a scrub ends at last on a disk that is always busy. */
    private static final int YIELD = 16;

    /** From here on the log slows clients down, and the flusher needs the disk. */
    private static final double BUSY_WAL = 0.6;

    private static final long LOOK_NANOS = 2_000_000;

    /** Between two looks at whether the disk is closed, at least. */
    private static final long MAX_WAIT_NANOS = 100_000_000;

    private final DiskStore store;
    private final double nanosPerByte;
    private long freeNanos = System.nanoTime();
    private volatile boolean closed;

    ReadPace(DiskStore store, long bytesPerSecond) {
        this.store = store;
        this.nanosPerByte = 1e9 / bytesPerSecond;
    }

    @Override
    public void before(int bytes) throws InterruptedException {
        long takes = (long) (bytes * nanosPerByte);
        long latest = freeNanos + takes * (YIELD - 1);
        while (true) {
            if (closed) {
                throw new InterruptedException("the disk is closed");
            }
            long now = System.nanoTime();
            if (now - freeNanos >= 0 && (!isBusy() || now - latest >= 0)) {
                freeNanos = now + takes;
                return;
            }
            LockSupport.parkNanos(Math.clamp(freeNanos - now, LOOK_NANOS, MAX_WAIT_NANOS));
        }
    }

    /** Nothing more is read. Any thread. */
    void close() {
        closed = true;
    }

    private boolean isBusy() {
        return store.waitingReads() > 0 || store.walFillRatio() > BUSY_WAL;
    }
}
