package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.MetaStore.EntryKey;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.Mode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads of one store, each of one state; any thread that has retained the store. */
final class MetaReader {
    private final MetaStore store;

    MetaReader(MetaStore store) {
        this.store = store;
    }

    Attr lookup(long parent, ByteString name) {
        if (name.equals(Names.DOT)) {
            return getAttr(parent);
        }
        if (name.equals(Names.DOT_DOT)) {
            return store.consistently(() -> require(directory(parent).parent)).toAttr();
        }
        EntryKey key = new EntryKey(parent, name);
        Inode cached = store.cachedEntry(key);
        return (cached != null ? cached : store.consistently(() -> find(key))).toAttr();
    }

    private Inode find(EntryKey key) {
        directory(key.directory());
        Names.check(key.name());
        Dentry entry = store.entry(key);
        if (entry == null) {
            throw new FsException(Errno.ENOENT, "no '" + key.name().toStringUtf8() + "'");
        }
        return require(entry.inode());
    }

    Attr getAttr(long id) {
        return inode(id).toAttr();
    }

    ByteString readLink(long id) {
        Inode inode = inode(id);
        if (!Mode.isSymlink(inode.mode)) {
            throw new FsException(Errno.EINVAL, "inode " + id + " is no symbolic link");
        }
        return inode.target;
    }

    ByteString getXattr(long id, ByteString name) {
        Inode inode = inode(id);
        ExtendedAttributes.checkName(name);
        if (LayoutXattr.isLayout(name)) {
            return LayoutXattr.get(store.map(), inode);
        }
        byte @Nullable [] value =
                inode.xattrListBytes == 0 ? null : store.get(MetaKeys.of(MetaKeys.XATTR, id, name));
        if (value == null) {
            throw new FsException(Errno.ENODATA, name.toStringUtf8());
        }
        return ByteString.copyFrom(value);
    }

    List<ByteString> listXattr(long id) {
        if (inode(id).xattrListBytes == 0) {
            return List.of();
        }
        List<ByteString> names = new ArrayList<>();
        for (KeyValue row : store.list(MetaKeys.of(MetaKeys.XATTR, id))) {
            names.add(ByteString.copyFrom(row.key(), 9, row.key().length - 9));
        }
        return names;
    }

    int openCount(long session, long inode) {
        byte[] count = store.get(MetaKeys.of(MetaKeys.OPEN, session, inode));
        return count == null ? 0 : MetaKeys.intAt(count, 0);
    }

    long appender(long id) {
        Inode inode = store.consistently(() -> store.inode(id));
        return inode == null ? 0 : inode.appender;
    }

    List<DeletionRecord> deletions(long afterSequence, int max) {
        long from = Math.max(afterSequence + 1, store.counters().deletionHead());
        byte[] key = MetaKeys.of(MetaKeys.DELETION, from);
        return store.list(MetaKeys.prefix(MetaKeys.DELETION), key, max).stream()
                .map(row -> DeletionQueue.parse(row.value()))
                .toList();
    }

    List<Attr> pendingTruncations(long afterInode, int max) {
        List<Attr> found = new ArrayList<>();
        for (long id : ids(MetaKeys.TRUNCATING, afterInode, max)) {
            Attr attr = attr(id);
            if (attr != null) {
                found.add(attr);
            }
        }
        return found;
    }

    @Nullable Attr attr(long id) {
        Inode inode = store.consistently(() -> store.inode(id));
        return inode == null ? null : inode.toAttr();
    }

    /** Inode ids that are the keys of a kind. */
    List<Long> ids(byte kind, long after, int max) {
        byte[] from = MetaKeys.of(kind, after + 1);
        return store.list(MetaKeys.prefix(kind), from, max).stream()
                .map(row -> MetaKeys.longAt(row.key(), 1))
                .toList();
    }

    private Inode inode(long id) {
        Inode cached = store.cachedInode(id);
        return cached != null ? cached : store.consistently(() -> require(id));
    }

    private Inode require(long id) {
        Inode inode = store.inode(id);
        if (inode == null) {
            throw new FsException(Errno.ENOENT, "inode " + id);
        }
        return inode;
    }

    private Inode directory(long id) {
        Inode inode = require(id);
        if (!inode.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, "inode " + id);
        }
        return inode;
    }
}
