package io.cairn.mds.store;

import io.cairn.common.rocks.PrefixIterator;
import io.cairn.common.rocks.RocksDatabase;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;

/**
 * The RocksDB of the replicated state: the Raft log is its log, so what was written since the last
 * flush is lost with the process and applied again. Any thread. Every error of RocksDB becomes a
 * {@link CorruptStateException}, which stops the process.
 */
public class MetaDatabase implements AutoCloseable {
    /** Tag of its metrics. */
    static final String NAME = "metadata";

    private final RocksDatabase rocks;

    MetaDatabase(RocksDatabase rocks) {
        this.rocks = rocks;
    }

    static MetaDatabase open(Path directory, MetaStateConfig config) throws IOException {
        return new MetaDatabase(
                RocksDatabase.open(
                        directory,
                        NAME,
                        config.rocks(),
                        config.memory(),
                        config.meters(),
                        config.fatal()));
    }

    byte @Nullable [] get(byte[] key) {
        try {
            return rocks.db().get(key);
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    byte @Nullable [] get(ReadOptions as, byte[] key) {
        try {
            return rocks.db().get(as, key);
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    /** In the order of the keys; null where there is no such row. */
    List<byte @Nullable []> get(ReadOptions as, List<byte[]> keys) {
        try {
            return keys.isEmpty() // which RocksDB does not take
                    ? List.of()
                    : Collections.<byte @Nullable []>unmodifiableList(
                            rocks.db().multiGetAsList(as, keys));
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    void write(WriteBatch batch) {
        try {
            rocks.write(batch);
        } catch (RocksDBException e) {
            throw failed("write", e);
        }
    }

    /**
     * The rows whose keys begin with {@code prefix}, at or above {@code from}; the caller closes
     * it.
     *
     * @param snapshot null for the state of now
     */
    PrefixIterator rows(@Nullable Snapshot snapshot, byte[] prefix, byte[] from) {
        return rocks.rows(snapshot, prefix, from, e -> failed("scan", e));
    }

    /** To be given back by {@link #release}. */
    Snapshot snapshot() {
        return rocks.db().getSnapshot();
    }

    void release(Snapshot snapshot) {
        rocks.db().releaseSnapshot(snapshot);
        snapshot.close();
    }

    /** A consistent, durable copy of at least everything written so far. */
    public void checkpoint(Path directory) throws IOException {
        rocks.checkpoint(directory);
    }

    /** For what an administrator asks of it. */
    public RocksDatabase rocks() {
        return rocks;
    }

    /** Makes everything written so far durable. */
    public void flush() {
        try {
            rocks.flush();
        } catch (RocksDBException e) {
            throw failed("flush", e);
        }
    }

    @Override
    public void close() {
        rocks.close();
    }

    private static CorruptStateException failed(String what, RocksDBException e) {
        return new CorruptStateException("RocksDB could not " + what + " metadata", e);
    }
}
