package io.cairn.mds.namespace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Checkpoint;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * One RocksDB without a write-ahead log of its own: the Raft log is the log, so what was written
 * since the last flush is lost with the process and applied again. Any thread. Every error of
 * RocksDB becomes a {@link CorruptStateException}, which stops the process.
 */
final class MetaDatabase implements AutoCloseable {
    private static final long BLOCK_CACHE_BYTES = 32 << 20;
    private static final int BLOOM_BITS_PER_KEY = 10;

    private final Options options;
    private final LRUCache blockCache;
    private final BloomFilter bloom;
    private final WriteOptions writeOptions = new WriteOptions().setDisableWAL(true);
    private final RocksDB db;

    static {
        RocksDB.loadLibrary();
    }

    private MetaDatabase(Options options, LRUCache cache, BloomFilter bloom, RocksDB db) {
        this.options = options;
        this.blockCache = cache;
        this.bloom = bloom;
        this.db = db;
    }

    static MetaDatabase open(Path directory) throws IOException {
        return open(directory, false);
    }

    /** For looking into a checkpoint. */
    static MetaDatabase openReadOnly(Path directory) throws IOException {
        return open(directory, true);
    }

    private static MetaDatabase open(Path directory, boolean readOnly) throws IOException {
        Files.createDirectories(directory);
        LRUCache cache = new LRUCache(BLOCK_CACHE_BYTES);
        BloomFilter bloom = new BloomFilter(BLOOM_BITS_PER_KEY, false);
        Options options =
                new Options()
                        .setCreateIfMissing(true)
                        .setCompressionType(CompressionType.NO_COMPRESSION)
                        .setWriteBufferSize(16 << 20)
                        .setMaxWriteBufferNumber(4)
                        .setTableFormatConfig(
                                new BlockBasedTableConfig()
                                        .setBlockCache(cache)
                                        .setFilterPolicy(bloom));
        try {
            RocksDB db =
                    readOnly
                            ? RocksDB.openReadOnly(options, directory.toString())
                            : RocksDB.open(options, directory.toString());
            return new MetaDatabase(options, cache, bloom, db);
        } catch (RocksDBException e) {
            options.close();
            bloom.close();
            cache.close();
            throw new IOException("cannot open the metadata in " + directory, e);
        }
    }

    byte @Nullable [] get(byte[] key) {
        try {
            return db.get(key);
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    byte @Nullable [] get(ReadOptions as, byte[] key) {
        try {
            return db.get(as, key);
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    void write(WriteBatch batch) {
        try {
            db.write(writeOptions, batch);
        } catch (RocksDBException e) {
            throw failed("write", e);
        }
    }

    /** All keys, in order, as of now; the caller positions and closes it. */
    RocksIterator iterator() {
        return db.newIterator();
    }

    RocksIterator iterator(ReadOptions as) {
        return db.newIterator(as);
    }

    /** To be given back by {@link #release}. */
    Snapshot snapshot() {
        return db.getSnapshot();
    }

    void release(Snapshot snapshot) {
        db.releaseSnapshot(snapshot);
        snapshot.close();
    }

    /** Throws where an iterator stopped on an error instead of at its end. */
    static void check(RocksIterator iterator) {
        try {
            iterator.status();
        } catch (RocksDBException e) {
            throw failed("scan", e);
        }
    }

    /** A consistent copy by hard links; the directory must not exist. */
    void checkpoint(Path directory) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.create(db)) {
            checkpoint.createCheckpoint(directory.toString());
        } catch (RocksDBException e) {
            throw new IOException("cannot copy the metadata to " + directory, e);
        }
    }

    /** Makes everything written so far durable. */
    void flush() {
        try (FlushOptions wait = new FlushOptions().setWaitForFlush(true)) {
            db.flush(wait);
        } catch (RocksDBException e) {
            throw failed("flush", e);
        }
    }

    @Override
    public void close() {
        db.close();
        writeOptions.close();
        options.close();
        bloom.close();
        blockCache.close();
    }

    private static CorruptStateException failed(String what, RocksDBException e) {
        return new CorruptStateException("RocksDB could not " + what + " metadata", e);
    }
}
