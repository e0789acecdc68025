package io.cairn.mds.store;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.mds.store.DirectoryGaps.Gap;
import io.cairn.mds.store.MetaStore.EntryKey;
import io.cairn.mds.store.MetaStore.KeyValue;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One state of the store, to read while entries are committed: neither waits for the other. Short:
 * it keeps RocksDB from dropping what was overwritten meanwhile. One thread, which closes it.
 */
public final class MetaView implements AutoCloseable {
    private final MetaStore store;
    private final PublishedState state;

    /** Of the caches while they hold this state; invalid as soon as they go on to another. */
    private final long stamp;

    MetaView(MetaStore store, PublishedState state, long stamp) {
        this.store = store;
        this.state = state;
        this.stamp = stamp;
    }

    public Counters counters() {
        return state.counters;
    }

    public ClusterMap map() {
        return state.map;
    }

    /** Kept in the cache where this state is still the newest. */
    public @Nullable Inode inode(long id) {
        Inode inode = store.cachedInode(id, stamp);
        if (inode == null) {
            inode = storedInode(id);
            if (inode != null) {
                store.remember(id, inode, stamp);
            }
        }
        return inode;
    }

    /** Past the cache, for what is read once: listings. */
    @Nullable Inode storedInode(long id) {
        byte[] value = get(MetaKeys.of(MetaKeys.INODE, id));
        return value == null ? null : InodeFormat.decode(id, value);
    }

    /** Past the cache, all at once; null for each that does not exist. */
    List<@Nullable Inode> storedInodes(long[] ids) {
        List<byte[]> keys = new ArrayList<>(ids.length);
        for (long id : ids) {
            keys.add(MetaKeys.of(MetaKeys.INODE, id));
        }
        List<byte @Nullable []> values = store.database().get(state.options(), keys);
        List<@Nullable Inode> inodes = new ArrayList<>(ids.length);
        for (int i = 0; i < ids.length; i++) {
            byte[] value = values.get(i);
            inodes.add(value == null ? null : InodeFormat.decode(ids[i], value));
        }
        return inodes;
    }

    /** Kept in the cache where this state is still the newest. */
    public @Nullable Dentry entry(EntryKey key) {
        Dentry dentry = store.cachedEntry(key, stamp);
        if (dentry == null) {
            byte[] value = get(MetaKeys.of(MetaKeys.DENTRY, key.directory(), key.name()));
            if (value != null) {
                dentry = DentryFormat.decode(value);
                store.remember(key, dentry, stamp);
            }
        }
        return dentry;
    }

    public byte @Nullable [] get(byte[] key) {
        return store.database().get(state.options(), key);
    }

    /** The first keys with the prefix at or after {@code from}. */
    public List<KeyValue> list(byte[] prefix, byte[] from, int max) {
        return MetaStore.list(rows(prefix, from), max);
    }

    /** Of the last entry that it shows. */
    long index() {
        return state.position.index();
    }

    /** Those of the directory that are known, of other states. */
    List<Gap> gaps(long directory) {
        return store.gaps().of(directory);
    }

    /** There are no entries here in this state ({@link DirectoryGaps#found}). */
    void foundGap(long directory, long from, long to) {
        store.gaps().found(directory, from, to, index());
    }

    /** To be closed before the view is. */
    PrefixIterator rows(byte[] prefix, byte[] from) {
        return store.database().rows(state.snapshot, prefix, from);
    }

    @Override
    public void close() {
        state.release();
    }
}
