package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.MetaStore.EntryKey;
import io.cairn.mds.store.MetaStore.KeyValue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/**
 * What one log entry reads and changes: its own changes over the committed state, so that each
 * mutation of a batch sees those before it. The applying thread only.
 *
 * <p>There is no undo: an operation checks everything before its first change.
 */
public final class StateTx implements EntryKeys {
    /** When the leader logged the entry. */
    public final Time now;

    public final Tally tally;
    public ClusterMap map;
    public ClusterSettings settings;

    private final MetaStore store;
    private final TreeMap<byte[], byte @Nullable []> rows = new TreeMap<>(Arrays::compareUnsigned);
    private final Map<Long, @Nullable Inode> inodes = new HashMap<>();
    private final Map<EntryKey, @Nullable Dentry> entries = new HashMap<>();
    private final Map<Long, @Nullable SessionRecord> sessions = new HashMap<>();
    private final List<Consumer<StateListener>> events = new ArrayList<>();

    /** Null unless somebody wants to know. */
    private @Nullable Reads reads;

    /** What {@code change} was when the present mutation began, of the inodes it edits. */
    private final Map<Long, Long> changeBefore = new HashMap<>();

    private boolean repeatsAnswers;
    private List<Move> moves = List.of();

    private record Reads(Set<Long> inodes, Set<EntryKey> names) {}

    public StateTx(MetaStore store, Time now) {
        this.store = store;
        this.now = now;
        this.tally = new Tally(store.counters());
        this.map = store.map();
        this.settings = store.settings();
    }

    // ---- inodes -------------------------------------------------------------

    public @Nullable Inode inode(long id) {
        if (reads != null) {
            reads.inodes.add(id);
        }
        return inodes.containsKey(id) ? inodes.get(id) : store.inode(id);
    }

    /** ENOENT where it does not exist. */
    public Inode require(long id) {
        Inode inode = inode(id);
        if (inode == null) {
            throw new FsException(Errno.ENOENT, "inode " + id);
        }
        return inode;
    }

    /** A copy that is written with the entry; the same one each time. The inode exists. */
    public Inode edit(long id) {
        Inode changed = inodes.get(id);
        if (changed == null) {
            changed = require(id).copy();
            inodes.put(id, changed);
        }
        changeBefore.putIfAbsent(id, changed.change);
        return changed;
    }

    /** From now on {@link #changeBefore} is asked for another mutation of the entry. */
    public void beginMutation() {
        changeBefore.clear();
    }

    /**
     * What {@code change} of an inode was before the present mutation.
     *
     * @param now what it is now
     */
    public long changeBefore(long id, long now) {
        return changeBefore.getOrDefault(id, now);
    }

    public void add(Inode inode) {
        inodes.put(inode.id, inode);
    }

    public void remove(Inode inode) {
        inodes.put(inode.id, null);
    }

    // ---- directory entries --------------------------------------------------

    public @Nullable Dentry entry(long directory, ByteString name) {
        EntryKey key = new EntryKey(directory, name);
        if (reads != null) {
            reads.names.add(key);
        }
        return entries.containsKey(key) ? entries.get(key) : store.entry(key);
    }

