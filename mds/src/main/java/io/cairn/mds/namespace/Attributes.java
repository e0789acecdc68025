package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;
import java.util.OptionalLong;

/** setattr, and the sizes and times that writers publish. The applying thread only. */
final class Attributes {
    private Attributes() {}

    static MutationResult setAttr(StateTx tx, Caller caller, SetAttrOp op) {
        Inode inode = tx.require(op.getInode());
        if (op.hasMode() && Mode.isSymlink(inode.mode)) {
            throw new FsException(Errno.EOPNOTSUPP, "mode of a symbolic link");
        }
        Time atime = op.hasAtime() ? Time.of(op.getAtime()) : inode.atime;
        Time mtime = op.hasMtime() ? Time.of(op.getMtime()) : inode.mtime;
        if (op.hasMtime() ? op.getMtimeNow() : op.hasSize()) {
            mtime = Time.latest(op.hasMtime() ? mtime : caller.time(), inode.ctime.next());
        }
        boolean shared = false;
        OptionalLong cut = OptionalLong.empty();
        if (op.hasSize()) {
            checkResize(inode, op.getSize());
            shared = !OpenFiles.noneBut(tx, caller.session(), inode);
            cut = Truncations.cutFor(inode, op.getSize(), shared);
        }
        Inode changed = tx.edit(inode.id);
        changed.touch(caller.time());
        changed.atime = atime;
        changed.mtime = mtime;
        if (op.hasSize()) {
            resize(tx, changed, op.getSize(), cut);
        }
        changed.uid = op.hasUid() ? op.getUid() : changed.uid;
        changed.gid = op.hasGid() ? op.getGid() : changed.gid;
        if (op.hasUid() || op.hasGid() || op.getKillSuidSgid()) {
            takePrivileges(tx, changed);
        }
        if (op.hasMode()) {
            changed.mode = Mode.type(changed.mode) | (op.getMode() & Mode.PERMISSIONS);
        }
        MutationResult result = result(tx, changed);
        return shared && cut.isPresent()
                ? result.toBuilder().setWaitTruncated(changed.truncateSequence).build()
                : result;
    }

    static MutationResult grow(StateTx tx, Caller caller, GrowOp op) {
        Inode inode = requireRegular(tx, op.getInode());
        Time mtime = op.hasMtime() ? Time.of(op.getMtime()) : caller.time();
        checkSize(inode, op.getSize());
        Inode changed = tx.edit(inode.id);
        if (op.getKeepsTimes()) {
            changed.change++;
        } else {
            changed.mtime = written(changed, mtime);
            changed.touch(mtime);
        }
        if (op.getSize() > changed.size && counts(op, changed)) {
            tx.tally.bytesUsed += op.getSize() - changed.size;
            changed.size = op.getSize();
            if (!changed.fenced || Features.level(tx.settings) < Features.SOUND_MOVES) {
                // What is written next needs no ceiling of its own. Under a fence it does, and is
                // refused one: chunks beyond the present ceiling do not have the fence.
                changed.ceiling = Math.max(changed.ceiling, changed.size);
            }
        }
        if (op.getLeftovers()) {
            Truncations.left(tx, caller.session(), changed);
        }
        if (op.getKillSuidSgid()) {
            takePrivileges(tx, changed);
        }
        return result(tx, changed);
    }

    /**
     * Whether the bytes the size stands for are still there: a size from before a newer cut is that
     * of bytes which the cut has taken, or which lie before it and so below the present size. A
     * fence takes nothing.
     */
    private static boolean counts(GrowOp op, Inode inode) {
        return !op.hasTruncateSequence() || op.getTruncateSequence() >= inode.cutSequence;
    }

    /**
     * Published times may come out of order, and from clocks that differ: the latest counts, and
     * each write gives a later one, by which others see that their copies of the contents are old.
     * Writes leave no mtime after the ctime, though: one that is was set by somebody, and a write
     * takes it back to the present.
     */
    private static Time written(Inode inode, Time mtime) {
        boolean ahead = inode.mtime.compareTo(inode.ctime) > 0;
        return ahead ? mtime : Time.latest(mtime, inode.mtime.next());
    }

    static MutationResult raiseCeiling(StateTx tx, RaiseCeilingOp op) {
        Inode inode = requireRegular(tx, op.getInode());
        checkSize(inode, op.getSizeCeiling());
        if (op.getSizeCeiling() > inode.ceiling) {
            Moves.requireUnfenced(inode); // no chunk beyond it has the fence
            inode = tx.edit(inode.id);
            inode.ceiling = op.getSizeCeiling();
        }
        return result(tx, inode);
    }

    private static void checkResize(Inode inode, long size) {
        if (inode.isDirectory()) {
            throw new FsException(Errno.EISDIR, "size of directory " + inode.id);
        }
        if (!inode.isRegular()) {
            throw new FsException(Errno.EINVAL, "size of special file " + inode.id);
        }
        checkSize(inode, size);
    }

    private static void resize(StateTx tx, Inode inode, long size, OptionalLong cut) {
        if (cut.isPresent()) {
            Truncations.queue(tx, inode, cut.getAsLong());
        }
        tx.tally.bytesUsed += size - inode.size;
        inode.size = size;
    }

    /** What write, truncate and chown take: set-id bits and file capabilities. */
    private static void takePrivileges(StateTx tx, Inode inode) {
        if (!inode.isDirectory()) {
            inode.mode = Mode.withoutPrivileges(inode.mode);
            ExtendedAttributes.dropCapabilities(tx, inode);
        }
    }

    /** EINVAL for anything else. */
    static Inode requireRegular(StateTx tx, long id) {
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

    private static MutationResult result(StateTx tx, Inode inode) {
        return MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, inode)).build();
    }
}
