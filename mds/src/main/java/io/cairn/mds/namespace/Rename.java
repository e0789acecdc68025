package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RenameOp;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;
import org.jspecify.annotations.Nullable;

/**
 * renameat2, with its checks in Linux's order. A name that is replaced keeps its cursor, and a name
 * that is renamed within its directory takes its cursor along. So a program that renames while it
 * lists a directory comes to an end. The applying thread only.
 */
final class Rename {
    static final int NO_REPLACE = 1;
    static final int EXCHANGE = 2;

    private final StateTx tx;
    private final Time time;
    private final ByteString oldName;
    private final ByteString newName;
    private final boolean exchange;
    private final long from;
    private final long to;
    private final Dentry source;
    private final @Nullable Dentry target;

    private Rename(StateTx tx, Caller caller, RenameOp op) {
        this.tx = tx;
        time = caller.time();
        oldName = op.getName();
        newName = op.getNewName();
        exchange = op.getFlags() == EXCHANGE;
        from = Directories.require(tx, op.getParent()).id;
        to = Directories.require(tx, op.getNewParent()).id;
        Names.check(oldName);
        Names.check(newName);
        source = Directories.requireEntry(tx, from, oldName);
        target = tx.entry(to, newName);
        if (op.getFlags() == NO_REPLACE && target != null) {
            throw new FsException(Errno.EEXIST, "'" + newName.toStringUtf8() + "'");
        }
        if (exchange && target == null) {
            throw new FsException(Errno.ENOENT, "no '" + newName.toStringUtf8() + "'");
        }
    }

    static MutationResult rename(StateTx tx, Caller caller, RenameOp op) {
        if (op.getFlags() < 0 || op.getFlags() > EXCHANGE) {
            throw new FsException(Errno.EINVAL, "rename flags " + op.getFlags());
        }
        return new Rename(tx, caller, op).run();
    }

    private MutationResult run() {
        checkLoops();
        Dentry target = this.target;
        if (target != null && target.inode() == source.inode()) {
            moved();
            return result();
        }
        if (target != null && exchange) {
            exchange(target);
        } else {
            if (target != null) {
                checkReplaceable(target);
            }
            move(target);
        }
        moved();
        return result();
    }

    /** As the kernel of the mount sees it: names move, also where both are of one file. */
    private void moved() {
        if (from != to) {
            tx.moved(from, to);
            if (exchange) {
                tx.moved(to, from);
            }
        }
    }

    private void checkLoops() {
        if (from == to) {
            return;
        }
        if (source.isDirectory() && Directories.contains(tx, source.inode(), to)) {
            throw new FsException(Errno.EINVAL, "a directory into itself");
        }
        if (target != null
                && target.isDirectory()
                && Directories.contains(tx, target.inode(), from)) {
            throw new FsException(
                    exchange ? Errno.EINVAL : Errno.ENOTEMPTY, "over a directory above");
        }
    }

    private void checkReplaceable(Dentry target) {
        String name = "'" + newName.toStringUtf8() + "'";
        if (source.isDirectory() && !target.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, name);
        }
        if (!source.isDirectory() && target.isDirectory()) {
            throw new FsException(Errno.EISDIR, name);
        }
        if (target.isDirectory() && tx.require(target.inode()).size != 0) {
            throw new FsException(Errno.ENOTEMPTY, name);
        }
    }

    private void exchange(Dentry target) {
        tx.putEntry(from, oldName, new Dentry(target.inode(), source.sequence(), target.type()));
        tx.putEntry(to, newName, new Dentry(source.inode(), target.sequence(), source.type()));
        tx.edit(from).modify(time);
        if (from != to) {
            tx.edit(to).modify(time);
        }
        moved(source, from, to);
        moved(target, to, from);
    }

    private void move(@Nullable Dentry target) {
        Directories.remove(tx, from, oldName, source, time);
        Inode into = tx.edit(to);
        long sequence;
        if (target != null) {
            sequence = target.sequence();
            if (target.isDirectory()) {
                into.nlink--;
            }
            Links.dropName(tx, target.inode(), time);
        } else {
            sequence = from == to ? source.sequence() : into.nextSequence++;
            into.size++;
        }
        tx.putEntry(to, newName, new Dentry(source.inode(), sequence, source.type()));
        if (from != to) {
            into.modify(time);
        }
        moved(source, from, to);
    }

    private void moved(Dentry entry, long out, long in) {
        Inode inode = tx.edit(entry.inode());
        inode.touch(time);
        if (entry.isDirectory() && out != in) {
            inode.parent = in;
            tx.edit(out).nlink--;
            tx.edit(in).nlink++;
        }
    }

    private MutationResult result() {
        return MutationResult.newBuilder()
                .setAttr(OwnChanges.attr(tx, tx.require(source.inode())))
                .setParent(tx.require(to).toAttr())
                .build();
    }
}
