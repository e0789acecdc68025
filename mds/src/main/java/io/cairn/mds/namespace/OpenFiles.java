package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateTx;

/**
 * Which session holds which inode open, and how often. An inode without a name lives on until the
 * last session gives it back. The applying thread only.
 */
final class OpenFiles {
    private OpenFiles() {}

    static MutationResult open(StateTx tx, Caller caller, OpenOp op) {
        tx.require(op.getInode());
        open(tx, caller.session(), op.getInode());
        boolean right = op.getAppend() && AppendRights.taken(tx, caller.session(), op.getInode());
        return MutationResult.newBuilder()
                .setAppendRight(right)
                .setAttr(tx.require(op.getInode()).toAttr())
                .build();
    }

    /** One more open of an inode that exists. */
    static void open(StateTx tx, long session, long inode) {
        byte[] key = MetaKeys.of(MetaKeys.OPEN, session, inode);
        int count = count(tx, key);
        if (count == 0) {
            tx.edit(inode).openers++;
            addOpenFiles(tx, session, 1);
        }
        tx.put(key, MetaKeys.intValue(count + 1));
    }

    /** EBADF where the session does not hold it open that often. */
    static MutationResult release(StateTx tx, Caller caller, ReleaseOp op) {
        long id = op.getInode();
        byte[] key = MetaKeys.of(MetaKeys.OPEN, caller.session(), id);
        int count = count(tx, key);
        int opens = op.getOpens();
        if (opens < 1 || opens > count) {
            throw new FsException(
                    Errno.EBADF, "inode " + id + " is open " + count + " times, not " + opens);
        }
        if (op.hasGrow()) {
            Attributes.grow(tx, caller, op.getGrow().toBuilder().setInode(id).build());
        }
        if (count > opens) {
            tx.put(key, MetaKeys.intValue(count - opens));
        } else {
            tx.delete(key);
            addOpenFiles(tx, caller.session(), -1);
            closed(tx, caller.session(), id, false);
        }
        MutationResult.Builder result = MutationResult.newBuilder();
        Inode left = tx.inode(id);
        return left == null ? result.build() : result.setAttr(left.toAttr()).build();
    }

    /**
     * Gives back everything a session that ends holds open: what it wrote beyond the sizes it
     * published is of no file any more.
     */
    static void releaseAll(StateTx tx, long session) {
        for (KeyValue row : tx.list(MetaKeys.of(MetaKeys.OPEN, session))) {
            tx.delete(row.key());
            closed(tx, session, MetaKeys.longAt(row.key(), 9), true);
        }
    }

    private static void closed(StateTx tx, long session, long id, boolean abandoned) {
        Inode inode = tx.edit(id);
        inode.openers--;
        AppendRights.closed(tx, session, inode);
        if (abandoned) {
            Truncations.abandoned(inode);
        }
        if (inode.openers == 0 && inode.nlink == 0) {
            Links.free(tx, inode);
        } else {
            Truncations.cutLeftovers(tx, inode);
        }
    }

    /** Whether no session but this one holds it open. */
    static boolean noneBut(StateTx tx, long session, Inode inode) {
        return inode.openers == 0 || (inode.openers == 1 && isOpen(tx, session, inode.id));
    }

    static boolean isOpen(StateTx tx, long session, long inode) {
        return count(tx, MetaKeys.of(MetaKeys.OPEN, session, inode)) > 0;
    }

    private static void addOpenFiles(StateTx tx, long id, int more) {
        SessionRecord session = tx.session(id);
        if (session != null) {
            tx.putSession(session.toBuilder().setOpenFiles(session.getOpenFiles() + more).build());
        }
    }

    private static int count(StateTx tx, byte[] key) {
        byte[] value = tx.get(key);
        return value == null ? 0 : MetaKeys.intAt(value, 0);
    }
}
