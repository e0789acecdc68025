package io.cairn.common.rocks;

import io.cairn.common.config.ByteSize;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/**
 * Block cache and write buffers that all databases of a process share: the memory of memtables is
 * charged to the cache, so there is one limit. Made once by the process, closed after the last
 * database. Thread-safe.
 */
public final class RocksMemory implements AutoCloseable {
    private final Cache blockCache;
    private final WriteBufferManager writeBuffers;

    public RocksMemory(RocksMemoryConfig config) {
        this(config.limit(), config.writeBuffers());
    }

    public RocksMemory(ByteSize limit, ByteSize writeBuffers) {
        RocksDB.loadLibrary();
        this.blockCache = new LRUCache(limit.bytes());
        this.writeBuffers = new WriteBufferManager(writeBuffers.bytes(), blockCache);
    }

    Cache blockCache() {
        return blockCache;
    }

    WriteBufferManager writeBuffers() {
        return writeBuffers;
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
