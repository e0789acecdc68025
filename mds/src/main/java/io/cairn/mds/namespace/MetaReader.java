package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.EntryNames;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.DirectoryListing;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.InodeFormat;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.MetaStore.EntryKey;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.MetaView;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads of one store, each of one state; any thread that has retained the store. */
final class MetaReader {
    private final MetaStore store;

    MetaReader(MetaStore store) {
        this.store = store;
    }

    Attr lookup(long parent, ByteString name) {
        Attr found = lookupIfAny(parent, name);
        if (found == null) {
            throw new FsException(Errno.ENOENT, "no '" + name.toStringUtf8() + "'");
        }
        return found;
    }

    @Nullable Attr lookupIfAny(long parent, ByteString name) {
        if (name.equals(EntryNames.DOT)) {
            return getAttr(parent);
        }
        if (name.equals(EntryNames.DOT_DOT)) {
            try (MetaView view = store.view()) {
                return require(view, directory(view, parent).parent).toAnswer();
            }
        }
        EntryKey key = new EntryKey(parent, name);
        Inode cached = store.cachedEntry(key);
        Inode found = cached != null ? cached : find(key);
        return found == null ? null : found.toAnswer();
    }

    private @Nullable Inode find(EntryKey key) {
        try (MetaView view = store.view()) {
            return find(view, key);
        }
    }

    private static @Nullable Inode find(MetaView view, EntryKey key) {
        directory(view, key.directory());
        Names.check(key.name());
        Dentry entry = view.entry(key);
        return entry == null ? null : require(view, entry.inode());
    }

    Attr getAttr(long id) {
        return inode(id).toAnswer();
    }

    ReadDirReply readDir(long id, long cursor, int maxBytes, boolean withAttributes) {
        try (MetaView view = store.view()) {
            return DirectoryListing.read(view, id, cursor, maxBytes, withAttributes);
        }
    }

    ByteString readLink(long id) {
        Inode inode = inode(id);
        if (!Mode.isSymlink(inode.mode)) {
            throw new FsException(Errno.EINVAL, "inode " + id + " is no symbolic link");
        }
        return inode.target;
    }

    ByteString getXattr(long id, ByteString name) {
        try (MetaView view = store.view()) {
            Inode inode = require(view, id);
            ExtendedAttributes.checkName(name);
            if (LayoutXattr.isLayout(name)) {
                return LayoutXattr.get(view.map(), inode);
            }
            byte @Nullable [] value =
                    inode.xattrListBytes == 0
                            ? null
                            : view.get(MetaKeys.of(MetaKeys.XATTR, id, name));
            return value(name, value);
        }
    }

    private static ByteString value(ByteString name, byte @Nullable [] value) {
        if (value == null) {
            throw new FsException(Errno.ENODATA, name.toStringUtf8());
        }
        return ByteString.copyFrom(value);
    }

    List<ByteString> listXattr(long id) {
        try (MetaView view = store.view()) {
            if (require(view, id).xattrListBytes == 0) {
                return List.of();
            }
            List<ByteString> names = new ArrayList<>();
            byte[] prefix = MetaKeys.of(MetaKeys.XATTR, id);
            for (KeyValue row : view.list(prefix, prefix, Integer.MAX_VALUE)) {
                names.add(ByteString.copyFrom(row.key(), 9, row.key().length - 9));
            }
            return names;
        }
    }

    int openCount(long session, long inode) {
        try (MetaView view = store.view()) {
            byte[] count = view.get(MetaKeys.of(MetaKeys.OPEN, session, inode));
            return count == null ? 0 : MetaKeys.intAt(count, 0);
        }
    }

    boolean isUnused(long id) {
        Inode inode = inodeIfAny(id);
        return inode != null && inode.nlink == 0 && inode.openers == 0;
    }

    long appender(long id) {
        Inode inode = inodeIfAny(id);
        return inode == null ? 0 : inode.appender;
    }

    List<FileLock> locks(long id) {
        try (MetaView view = store.view()) {
            Inode inode = view.inode(id);
            return inode == null || !inode.wasLocked
                    ? List.of()
                    : FileLocks.parse(view.get(MetaKeys.of(MetaKeys.LOCKS, id)));
        }
    }

    List<FileLock> locksAfter(long after, int maxFiles) {
        byte[] from = MetaKeys.of(MetaKeys.LOCKS, after + 1);
        try (MetaView view = store.view()) {
            return view.list(MetaKeys.prefix(MetaKeys.LOCKS), from, maxFiles).stream()
                    .flatMap(row -> FileLocks.parse(row.value()).stream())
                    .toList();
        }
    }

    List<DeletionRecord> deletions(long afterSequence, int max) {
        try (MetaView view = store.view()) {
            long from = Math.max(afterSequence + 1, view.counters().deletionHead());
            byte[] key = MetaKeys.of(MetaKeys.DELETION, from);
            return view.list(MetaKeys.prefix(MetaKeys.DELETION), key, max).stream()
                    .map(row -> DeletionQueue.parse(row.value()))
                    .toList();
        }
    }

