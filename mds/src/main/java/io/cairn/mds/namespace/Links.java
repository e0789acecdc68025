package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.LinkOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RmdirOp;
import io.cairn.common.proto.UnlinkOp;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;

/** link, unlink, rmdir, and the end of inodes without a name. The applying thread only. */
final class Links {
    /** As ext4. */
    static final int MAX_LINKS = 65_000;

    private Links() {}

    static MutationResult link(StateTx tx, Caller caller, LinkOp op) {
        Inode parent = Directories.require(tx, op.getNewParent());
        Names.check(op.getNewName());
        Inode inode = tx.require(op.getInode());
        Directories.requireFree(tx, parent.id, op.getNewName());
        if (inode.isDirectory()) {
            throw new FsException(Errno.EPERM, "a hard link to directory " + inode.id);
        }
        if (inode.nlink == 0) {
            throw new FsException(Errno.ENOENT, "inode " + inode.id + " has no name any more");
        }
        if (inode.nlink >= MAX_LINKS) {
            throw new FsException(Errno.EMLINK, "inode " + inode.id);
        }
        Inode linked = tx.edit(inode.id);
        linked.nlink++;
        linked.touch(caller.time());
        Inode changed = Directories.add(tx, parent.id, op.getNewName(), linked, caller.time());
        return result(tx, linked, changed);
    }

    static MutationResult unlink(StateTx tx, Caller caller, UnlinkOp op) {
        Inode parent = Directories.require(tx, op.getParent());
        Names.check(op.getName());
        Dentry entry = Directories.requireEntry(tx, parent.id, op.getName());
        if (entry.isDirectory()) {
            throw new FsException(Errno.EISDIR, "'" + op.getName().toStringUtf8() + "'");
        }
        Inode changed = Directories.remove(tx, parent.id, op.getName(), entry, caller.time());
        return result(tx, dropName(tx, entry.inode(), caller.time()), changed);
    }

    static MutationResult rmdir(StateTx tx, Caller caller, RmdirOp op) {
        Inode parent = Directories.require(tx, op.getParent());
        Names.check(op.getName());
        Dentry entry = Directories.requireEntry(tx, parent.id, op.getName());
        if (!entry.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, "'" + op.getName().toStringUtf8() + "'");
        }
        if (tx.require(entry.inode()).size != 0) {
            throw new FsException(Errno.ENOTEMPTY, "'" + op.getName().toStringUtf8() + "'");
        }
        Inode changed = Directories.remove(tx, parent.id, op.getName(), entry, caller.time());
        changed.nlink--;
        return result(tx, dropName(tx, entry.inode(), caller.time()), changed);
    }

    /**
     * Takes one name away, of an empty directory its only one: the inode stays as an orphan while a
     * session holds it open, or may do so for reading, else it is freed. Returns it as it is or was
     * last.
     */
    static Inode dropName(StateTx tx, long id, Time time) {
        Inode inode = tx.edit(id);
        inode.nlink = inode.isDirectory() ? 0 : inode.nlink - 1;
        inode.touch(time);
        if (inode.nlink == 0) {
            if (inode.openers > 0 || staysForReaders(tx, inode)) {
                tx.put(MetaKeys.of(MetaKeys.ORPHAN, id), new byte[0]);
                if (inode.openers == 0) {
                    unused(tx, inode);
                }
            } else {
                free(tx, inode);
            }
        }
        return inode;
    }

    /**
     * The orphan has no openers any more: it is freed, or else the leader is told, who knows
     * whether somebody has it open for reading.
     */
    static void unused(StateTx tx, Inode orphan) {
        if (staysForReaders(tx, orphan)) {
            long id = orphan.id;
            tx.announce(listener -> listener.nameless(id));
        } else {
            freeOrphan(tx, orphan);
        }
    }

    private static boolean staysForReaders(StateTx tx, Inode inode) {
        return inode.isRegular() && Features.level(tx.settings) >= Features.READ_OPENS;
    }

    /** Nobody has these open for reading, as the leader says. */
    static ApplyReply.Builder free(StateTx tx, FreeInodesEntry entry) {
        for (long id : entry.getInodesList()) {
            Inode inode = tx.inode(id);
            if (inode != null && inode.nlink == 0 && inode.openers == 0) {
                freeOrphan(tx, inode);
            }
        }
        return ApplyReply.newBuilder();
    }

    private static void freeOrphan(StateTx tx, Inode orphan) {
        tx.delete(MetaKeys.of(MetaKeys.ORPHAN, orphan.id));
        free(tx, orphan);
    }

    /** Ends an inode without names and openers; its data goes into the deletion queue. */
    private static void free(StateTx tx, Inode inode) {
        tx.remove(inode);
        if (inode.xattrListBytes > 0) {
            for (KeyValue row : tx.list(MetaKeys.of(MetaKeys.XATTR, inode.id))) {
                tx.delete(row.key());
            }
        }
        tx.tally.inodesUsed--;
        if (inode.isRegular()) {
            tx.tally.bytesUsed -= inode.size;
            if (!inode.truncations.isEmpty()) {
                tx.delete(MetaKeys.of(MetaKeys.TRUNCATING, inode.id));
            }
        }
        if (inode.isRegular()) {
            Moves.freed(tx, inode);
        }
        if (inode.isRegular() && inode.ceiling > 0) {
            DeletionQueue.add(tx, inode);
        } else {
            PoolUsers.fewer(tx, inode.layout);
        }
    }

    private static MutationResult result(StateTx tx, Inode inode, Inode parent) {
        return MutationResult.newBuilder()
                .setAttr(OwnChanges.attr(tx, inode))
                .setParent(parent.toAttr())
                .build();
    }
}
