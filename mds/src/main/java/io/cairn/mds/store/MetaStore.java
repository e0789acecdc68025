package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.mds.map.MapState;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.StampedLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rocksdb.WriteBatch;

/**
 * The database with what is kept of it in memory: a bounded cache of inodes and entries, all
 * sessions, the map and the counters.
 *
 * <p>One thread commits; any thread reads. A reader sees one state between two entries by one of
 * three means: {@link #consistently} (excludes a commit for as long as a few lookups take; the
 * caches are filled only there, so that nothing older than the last commit enters them), an
 * optimistic look at the caches alone ({@link #cachedEntry}), or a RocksDB snapshot (listings). A
 * commit holds the lock only while its batch is written and the caches follow.
 */
public final class MetaStore {
    /** A key and its value. */
    public record KeyValue(byte[] key, byte[] value) {}

    /** A name in a directory. */
    public record EntryKey(long directory, ByteString name) {}

    private final MetaDatabase db;
    private final BoundedCache<Long, Inode> inodes;
    private final BoundedCache<EntryKey, Dentry> entries;
    private final ConcurrentSkipListMap<Long, SessionRecord> sessions =
            new ConcurrentSkipListMap<>();
    private final StampedLock commits = new StampedLock();
    private final WriteBatch batch = new WriteBatch();

    private volatile Position position;
    private volatile Counters counters;
    private volatile MapState map;
    private volatile ClusterSettings settings;

    public static MetaStore open(Path directory, MetaStateConfig config) throws IOException {
        MetaDatabase db = MetaDatabase.open(directory, config);
        try {
            return new MetaStore(db, config.cachedInodes());
        } catch (RuntimeException e) {
            db.close();
            throw e;
        }
    }

    private MetaStore(MetaDatabase db, int cachedInodes) {
        this.db = db;
        this.inodes = new BoundedCache<>(cachedInodes);
        this.entries = new BoundedCache<>(cachedInodes);
        byte[] stored = db.get(MetaKeys.position());
        position = stored == null ? new Position(0, 0) : PositionFormat.decode(stored);
        stored = db.get(MetaKeys.counters());
        counters =
                stored == null
                        ? new Counters(0, 0, 0, 0, 1, 1, 0, 0, 0)
                        : CountersFormat.decode(stored);
        map = loadMap();
        settings = loadSettings();
        for (KeyValue row : list(MetaKeys.prefix(MetaKeys.SESSION))) {
            SessionRecord session = parseSession(row.value());
            sessions.put(session.getSession(), session);
        }
    }

    public MetaDatabase database() {
        return db;
    }

    /** Nobody may be in it, nor come back. */
    public void close() {
        batch.close();
        db.close();
    }

    // ---- reading ------------------------------------------------------------

    public Position position() {
        return position;
    }

    public Counters counters() {
        return counters;
    }

    public MapState map() {
        return map;
    }

    public ClusterSettings settings() {
        return settings;
    }

    public @Nullable SessionRecord session(long id) {
        return sessions.get(id);
    }

    public List<SessionRecord> sessions() {
        return List.copyOf(sessions.values());
    }

    public byte @Nullable [] get(byte[] key) {
        return db.get(key);
    }

    /** By the committing thread, or inside {@link #consistently}. */
    public @Nullable Inode inode(long id) {
        Inode inode = inodes.get(id);
        if (inode == null) {
            byte[] value = db.get(MetaKeys.of(MetaKeys.INODE, id));
            if (value != null) {
                inode = InodeFormat.decode(id, value);
                inodes.put(id, inode);
            }
        }
        return inode;
    }

    /** By the committing thread, or inside {@link #consistently}. */
    public @Nullable Dentry entry(EntryKey key) {
        Dentry dentry = entries.get(key);
        if (dentry == null) {
            byte[] value = db.get(MetaKeys.of(MetaKeys.DENTRY, key.directory(), key.name()));
            if (value != null) {
                dentry = DentryFormat.decode(value);
                entries.put(key, dentry);
            }
        }
        return dentry;
    }

    /** The inode a name leads to if the caches know it, of one state; null says nothing. */
    public @Nullable Inode cachedEntry(EntryKey key) {
        long stamp = commits.tryOptimisticRead();
        if (stamp == 0) {
            return null;
        }
        Dentry dentry = entries.get(key);
        Inode inode = dentry == null ? null : inodes.get(dentry.inode());
        return commits.validate(stamp) ? inode : null;
    }

