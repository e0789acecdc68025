package io.cairn.client.ahead;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the memory of what one client reads ahead, of all its files. Nobody waits for it: without
 * memory nothing is read ahead. Any thread.
 */
public final class AheadMemory {
    private final long maxBytes;
    private final AtomicLong taken = new AtomicLong();

    public AheadMemory(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /**
     * True: the bytes are the caller's until it gives them back. A reader gets no more than is left
     * free, so that the first ones leave something to the later.
     *
     * @param had what this reader has already, about
     */
    boolean take(long bytes, long had) {
        long before = taken.get();
        while (had + bytes <= maxBytes - before - bytes) {
            if (taken.compareAndSet(before, before + bytes)) {
                return true;
            }
            before = taken.get();
        }
        return false;
    }

    void giveBack(long bytes) {
        taken.addAndGet(-bytes);
    }

    /** Bytes taken: what is held, and what is in flight. */
    public long bytes() {
        return taken.get();
    }
}
