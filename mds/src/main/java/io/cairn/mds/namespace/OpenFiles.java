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
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which session holds which inode open, and how often. An inode without a name exists until the
 * last session closes it. The applying thread only.
 */
final class OpenFiles {
    private OpenFiles() {}

    static MutationResult open(StateTx tx, Caller caller, OpenOp op) {
        tx.require(op.getInode());
        open(tx, caller.session(), op.getInode());
        boolean right = op.getAppend() && AppendRights.taken(tx, caller.session(), op.getInode());
        return MutationResult.newBuilder()
                .setAppendRight(right)
                .setAttr(OwnChanges.attr(tx, tx.require(op.getInode())))
                .build();
    }

    /** One more open of an inode that exists. */
    static void open(StateTx tx, long session, long inode) {
        byte[] key = MetaKeys.of(MetaKeys.OPEN, session, inode);
        // Most are opened by nobody else: the database is not asked for what it does not have.
        int count = tx.require(inode).openers == 0 ? 0 : count(tx, key);
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
            addLocks(tx, caller.session(), -closed(tx, caller.session(), id, false));
        }
        MutationResult.Builder result = MutationResult.newBuilder();
        Inode left = tx.inode(id);
        return left == null ? result.build() : result.setAttr(OwnChanges.attr(tx, left)).build();
    }

    /**
     * Gives back some of what a session that ends holds open, in the order of the inodes: what it
     * wrote beyond the sizes it published is of no file any more.
     *
     * @param max inodes; 0: all
     * @return the session with what is left, null where nothing is
     */
    static @Nullable SessionRecord releaseSome(StateTx tx, SessionRecord session, int max) {
        long id = session.getSession();
        // From where the last slice ended: before it there are only tombstones.
        byte[] from = MetaKeys.of(MetaKeys.OPEN, id, session.getReleasedUpTo() + 1);
        int slice = max <= 0 ? Integer.MAX_VALUE - 1 : max;
        List<KeyValue> rows = tx.listStored(MetaKeys.of(MetaKeys.OPEN, id), from, slice + 1);
        boolean all = rows.size() <= slice;
        List<KeyValue> released = all ? rows : rows.subList(0, slice);
        int locks = 0;
        for (KeyValue row : released) {
            tx.delete(row.key());
            locks += closed(tx, id, inodeOf(row), true);
        }
        return all
                ? null
                : session.toBuilder()
                        .setReleasedUpTo(inodeOf(released.getLast()))
                        .setOpenFiles(session.getOpenFiles() - released.size())
                        .setLocks(session.getLocks() - locks)
                        .build();
    }

    private static long inodeOf(KeyValue open) {
        return MetaKeys.longAt(open.key(), 9);
    }

    /**
     * @return how many locks the session had on it, which are gone
     */
    private static int closed(StateTx tx, long session, long id, boolean abandoned) {
        Inode inode = tx.edit(id);
        int locks = FileLocks.closed(tx, session, inode);
        inode.openers--;
        AppendRights.closed(tx, session, inode);
        Moves.closed(tx, session, inode);
        if (abandoned) {
            Truncations.abandoned(inode);
        }
        if (inode.openers == 0 && inode.nlink == 0) {
            Links.unused(tx, inode);
        } else {
            Truncations.cutLeftovers(tx, inode);
        }
        return locks;
    }

    /** Whether no session but this one holds it open, and may write. */
    static boolean noneBut(StateTx tx, long session, Inode inode) {
        int writers = writers(tx, inode);
        boolean own = inode.mover != session || writers == inode.openers;
        return writers == 0 || (writers == 1 && own && isOpen(tx, session, inode.id));
    }

    /** Sessions that hold it open and may write: a mover never does. */
    static int writers(StateTx tx, Inode inode) {
        boolean moved =
                inode.movingPool != 0 && Features.level(tx.settings) >= Features.SOUND_MOVES;
        return inode.openers - (moved ? 1 : 0);
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

    private static void addLocks(StateTx tx, long id, int more) {
        SessionRecord session = tx.session(id);
        if (session != null && more != 0) {
            tx.putSession(session.toBuilder().setLocks(session.getLocks() + more).build());
        }
    }

    private static int count(StateTx tx, byte[] key) {
        byte[] value = tx.get(key);
        return value == null ? 0 : MetaKeys.intAt(value, 0);
    }
}
