package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AcquireAppendOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReturnAppendOp;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;

/**
 * Which session may choose the offsets of appends to a file: the append right, held by one session
 * at a time, of those that hold the file open. Nothing waits here: who does not get it is told so.
 * It ends by return, by the last close of its holder, or with the holder's session, whose late
 * writes every data server refuses by then. The applying thread only.
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
                .setAttr(tx.require(file.id).toAttr())
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
        return MutationResult.newBuilder().setAttr(tx.require(id).toAttr()).build();
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
