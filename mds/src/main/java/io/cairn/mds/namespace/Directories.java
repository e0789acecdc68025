package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;

/** Entries of directories: finding, adding and removing them. The applying thread only. */
final class Directories {
    /** Cursors 1 and 2 are left for "." and "..". */
    static final long FIRST_SEQUENCE = 3;

    private Directories() {}

    /** ENOENT for one that is gone or removed and still open, ENOTDIR. */
    static Inode require(StateTx tx, long id) {
        Inode directory = tx.require(id);
        if (!directory.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, "inode " + id);
        }
        if (directory.nlink == 0) {
            throw new FsException(Errno.ENOENT, "directory " + id + " is removed");
        }
        return directory;
    }

    /** ENOENT. */
    static Dentry requireEntry(StateTx tx, long directory, ByteString name) {
        Dentry entry = tx.entry(directory, name);
        if (entry == null) {
            throw new FsException(Errno.ENOENT, "no '" + name.toStringUtf8() + "'");
        }
        return entry;
    }

    /** EEXIST. */
    static void requireFree(StateTx tx, long directory, ByteString name) {
        if (tx.entry(directory, name) != null) {
            throw new FsException(Errno.EEXIST, "'" + name.toStringUtf8() + "'");
        }
    }

    /** Adds an entry at the end and marks the directory modified. */
    static Inode add(StateTx tx, long directory, ByteString name, Inode inode, Time time) {
        Inode changed = tx.edit(directory);
        tx.putEntry(
                directory,
                name,
                new Dentry(inode.id, changed.nextSequence++, Mode.type(inode.mode)));
        changed.size++;
        changed.modify(time);
        return changed;
    }

    /** Removes an entry and marks the directory modified. */
    static Inode remove(StateTx tx, long directory, ByteString name, Dentry entry, Time time) {
        tx.removeEntry(directory, name, entry);
        Inode changed = tx.edit(directory);
        changed.size--;
        changed.modify(time);
        return changed;
    }

    /** Whether the first directory is the second or contains it. */
    static boolean contains(StateTx tx, long outer, long inner) {
        for (long at = inner; ; ) {
            if (at == outer) {
                return true;
            }
            if (at == NamespaceReader.ROOT_INODE) {
                return false;
            }
            at = tx.require(at).parent;
        }
    }
}
