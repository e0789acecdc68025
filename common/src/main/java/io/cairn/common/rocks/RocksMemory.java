package io.cairn.common.rocks;

import io.cairn.common.config.ByteSize;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/**
 * Block cache and write buffers that all databases of a process share: the memory of memtables is
 * charged to the cache, so there is one limit, and {@link MemtableBudget} keeps memtables to their
 * part of it. Made once by the process, closed after the last database. Thread-safe.
 */
public final class RocksMemory implements AutoCloseable {
    /** Part of the cache that data blocks cannot take from index and filter blocks. */
    private static final double HIGH_PRIORITY_RATIO = 0.5;

    private static final int SHARDS_BY_SIZE = -1;

    private final Cache blockCache;
    private final WriteBufferManager writeBuffers;
    private final MemtableBudget budget;

    public RocksMemory(RocksMemoryConfig config) {
        this(config.limit(), config.writeBuffers());
    }

    public RocksMemory(ByteSize limit, ByteSize writeBuffers) {
        RocksDB.loadLibrary();
        this.blockCache = new LRUCache(limit.bytes(), SHARDS_BY_SIZE, false, HIGH_PRIORITY_RATIO);
        this.writeBuffers = new WriteBufferManager(writeBuffers.bytes(), blockCache);
        this.budget = new MemtableBudget(writeBuffers.bytes());
    }

    Cache blockCache() {
        return blockCache;
    }

    WriteBufferManager writeBuffers() {
        return writeBuffers;
    }

    MemtableBudget budget() {
        return budget;
    }

    /** Bytes in use, memtables included. */
    public long usedBytes() {
        return blockCache.getUsage();
    }

    @Override
    public void close() {
        writeBuffers.close();
        blockCache.close();
    }
}
