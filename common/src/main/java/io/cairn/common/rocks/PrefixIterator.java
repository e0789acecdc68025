package io.cairn.common.rocks;

import java.util.Arrays;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;

/**
 * The rows whose keys begin with a prefix, in order, of one state of the database. One thread;
 * close it after use.
 *
 * <p>The end is RocksDB's own upper bound. An iterator without one that has passed the last such
 * row walks on over all deleted keys behind it until it meets a live one, and there may be
 * millions.
 */
public final class PrefixIterator implements AutoCloseable {
    private final @Nullable Slice end;
    private final ReadOptions options;
    private final RocksIterator rows;
    private final Function<RocksDBException, RuntimeException> failure;

    /**
     * @param snapshot the state to read, null for the present one; to be released later than this
     * @param prefix empty for all rows
     * @param from stands on the first row at or above this key
     * @param failure what to throw when a row cannot be read
     */
    PrefixIterator(
            RocksDB db,
            @Nullable Snapshot snapshot,
            byte[] prefix,
            byte[] from,
            Function<RocksDBException, RuntimeException> failure) {
        byte @Nullable [] after = after(prefix);
        this.end = after == null ? null : new Slice(after);
        this.options = new ReadOptions();
        if (end != null) {
            options.setIterateUpperBound(end);
        }
        if (snapshot != null) {
            options.setSnapshot(snapshot);
        }
        this.rows = db.newIterator(options);
        this.failure = failure;
        rows.seek(from);
    }

    /** False behind the last row. */
    public boolean isValid() {
        if (rows.isValid()) {
            return true;
        }
        try {
            rows.status();
            return false;
        } catch (RocksDBException e) {
            throw failure.apply(e);
        }
    }

    public byte[] key() {
        return rows.key();
    }

    public byte[] value() {
        return rows.value();
    }

    public void next() {
        rows.next();
    }

    /** Goes to the first row at or above the key. */
    public void seek(byte[] key) {
        rows.seek(key);
    }

    @Override
    public void close() {
        rows.close();
        options.close();
        if (end != null) {
            end.close();
        }
    }

    /** The first key above all that begin with the prefix; null if there is none. */
    private static byte @Nullable [] after(byte[] prefix) {
        int last = prefix.length - 1;
        while (last >= 0 && prefix[last] == (byte) 0xff) {
            last--;
        }
        if (last < 0) {
            return null;
        }
        byte[] after = Arrays.copyOf(prefix, last + 1);
        after[last]++;
        return after;
    }
}