    List<Attr> pendingTruncations(long afterInode, int max) {
        return listed(MetaKeys.TRUNCATING, afterInode, max);
    }

    List<Attr> moves(long afterInode, int max) {
        return listed(MetaKeys.MOVING, afterInode, max);
    }

    private List<Attr> listed(byte kind, long afterInode, int max) {
        List<Attr> found = new ArrayList<>();
        for (long id : ids(kind, afterInode, max)) {
            Attr attr = attr(id);
            if (attr != null) {
                found.add(attr);
            }
        }
        return found;
    }

    @Nullable Attr attr(long id) {
        Inode inode = inodeIfAny(id);
        return inode == null ? null : inode.toOwnAttr();
    }

    /** Inode ids that are the keys of a kind. */
    List<Long> ids(byte kind, long after, int max) {
        byte[] from = MetaKeys.of(kind, after + 1);
        try (MetaView view = store.view()) {
            return view.list(MetaKeys.prefix(kind), from, max).stream()
                    .map(row -> MetaKeys.longAt(row.key(), 1))
                    .toList();
        }
    }

    /** The places of those that are no file's in the pool, of one state. */
    List<Integer> orphansAmong(int pool, List<Long> ids) {
        List<Integer> places = new ArrayList<>();
        try (MetaView view = store.view()) {
            Ownership.View asked = owners(view);
            for (int i = 0; i < ids.size(); i++) {
                if (Ownership.of(asked, pool, ids.get(i)).isOrphan()) {
                    places.add(i);
                }
            }
        }
        return places;
    }

    /** Past the caches: what is asked of is looked at once. */
    private static Ownership.View owners(MetaView view) {
        return new Ownership.View(
                id -> {
                    byte[] row = view.get(MetaKeys.of(MetaKeys.INODE, id));
                    return row == null ? null : InodeFormat.decode(id, row);
                },
                view::get,
                (prefix, from) -> {
                    List<KeyValue> rows = view.list(prefix, from, 1);
                    return rows.isEmpty() ? null : rows.getFirst();
                },
                view.counters().maxInode());
    }

    List<OrphanedInode> orphanedData(int afterPool, long afterInode, int max) {
        try (MetaView view = store.view()) {
            Ownership.View asked = owners(view);
            byte[] from = MetaKeys.ofMap(MetaKeys.ORPHANED, afterPool, afterInode);
            List<KeyValue> rows = view.list(MetaKeys.prefix(MetaKeys.ORPHANED), from, max + 1);
            List<OrphanedInode> found = new ArrayList<>();
            for (KeyValue row : rows) {
                if (!Arrays.equals(row.key(), from) && found.size() < max) {
                    int pool = MetaKeys.intAt(row.key(), 1);
                    long inode = MetaKeys.longAt(row.key(), 5);
                    found.add(
                            new OrphanedInode(
                                    pool,
                                    inode,
                                    OrphanedData.parse(row.value()),
                                    Ownership.of(asked, pool, inode)));
                }
            }
            return found;
        }
    }

    @Nullable OrphanedInode orphanedInode(int pool, long inode) {
        try (MetaView view = store.view()) {
            byte[] row = view.get(MetaKeys.ofMap(MetaKeys.ORPHANED, pool, inode));
            return row == null
                    ? null
                    : new OrphanedInode(
                            pool,
                            inode,
                            OrphanedData.parse(row),
                            Ownership.of(owners(view), pool, inode));
        }
    }

    Map<Integer, OrphanLookRecord> orphanLooks() {
        Map<Integer, OrphanLookRecord> looks = new HashMap<>();
        try (MetaView view = store.view()) {
            byte[] prefix = MetaKeys.prefix(MetaKeys.ORPHAN_LOOK);
            for (KeyValue row : view.list(prefix, prefix, Integer.MAX_VALUE)) {
                looks.put(
                        MetaKeys.intAt(row.key(), 1),
                        MessageRows.parse(
                                OrphanLookRecord.parser(), row.value(), "a look for orphans"));
            }
        }
        return looks;
    }

    private Inode inode(long id) {
        Inode inode = inodeIfAny(id);
        if (inode == null) {
            throw absent(id);
        }
        return inode;
    }

    private @Nullable Inode inodeIfAny(long id) {
        Inode cached = store.cachedInode(id);
        if (cached != null) {
            return cached;
        }
        try (MetaView view = store.view()) {
            return view.inode(id);
        }
    }

    private static Inode require(MetaView view, long id) {
        Inode inode = view.inode(id);
        if (inode == null) {
            throw absent(id);
        }
        return inode;
    }

    private static Inode directory(MetaView view, long id) {
        Inode inode = require(view, id);
        if (!inode.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, "inode " + id);
        }
        return inode;
    }

    private static FsException absent(long id) {
        return new FsException(Errno.ENOENT, "inode " + id);
    }
}