    /** The inode if the cache knows it; null says nothing. One read needs no consistency. */
    public @Nullable Inode cachedInode(long id) {
        return inodes.get(id);
    }

    /** Runs a few reads with no commit between them. */
    public <T extends @Nullable Object> T consistently(Supplier<T> reads) {
        long stamp = commits.readLock();
        try {
            return reads.get();
        } finally {
            commits.unlockRead(stamp);
        }
    }

    public List<KeyValue> list(byte[] prefix) {
        return list(prefix, prefix, Integer.MAX_VALUE);
    }

    /** The first keys with the prefix at or after {@code from}, of one state. */
    public List<KeyValue> list(byte[] prefix, byte[] from, int max) {
        List<KeyValue> found = new ArrayList<>();
        try (PrefixIterator it = db.rows(null, prefix, from)) {
            for (; found.size() < max && it.isValid(); it.next()) {
                found.add(new KeyValue(it.key(), it.value()));
            }
        }
        return found;
    }

    /** The first key with the prefix at or after {@code from} that is not to be passed over. */
    byte @Nullable [] firstKey(byte[] prefix, byte[] from, Predicate<byte[]> passOver) {
        try (PrefixIterator it = db.rows(null, prefix, from)) {
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                if (!passOver.test(key)) {
                    return key;
                }
            }
        }
        return null;
    }

    // ---- committing ---------------------------------------------------------

    /** Writes what an entry changed, in one batch, and lets the caches follow. */
    public void commit(StateTx tx, long term, long index) {
        batch.clear();
        tx.writeTo(batch, term, index);
        long stamp = commits.writeLock();
        try {
            db.write(batch);
            for (Map.Entry<Long, @Nullable Inode> e : tx.inodes().entrySet()) {
                follow(inodes, e.getKey(), e.getValue());
            }
            for (Map.Entry<EntryKey, @Nullable Dentry> e : tx.entries().entrySet()) {
                follow(entries, e.getKey(), e.getValue());
            }
            for (Map.Entry<Long, @Nullable SessionRecord> e : tx.sessions().entrySet()) {
                SessionRecord session = e.getValue();
                if (session == null) {
                    sessions.remove(e.getKey());
                } else {
                    sessions.put(e.getKey(), session);
                }
            }
            counters = tx.tally.counters();
            map = tx.map;
            settings = tx.settings;
            position = new Position(term, index);
        } finally {
            commits.unlockWrite(stamp);
        }
    }

    private static <K, V> void follow(BoundedCache<K, V> cache, K key, @Nullable V value) {
        if (value == null) {
            cache.remove(key);
        } else {
            cache.put(key, value);
        }
    }

    // ---- loading ------------------------------------------------------------

    private MapState loadMap() {
        byte[] clusterId = db.get(MetaKeys.clusterId());
        if (clusterId == null) {
            return MapState.EMPTY;
        }
        MapUpdate.Builder full =
                MapUpdate.newBuilder()
                        .setClusterId(ByteString.copyFrom(clusterId))
                        .setEpoch(counters.mapEpoch());
        try {
            for (byte kind : MapRecords.KINDS) {
                for (KeyValue row : list(MetaKeys.prefix(kind))) {
                    MapRecords.add(full, row.key(), row.value());
                }
            }
        } catch (InvalidProtocolBufferException e) {
            throw new CorruptStateException("a part of the stored cluster map is damaged", e);
        }
        return MapState.of(full.build());
    }

    private ClusterSettings loadSettings() {
        byte[] stored = db.get(MetaKeys.settings());
        try {
            return stored == null
                    ? ClusterSettings.getDefaultInstance()
                    : ClusterSettings.parseFrom(stored);
        } catch (InvalidProtocolBufferException e) {
            throw new CorruptStateException("the stored settings of the cluster are damaged", e);
        }
    }

    private static SessionRecord parseSession(byte[] value) {
        try {
            return SessionRecord.parseFrom(value);
        } catch (InvalidProtocolBufferException e) {
            throw new CorruptStateException("a stored session is damaged", e);
        }
    }
}
