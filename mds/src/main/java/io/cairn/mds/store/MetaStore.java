package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.rocks.PrefixIterator;
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
import org.jspecify.annotations.Nullable;
import org.rocksdb.WriteBatch;

/**
 * The database with what is kept of it in memory: a bounded cache of inodes and entries, all
 * sessions, the map and the counters.
 *
 * <p>One thread commits, and reads what it commits to. Any other thread reads one state between two
 * entries: that of a {@link MetaView}, or of an optimistic look at the caches alone ({@link
 * #cachedEntry}, {@link #cachedInode}). A commit writes its batch first, which no view shows yet;
 * then the caches follow and the next state is published, in one step for every reader. So reads
 * never go backwards: who has seen an entry's effect, by whatever way, sees it ever after.
 *
 * <p>Nobody waits for anybody. The lock is held by commits alone, while the caches follow; for
 * readers it is the stamp of what the caches hold: they use them, and put into them what they have
 * read, only while it is that of their own state.
 */
public final class MetaStore {
    /** A key and its value. */
    public record KeyValue(byte[] key, byte[] value) {}

    /** A name in a directory. */
    public record EntryKey(long directory, ByteString name) {}

    /** Directories whose gaps are remembered: at most some hundred KiB. */
    private static final int GAP_DIRECTORIES = 1024;

    private final MetaDatabase db;
    private final BoundedCache<Long, Inode> inodes;
    private final BoundedCache<EntryKey, Dentry> entries;
    private final ConcurrentSkipListMap<Long, SessionRecord> sessions =
            new ConcurrentSkipListMap<>();
    private final DirectoryGaps gaps = new DirectoryGaps(GAP_DIRECTORIES);
    private final StampedLock commits = new StampedLock();
    private final WriteBatch batch = new WriteBatch();

    /** What readers see; by the committing thread alone replaced by the next. */
    private volatile PublishedState published;

    public static MetaStore open(Path directory, MetaStateConfig config) throws IOException {
        return open(MetaDatabase.open(directory, config), config.cachedInodes());
    }

    /** Closes the database where it cannot be read. */
    static MetaStore open(MetaDatabase db, int cachedInodes) {
        try {
            return new MetaStore(db, cachedInodes);
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
        Position position = stored == null ? new Position(0, 0) : PositionFormat.decode(stored);
        stored = db.get(MetaKeys.counters());
        Counters counters =
                stored == null
                        ? new Counters(0, 0, 0, 0, 1, 1, 0, 0, 0)
                        : CountersFormat.decode(stored);
        for (KeyValue row : list(MetaKeys.prefix(MetaKeys.SESSION))) {
            SessionRecord session = parseSession(row.value());
            sessions.put(session.getSession(), session);
        }
        published =
                new PublishedState(
                        db, position, counters, loadMap(counters.mapEpoch()), loadSettings());
    }

    public MetaDatabase database() {
        return db;
    }

    /** Nobody may be in it, nor come back. */
    public void close() {
        published.release();
        batch.close();
        db.close();
    }

    // ---- reading, any thread ------------------------------------------------

    public Position position() {
        return published.position;
    }

    public Counters counters() {
        return published.counters;
    }

    public ClusterMap map() {
        return published.map;
    }

    public ClusterSettings settings() {
        return published.settings;
    }

    public @Nullable SessionRecord session(long id) {
        return sessions.get(id);
    }

    public List<SessionRecord> sessions() {
        return List.copyOf(sessions.values());
    }

    /** The present state, to be closed by the reader. */
    public MetaView view() {
        // The stamp first: of an earlier state than the view's it is no longer valid, and harmless.
        long stamp = commits.tryOptimisticRead();
        PublishedState state = published;
        while (!state.retain()) {
            state = published;
        }
        return new MetaView(this, state, stamp);
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

    /** The inode if the cache knows it; null says nothing. */
    public @Nullable Inode cachedInode(long id) {
        return cachedInode(id, commits.tryOptimisticRead());
    }

    @Nullable Inode cachedInode(long id, long stamp) {
        Inode inode = stamp == 0 ? null : inodes.get(id);
        return commits.validate(stamp) ? inode : null;
    }

    @Nullable Dentry cachedEntry(EntryKey key, long stamp) {
        Dentry dentry = stamp == 0 ? null : entries.get(key);
        return commits.validate(stamp) ? dentry : null;
    }

    DirectoryGaps gaps() {
        return gaps;
    }

    /** Unless an entry was committed since the stamp was taken. */
    void remember(long id, Inode inode, long stamp) {
        inodes.put(id, inode, () -> commits.validate(stamp));
    }

    /** Unless an entry was committed since the stamp was taken. */
    void remember(EntryKey key, Dentry dentry, long stamp) {
        entries.put(key, dentry, () -> commits.validate(stamp));
    }

    // ---- reading, the committing thread or where nobody commits ---------------

    public byte @Nullable [] get(byte[] key) {
        return db.get(key);
    }

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

    public List<KeyValue> list(byte[] prefix) {
        return list(prefix, prefix, Integer.MAX_VALUE);
    }

    /** The first keys with the prefix at or after {@code from}. */
    public List<KeyValue> list(byte[] prefix, byte[] from, int max) {
        return list(db.rows(null, prefix, from), max);
    }

    static List<KeyValue> list(PrefixIterator rows, int max) {
        List<KeyValue> found = new ArrayList<>();
        try (PrefixIterator it = rows) {
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

    /** Writes what an entry changed, in one batch, and shows it to readers. */
    public void commit(StateTx tx, long term, long index) {
        batch.clear();
        tx.writeTo(batch, term, index);
        db.write(batch);
        PublishedState before = published;
        PublishedState after =
                new PublishedState(
                        db, new Position(term, index), tx.tally.counters(), tx.map, tx.settings);
        long stamp = commits.writeLock();
        try {
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
            published = after;
        } finally {
            commits.unlockWrite(stamp);
        }
        before.release();
    }

    private static <K, V> void follow(BoundedCache<K, V> cache, K key, @Nullable V value) {
        if (value == null) {
            cache.remove(key);
        } else {
            cache.put(key, value);
        }
    }

    // ---- loading ------------------------------------------------------------

    private ClusterMap loadMap(long epoch) {
        byte[] clusterId = db.get(MetaKeys.clusterId());
        if (clusterId == null) {
            return ClusterMap.EMPTY;
        }
        MapUpdate.Builder full =
                MapUpdate.newBuilder().setClusterId(ByteString.copyFrom(clusterId)).setEpoch(epoch);
        for (byte kind : MapRecords.KINDS) {
            for (KeyValue row : list(MetaKeys.prefix(kind))) {
                MapRecords.add(full, row.key(), row.value());
            }
        }
        return ClusterMap.of(full.build());
    }

    private ClusterSettings loadSettings() {
        byte[] stored = db.get(MetaKeys.settings());
        return stored == null
                ? ClusterSettings.getDefaultInstance()
                : MessageRows.parse(
                        ClusterSettings.parser(), stored, "the record of the cluster's settings");
    }

    private static SessionRecord parseSession(byte[] value) {
        return MessageRows.parse(SessionRecord.parser(), value, "a stored session");
    }
}
