package io.cairn.client.inode;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of writes that were answered before they are durable, of all files of the client. Any
 * thread.
 */
public final class WriteBehind {
    private final long limit;
    private final AtomicLong bytes = new AtomicLong();

    /**
     * @param limit in bytes; 0: no write is answered early
     */
    public WriteBehind(long limit) {
        this.limit = limit;
    }

    /** False where so many more would be too many. */
    boolean take(int more) {
        if (bytes.addAndGet(more) <= limit) {
            return true;
        }
        bytes.addAndGet(-more);
        return false;
    }

    void give(int durable) {
        bytes.addAndGet(-durable);
    }

    public long bytes() {
        return bytes.get();
    }
}
