package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Truncation;
import java.util.ArrayList;
import java.util.List;

/** setattr, what writers publish, and truncation. The applying thread only. */
final class Attributes {
    /** Shrinks of one file that may wait for the data servers at a time. */
    static final int MAX_TRUNCATIONS = 4;

    private Attributes() {}

    static MutationResult setAttr(StateTx tx, Caller caller, SetAttrOp op) {
        Inode inode = tx.require(op.getInode());
        if (op.hasMode() && Mode.isSymlink(inode.mode)) {
            throw new FsException(Errno.EOPNOTSUPP, "mode of a symbolic link");
        }
        Time atime = op.hasAtime() ? Time.of(op.getAtime()) : inode.atime;
        Time mtime = op.hasMtime() ? Time.of(op.getMtime()) : inode.mtime;
        if (op.hasSize()) {
            checkResize(inode, op.getSize());
            mtime = op.hasMtime() ? mtime : caller.time();
        }
        Inode changed = tx.edit(inode.id);
        changed.touch(caller.time());
        changed.atime = atime;
        changed.mtime = mtime;
        if (op.hasSize()) {
            resize(tx, changed, op.getSize());
        }
        changed.uid = op.hasUid() ? op.getUid() : changed.uid;
        changed.gid = op.hasGid() ? op.getGid() : changed.gid;
        if (op.hasUid() || op.hasGid() || op.getKillSuidSgid()) {
            takePrivileges(tx, changed);
        }
        if (op.hasMode()) {
            changed.mode = Mode.type(changed.mode) | (op.getMode() & Mode.PERMISSIONS);
        }
        return result(changed);
    }

    static MutationResult grow(StateTx tx, Caller caller, GrowOp op) {
        Inode inode = requireRegular(tx, op.getInode());
        Time mtime = op.hasMtime() ? Time.of(op.getMtime()) : caller.time();
        checkSize(inode, op.getSize());
        Inode changed = tx.edit(inode.id);
        changed.mtime = Time.latest(changed.mtime, mtime);
        changed.touch(Time.latest(changed.ctime, mtime));
        if (op.getSize() > changed.size) {
            tx.tally.bytesUsed += op.getSize() - changed.size;
            changed.size = op.getSize();
            // Deleting covers the ceiling: it must never be below what is known to be written.
            changed.ceiling = Math.max(changed.ceiling, changed.size);
        }
        if (op.getKillSuidSgid()) {
            takePrivileges(tx, changed);
        }
        return result(changed);
    }

    static MutationResult raiseCeiling(StateTx tx, RaiseCeilingOp op) {
        Inode inode = requireRegular(tx, op.getInode());
        checkSize(inode, op.getSizeCeiling());
        if (op.getSizeCeiling() > inode.ceiling) {
            inode = tx.edit(inode.id);
            inode.ceiling = op.getSizeCeiling();
        }
        return result(inode);
    }

    /** Every data server has applied the shrinks up to this one. */
    static void truncated(StateTx tx, long id, long sequence) {
        Inode inode = tx.inode(id);
        if (inode == null || inode.truncations.isEmpty()) {
            return;
        }
        Inode changed = tx.edit(id);
        changed.truncations =
                inode.truncations.stream().filter(t -> t.getSequence() > sequence).toList();
        if (changed.truncations.isEmpty()) {
            tx.delete(MetaKeys.of(MetaKeys.TRUNCATING, id));
        }
    }

    private static void checkResize(Inode inode, long size) {
        if (inode.isDirectory()) {
            throw new FsException(Errno.EISDIR, "size of directory " + inode.id);
        }
        if (!inode.isRegular()) {
            throw new FsException(Errno.EINVAL, "size of special file " + inode.id);
        }
        checkSize(inode, size);
        if (cutsData(inode, size) && inode.truncations.size() >= MAX_TRUNCATIONS) {
            throw new FsException(Errno.EAGAIN, "inode " + inode.id + " is still being truncated");
        }
    }

    private static void resize(StateTx tx, Inode inode, long size) {
        if (cutsData(inode, size)) {
            inode.truncateSequence++;
            List<Truncation> pending = new ArrayList<>(inode.truncations);
            pending.add(
                    Truncation.newBuilder()
                            .setSequence(inode.truncateSequence)
                            .setSize(size)
                            .build());
            inode.truncations = List.copyOf(pending);
            tx.put(MetaKeys.of(MetaKeys.TRUNCATING, inode.id), new byte[0]);
            tx.announce(listener -> listener.truncationPending(inode.id));
        }
        tx.tally.bytesUsed += size - inode.size;
        inode.size = size;
    }

    /** A shrink that chunks must hear of: beyond the ceiling there are none. */
    private static boolean cutsData(Inode inode, long size) {
        return size < inode.size && size < inode.ceiling;
    }

    /** What write, truncate and chown take: set-id bits and file capabilities. */
    private static void takePrivileges(StateTx tx, Inode inode) {
        if (!inode.isDirectory()) {
            inode.mode = Mode.withoutPrivileges(inode.mode);
            ExtendedAttributes.dropCapabilities(tx, inode);
        }
    }

    private static Inode requireRegular(StateTx tx, long id) {
        Inode inode = tx.require(id);
        if (!inode.isRegular()) {
            throw new FsException(Errno.EINVAL, "inode " + id + " is no regular file");
        }
        return inode;
    }

    /** EFBIG where chunk numbers end. */
    private static void checkSize(Inode inode, long size) {
        if (size < 0 || size > FileLayouts.maxFileSize(inode.layout)) {
            throw new FsException(Errno.EFBIG, "size " + Long.toUnsignedString(size));
        }
    }

    private static MutationResult result(Inode inode) {
        return MutationResult.newBuilder().setAttr(inode.toAttr()).build();
    }
}
