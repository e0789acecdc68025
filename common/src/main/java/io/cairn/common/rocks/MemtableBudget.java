package io.cairn.common.rocks;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.rocksdb.RocksDBException;

/**
 * Keeps the memtables of all databases of a process within one limit. RocksDB's WriteBufferManager
 * alone does not: it takes a full memtable for one that is being flushed, while with {@code
 * min_write_buffer_number_to_merge} = 16 it waits for 15 others.
 *
 * <p>At half the limit the largest database begins to flush in the background. At seven eighths a
 * writer waits: for its own flush where its database has more than its share, else for those of the
 * others, but only for a second, since a database whose device hangs must not stop the rest. Called
 * by any writer.
 */
final class MemtableBudget {
    /** One database's memtables. */
    interface Memtables {
        /** Bytes in memtables that are not yet flushed; 0 once it is closed. */
        long bytes();

        /** Whether a flush is running or about to. */
        boolean flushing();

        /** Flushes what has been written; returns when that is done. */
        void flush() throws RocksDBException;

        /** Begins to flush in the background. If it cannot, that is for its own users to hear. */
        void startFlush();
    }

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long softBytes;
    private final long hardBytes;
    private final long stepBytes;
    private final Set<Memtables> databases = ConcurrentHashMap.newKeySet();

    /** Written since the last look; a row takes up to about twice its size in a memtable. */
    private final AtomicLong unseen = new AtomicLong();

    private final ReentrantLock looking = new ReentrantLock();

    MemtableBudget(long limitBytes) {
        softBytes = limitBytes / 2;
        hardBytes = limitBytes / 8 * 7;
        stepBytes = limitBytes / 64;
    }

    void add(Memtables database) {
        databases.add(database);
    }

    void remove(Memtables database) {
        databases.remove(database);
    }

    /**
     * To be called before each write.
     *
     * @param bytes of the batch
     * @throws RocksDBException if the writer's own database cannot be flushed
     */
    void admit(Memtables own, long bytes) throws RocksDBException {
        if (unseen.addAndGet(bytes) < stepBytes) {
            return;
        }
        unseen.set(0);
        flushLargest();
        long start = System.nanoTime();
        while (totalBytes() + bytes > hardBytes && System.nanoTime() - start < PATIENCE_NANOS) {
            if (own.bytes() > hardBytes / Math.max(1, databases.size())) {
                own.flush();
            } else {
                flushLargest();
                LockSupport.parkNanos(LOOK_AGAIN_NANOS);
            }
        }
    }

    private long totalBytes() {
        return databases.stream().mapToLong(Memtables::bytes).sum();
    }

    /** What is being flushed is counted as gone: else small memtables would follow it. */
    private void flushLargest() {
        if (!looking.tryLock()) {
            return; // another writer looks
        }
        try {
            long waiting = 0;
            long largestBytes = 0;
            Memtables largest = null;
            for (Memtables database : databases) {
                if (!database.flushing()) {
                    long bytes = database.bytes();
                    waiting += bytes;
                    if (bytes > largestBytes) {
                        largestBytes = bytes;
                        largest = database;
                    }
                }
            }
            if (waiting > softBytes && largest != null) {
                largest.startFlush();
            }
        } finally {
            looking.unlock();
        }
    }
}
