package io.cairn.common.rocks;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * Keeps those from a database who are not its users and may come while it is being closed, such as
 * metrics: touching it then would crash the process. Any thread.
 */
final class OpenGuard {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private boolean open = true;

    /**
     * Closing waits until {@code value} has been computed; of a closed database, {@code closed}.
     */
    <T> T whileOpen(Supplier<T> value, T closed) {
        lock.readLock().lock();
        try {
            return open ? value.get() : closed;
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Does it unless it was done before. */
    void close(Runnable closing) {
        lock.writeLock().lock();
        try {
            if (open) {
                open = false;
                closing.run();
            }
        } finally {
            lock.writeLock().unlock();
        }
    }
}