    public void putEntry(long directory, ByteString name, Dentry dentry) {
        entries.put(new EntryKey(directory, name), dentry);
        put(
                MetaKeys.of(MetaKeys.DENTRY, directory, name),
                DentryFormat.encode(dentry, ByteString.EMPTY));
        put(
                MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory, dentry.sequence()),
                DentryFormat.encode(dentry, name));
    }

    public void removeEntry(long directory, ByteString name, Dentry dentry) {
        entries.put(new EntryKey(directory, name), null);
        delete(MetaKeys.of(MetaKeys.DENTRY, directory, name));
        delete(MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory, dentry.sequence()));
    }

    // ---- sessions -----------------------------------------------------------

    public @Nullable SessionRecord session(long id) {
        return sessions.containsKey(id) ? sessions.get(id) : store.session(id);
    }

    public void putSession(SessionRecord session) {
        sessions.put(session.getSession(), session);
    }

    public void removeSession(long id) {
        sessions.put(id, null);
    }

    // ---- everything else ----------------------------------------------------

    public byte @Nullable [] get(byte[] key) {
        return rows.containsKey(key) ? rows.get(key) : store.get(key);
    }

    public void put(byte[] key, byte[] value) {
        rows.put(key, value);
    }

    public void delete(byte[] key) {
        rows.put(key, null);
    }

    /** All rows with the prefix. */
    public List<KeyValue> list(byte[] prefix) {
        TreeMap<byte[], byte[]> found = new TreeMap<>(Arrays::compareUnsigned);
        for (KeyValue row : store.list(prefix)) {
            found.put(row.key(), row.value());
        }
        for (Map.Entry<byte[], byte @Nullable []> e : rows.tailMap(prefix).entrySet()) {
            byte[] value = e.getValue();
            if (!MetaKeys.startsWith(e.getKey(), prefix)) {
                break;
            } else if (value == null) {
                found.remove(e.getKey());
            } else {
                found.put(e.getKey(), value);
            }
        }
        return found.entrySet().stream().map(e -> new KeyValue(e.getKey(), e.getValue())).toList();
    }

    /**
     * The first rows with the prefix at or after {@code from}, as they were before this entry: for
     * one that comes to them first.
     */
    public List<KeyValue> listStored(byte[] prefix, byte[] from, int max) {
        return store.list(prefix, from, max);
    }

    /** The first key with the prefix at or after {@code from}; reads no row more than it must. */
    public byte @Nullable [] firstKey(byte[] prefix, byte[] from) {
        byte[] stored = store.firstKey(prefix, from, this::deletes);
        for (Map.Entry<byte[], byte @Nullable []> e : rows.tailMap(from).entrySet()) {
            byte[] key = e.getKey();
            if (!MetaKeys.startsWith(key, prefix)
                    || (stored != null && Arrays.compareUnsigned(key, stored) >= 0)) {
                break;
            }
            if (e.getValue() != null) {
                return key;
            }
        }
        return stored;
    }

    /** The same with its value. */
    public @Nullable KeyValue firstRow(byte[] prefix, byte[] from) {
        byte[] key = firstKey(prefix, from);
        byte[] value = key == null ? null : get(key);
        return key == null || value == null ? null : new KeyValue(key, value);
    }

    /** Whether the row is gone with this entry. */
    public boolean deletes(byte[] key) {
        return rows.containsKey(key) && rows.get(key) == null;
    }

    // ---- what an answer may tell of -----------------------------------------

    /** From now on notes what is read. */
    public void noteReads() {
        reads = new Reads(new HashSet<>(), new HashSet<>());
    }

    /** Answers of earlier entries are given once more. */
    public void repeatAnswers() {
        repeatsAnswers = true;
    }

    /** Something was renamed from the one directory into the other one. */
    public void moved(long from, long to) {
        if (moves.isEmpty()) {
            moves = new ArrayList<>();
        }
        moves.add(new Move(from, to));
    }

    @Override
    public Set<Long> changedInodes() {
        return inodes.keySet();
    }

    @Override
    public Set<EntryKey> changedNames() {
        return entries.keySet();
    }

    @Override
    public boolean changesAttributes(long id) {
        Inode before = store.inode(id);
        Inode after = inodes.get(id);
        if (before != null && before.nlink == 0 && after == null) {
            return false; // for clients it was gone before it is freed
        }
        return before == null
                || after == null
                || after.openers > before.openers // others no longer know its size for certain
                || !before.toAttr().equals(after.toAttr());
    }

    @Override
    public Set<Long> readInodes() {
        return reads == null ? Set.of() : reads.inodes;
    }

    @Override
    public Set<EntryKey> readNames() {
        return reads == null ? Set.of() : reads.names;
    }

    @Override
    public boolean repeatsAnswers() {
        return repeatsAnswers;
    }

    @Override
    public List<Move> moves() {
        return moves;
    }

    // ---- the end ------------------------------------------------------------

    /** To be told to every listener once the entry is committed. */
    public void announce(Consumer<StateListener> event) {
        events.add(event);
    }

    public List<Consumer<StateListener>> events() {
        return events;
    }

    Map<Long, @Nullable Inode> inodes() {
        return inodes;
    }

    Map<EntryKey, @Nullable Dentry> entries() {
        return entries;
    }

    Map<Long, @Nullable SessionRecord> sessions() {
        return sessions;
    }

    /** The order of the rows does not matter: each key occurs once. */
    void writeTo(WriteBatch batch, long term, long index) {
        try {
            for (Map.Entry<Long, @Nullable Inode> e : inodes.entrySet()) {
                Inode inode = e.getValue();
                write(
                        batch,
                        MetaKeys.of(MetaKeys.INODE, e.getKey()),
                        inode == null ? null : InodeFormat.encode(inode));
            }
            for (Map.Entry<Long, @Nullable SessionRecord> e : sessions.entrySet()) {
                SessionRecord session = e.getValue();
                write(
                        batch,
                        MetaKeys.of(MetaKeys.SESSION, e.getKey()),
                        session == null ? null : session.toByteArray());
            }
            for (Map.Entry<byte[], byte @Nullable []> e : rows.entrySet()) {
                write(batch, e.getKey(), e.getValue());
            }
            Counters counters = tally.counters();
            if (!counters.equals(store.counters())) {
                batch.put(MetaKeys.counters(), CountersFormat.encode(counters));
            }
            if (!settings.equals(store.settings())) {
                batch.put(MetaKeys.settings(), settings.toByteArray());
            }
            batch.put(MetaKeys.position(), PositionFormat.encode(term, index));
        } catch (RocksDBException e) {
            throw new CorruptStateException("RocksDB did not take a batch", e);
        }
    }

    private static void write(WriteBatch batch, byte[] key, byte @Nullable [] value)
            throws RocksDBException {
        if (value == null) {
            batch.delete(key);
        } else {
            batch.put(key, value);
        }
    }
}
