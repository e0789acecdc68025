package io.cairn.dataserver.chunk;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/** Options of the chunk index's database. */
final class IndexOptions {
    static {
        RocksDB.loadLibrary();
    }

    private IndexOptions() {}

    /** To be closed after the database. */
    static Options create() {
        // Shutting down must not flush: the order of durability is decided by the flusher alone.
        return new Options()
                .setCreateIfMissing(true)
                .setAvoidFlushDuringShutdown(true)
                .setParanoidChecks(true)
                .setWriteBufferSize(8L << 20)
                .setMaxWriteBufferNumber(16)
                .setTableFormatConfig(
                        new BlockBasedTableConfig()
                                .setFilterPolicy(new BloomFilter(10))
                                .setCacheIndexAndFilterBlocks(true));
    }
}
