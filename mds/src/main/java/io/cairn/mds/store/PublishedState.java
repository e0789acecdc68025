package io.cairn.mds.store;

import io.cairn.common.map.ClusterMap;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.Snapshot;

/**
 * The state after one entry: a RocksDB snapshot and what is kept in memory beside it. Counts who
 * uses it, the store itself included for as long as it is the newest; the last to release it gives
 * the snapshot back. Any thread.
 */
final class PublishedState {
    final Position position;
    final Counters counters;
    final ClusterMap map;
    final ClusterSettings settings;
    final Snapshot snapshot;

    private final MetaDatabase db;
    private final AtomicInteger users = new AtomicInteger(1);
    private @Nullable ReadOptions options;

    /** By the committing thread: of the database as it is now. */
    PublishedState(
            MetaDatabase db,
            Position position,
            Counters counters,
            ClusterMap map,
            ClusterSettings settings) {
        this.db = db;
        this.position = position;
        this.counters = counters;
        this.map = map;
        this.settings = settings;
        this.snapshot = db.snapshot();
    }

    /** False where it is given back already: a newer one is published then. */
    boolean retain() {
        return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
    }

    void release() {
        if (users.decrementAndGet() == 0) {
            synchronized (this) {
                if (options != null) {
                    options.close();
                }
            }
            db.release(snapshot);
        }
    }

    /** Most states are never read from the database: made by the first who does. */
    synchronized ReadOptions options() {
        ReadOptions as = options;
        if (as == null) {
            as = new ReadOptions().setSnapshot(snapshot);
            options = as;
        }
        return as;
    }
}
