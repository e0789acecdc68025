package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AcquireAppendOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReturnAppendOp;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;

/**
 * The append right of a file: the session that has it chooses the offsets of appends. One session
 * at a time has it, and only while it holds the file open. Nothing waits here: a session that
 * cannot have the right is refused. The right ends when its holder returns it, closes the file for
 * the last time, or when the holder's session ends; by then every data server refuses late writes
 * of that session. The applying thread only.
 */
final class AppendRights {
    private AppendRights() {}

    /** EAGAIN while another session has it. */
    static MutationResult acquire(StateTx tx, Caller caller, AcquireAppendOp op) {
        Inode file = Attributes.requireRegular(tx, op.getInode());
        if (!OpenFiles.isOpen(tx, caller.session(), file.id)) {
            throw new FsException(Errno.EBADF, "inode " + file.id + " is not open in this session");
        }
        if (!taken(tx, caller.session(), file.id)) {
            throw new FsException(
                    Errno.EAGAIN, "session " + file.appender + " appends to inode " + file.id);
        }
        return MutationResult.newBuilder()
                .setAppendRight(true)
                .setAttr(OwnChanges.attr(tx, tx.require(file.id)))
                .build();
    }

    /** Gives it to the session, which holds the file open, unless another one has it. */
    static boolean taken(StateTx tx, long session, long id) {
        Inode file = tx.require(id);
        if (file.isRegular() && file.appender == 0) {
            file = tx.edit(id);
            file.appender = session;
            tx.announce(listener -> listener.appendRightTaken(id));
        }
        return file.appender == session;
    }

    /** The sizes first: whoever has it next begins where this session ended. */
    static MutationResult giveBack(StateTx tx, Caller caller, ReturnAppendOp op) {
        long id = op.getInode();
        if (op.hasGrow()) {
            Attributes.grow(tx, caller, op.getGrow().toBuilder().setInode(id).build());
        }
        if (tx.require(id).appender == caller.session()) {
            closed(tx, caller.session(), tx.edit(id));
        }
        return MutationResult.newBuilder().setAttr(OwnChanges.attr(tx, tx.require(id))).build();
    }

    /** The session no longer holds the file open. */
    static void closed(StateTx tx, long session, Inode edited) {
        if (edited.appender == session) {
            long id = edited.id;
            edited.appender = 0;
            tx.announce(listener -> listener.appendRightFree(id));
        }
    }
}
