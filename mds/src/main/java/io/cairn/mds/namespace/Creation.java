package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.posix.EntryNames;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MknodOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SymlinkOp;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;
import org.jspecify.annotations.Nullable;

/** create, mkdir, mknod, symlink. The applying thread only. */
final class Creation {
    private Creation() {}

    static MutationResult create(StateTx tx, Caller caller, CreateOp op) {
        Inode parent = Directories.require(tx, op.getParent());
        Names.check(op.getName());
        Dentry present = tx.entry(parent.id, op.getName());
        if (present != null) {
            return openPresent(tx, caller, op, present);
        }
        Inode file =
                made(tx, caller, parent, Mode.REGULAR | permissions(op.getMode()), op.getInode());
        Inode changed = Directories.add(tx, parent.id, op.getName(), file, caller.time());
        MutationResult.Builder result = result(tx, file, changed).setCreated(true);
        if (op.getOpen()) {
            OpenFiles.open(tx, caller.session(), file.id);
            result.setAppendRight(
                    op.getAppend() && AppendRights.taken(tx, caller.session(), file.id));
        }
        return result.build();
    }

    private static MutationResult openPresent(
            StateTx tx, Caller caller, CreateOp op, Dentry present) {
        if (!op.getExclusive() && present.isDirectory()) {
            throw new FsException(Errno.EISDIR, "'" + op.getName().toStringUtf8() + "'");
        }
        if (op.getExclusive() || present.type() != Mode.REGULAR) {
            throw new FsException(Errno.EEXIST, "'" + op.getName().toStringUtf8() + "'");
        }
        if (op.getOpen()) {
            OpenFiles.open(tx, caller.session(), present.inode());
        }
        return result(tx, tx.require(present.inode()), null).build();
    }

    static MutationResult mkdir(StateTx tx, Caller caller, MkdirOp op) {
        Inode parent = checked(tx, op.getParent(), op.getName());
        int mode = Mode.DIRECTORY | permissions(op.getMode()) | (parent.mode & Mode.SET_GID);
        Inode directory = made(tx, caller, parent, mode, op.getInode());
        directory.nlink = 2;
        directory.parent = parent.id;
        directory.nextSequence = Directories.FIRST_SEQUENCE;
        Inode changed = Directories.add(tx, parent.id, op.getName(), directory, caller.time());
        changed.nlink++;
        if (op.getOpen()) {
            OpenFiles.open(tx, caller.session(), directory.id);
        }
        return result(tx, tx.require(directory.id), changed).build();
    }

    static MutationResult symlink(StateTx tx, Caller caller, SymlinkOp op) {
        ByteString target = op.getTarget();
        if (target.isEmpty()) {
            throw new FsException(Errno.ENOENT, "an empty target");
        }
        if (target.size() > EntryNames.MAX_TARGET_BYTES) {
            throw new FsException(Errno.ENAMETOOLONG, "a target of " + target.size() + " bytes");
        }
        Inode parent = checked(tx, op.getParent(), op.getName());
        Inode link = made(tx, caller, parent, Mode.SYMLINK | 0777, op.getInode());
        link.target = target;
        link.size = target.size();
        return linked(tx, caller, parent, op.getName(), link);
    }

    static MutationResult mknod(StateTx tx, Caller caller, MknodOp op) {
        int type = Mode.type(op.getMode()) == 0 ? Mode.REGULAR : Mode.type(op.getMode());
        switch (type) {
            case Mode.REGULAR,
                    Mode.FIFO,
                    Mode.SOCKET,
                    Mode.CHARACTER_DEVICE,
                    Mode.BLOCK_DEVICE -> {}
            case Mode.DIRECTORY -> throw new FsException(Errno.EPERM, "mknod of a directory");
            default -> throw new FsException(Errno.EINVAL, "mknod of type " + type);
        }
        Inode parent = checked(tx, op.getParent(), op.getName());
        Inode node = made(tx, caller, parent, type | permissions(op.getMode()), op.getInode());
        if (Mode.isDevice(type)) {
            node.rdev = op.getRdev();
        }
        return linked(tx, caller, parent, op.getName(), node);
    }

    /** The root directory of a new namespace. */
    static void root(StateTx tx, int mode, int uid, int gid, FileLayout layout) {
        Inode root = new Inode(NamespaceReader.ROOT_INODE);
        root.mode = Mode.DIRECTORY | permissions(mode);
        root.uid = uid;
        root.gid = gid;
        root.nlink = 2;
        root.parent = root.id;
        root.nextSequence = Directories.FIRST_SEQUENCE;
        root.layout = layout;
        root.atime = root.mtime = root.ctime = root.btime = tx.now;
        tx.tally.maxInode = root.id;
        tx.tally.inodesUsed = 1;
        tx.add(root);
    }

    private static Inode checked(StateTx tx, long directory, ByteString name) {
        Inode parent = Directories.require(tx, directory);
        Names.check(name);
        Directories.requireFree(tx, directory, name);
        return parent;
    }

    private static MutationResult linked(
            StateTx tx, Caller caller, Inode parent, ByteString name, Inode inode) {
        Inode changed = Directories.add(tx, parent.id, name, inode, caller.time());
        return result(tx, inode, changed).build();
    }

    /**
     * A new inode. Its id is of a range of the session, which was taken for it as a whole: the
     * highest id stays what it is, or the ids that follow would be given out twice. Else it is the
     * one the leader filled in, which the batch has checked, or the next one: both are the same on
     * every member.
     */
    private static Inode made(StateTx tx, Caller caller, Inode parent, int mode, long filledIn) {
        Inode inode = new Inode(newId(tx, caller, filledIn));
        tx.tally.inodesUsed++;
        inode.mode = mode;
        inode.nlink = 1;
        inode.uid = caller.uid();
        inode.gid = (parent.mode & Mode.SET_GID) != 0 ? parent.gid : caller.gid();
        inode.atime = inode.mtime = inode.ctime = inode.btime = caller.time();
        if (inode.isRegular() || inode.isDirectory()) {
            inode.layout = parent.layout;
            PoolUsers.more(tx, inode.layout);
        }
        if (inode.isRegular()) {
            inode.ceiling = FileLayouts.firstCeiling(inode.layout);
        }
        tx.add(inode);
        return inode;
    }

    private static long newId(StateTx tx, Caller caller, long filledIn) {
        if (caller.ownInode() != 0) {
            IdRanges.use(tx, caller.session(), caller.ownInode());
            return caller.ownInode();
        }
        tx.tally.maxInode = filledIn != 0 ? filledIn : tx.tally.maxInode + 1;
        return tx.tally.maxInode;
    }

    private static int permissions(int mode) {
        return mode & Mode.PERMISSIONS;
    }

    private static MutationResult.Builder result(StateTx tx, Inode inode, @Nullable Inode parent) {
        MutationResult.Builder result =
                MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, inode));
        return parent == null ? result : result.setParent(parent.toAttr());
    }
}
