package io.cairn.client.data;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds the bytes of data requests in flight. What does not fit waits, first come first served; a
 * request larger than the whole budget goes alone. Any thread; a start runs on the thread that
 * acquired, or on the one whose release made room.
 */
public final class ByteBudget {
    private static final Logger LOG = LoggerFactory.getLogger(ByteBudget.class);

    private record Waiting(long bytes, Runnable start) {}

    private final long limitBytes;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private long usedBytes;
    private boolean draining;

    public ByteBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * Runs {@code start} once the bytes are taken; every one must be given back by release. A start
     * that waited must not throw: its caller has gone.
     */
    public void acquire(long bytes, Runnable start) {
        synchronized (this) {
            if (!waiting.isEmpty() || !fits(bytes)) {
                waiting.add(new Waiting(bytes, start));
                return;
            }
            usedBytes += bytes;
        }
        start.run();
    }

    public void release(long bytes) {
        synchronized (this) {
            usedBytes -= bytes;
            if (draining) {
                return; // the thread that drains sees the room, however deep below it we are
            }
            draining = true;
        }
        for (Runnable start = next(); start != null; start = next()) {
            try {
                start.run();
            } catch (RuntimeException | Error e) { // the others that wait must go on
                LOG.error("An operation could not be started", e);
            }
        }
    }

    private synchronized @Nullable Runnable next() {
        Waiting first = waiting.peek();
        if (first == null || !fits(first.bytes)) {
            draining = false;
            return null;
        }
        waiting.remove();
        usedBytes += first.bytes;
        return first.start;
    }

    private boolean fits(long bytes) {
        return usedBytes == 0 || usedBytes + bytes <= limitBytes;
    }

    public synchronized long usedBytes() {
        return usedBytes;
    }

    public synchronized int waiting() {
        return waiting.size();
    }
}
