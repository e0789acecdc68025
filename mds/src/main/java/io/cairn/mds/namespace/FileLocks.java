package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SetLockOp;
import io.cairn.mds.proto.LockTable;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The locks that programs hold on files: of ranges (fcntl) and of whole files (flock). A session
 * has locks only on files that it holds open; they end with its last open of the file, and so with
 * the session: of an evicted one when every data server refuses it, and not before. Nothing waits
 * here. The applying thread only.
 */
final class FileLocks {
    /** Each change of a lock writes all of the file's. */
    static final int MAX_OF_A_FILE = 4096;

    static final int MAX_OF_A_SESSION = 1 << 16;

    private FileLocks() {}

    static MutationResult set(StateTx tx, Caller caller, SetLockOp op) {
        FileLock lock = checked(op.getLock(), caller.session());
        Inode file = Attributes.requireRegular(tx, lock.getInode());
        if (!OpenFiles.isOpen(tx, caller.session(), file.id)) {
            throw new FsException(Errno.EBADF, "inode " + file.id + " is not open in this session");
        }
        List<FileLock> held = held(tx, file);
        List<FileLock> own = LockRanges.within(held, lock);
        if (op.getUnlock()) {
            if (!own.isEmpty()) {
                write(tx, caller.session(), file, held, LockRanges.without(held, lock));
            }
            return done(tx, file.id, own);
        }
        @Nullable FileLock other = LockRanges.inTheWay(held, lock);
        if (other == null) {
            write(tx, caller.session(), file, held, LockRanges.with(held, lock));
            tx.announce(listener -> listener.lockTaken(lock));
            return done(tx, file.id, own);
        }
        if (lock.getFlock() && !own.isEmpty()) {
            // Linux gives the old lock up before it looks whether the new one can be had.
            write(tx, caller.session(), file, held, LockRanges.without(held, lock));
        }
        return MutationResult.newBuilder()
                .setErrno(Errno.EAGAIN.number())
                .setDetail(
                        "session "
                                + other.getSession()
                                + " has locked inode "
                                + file.id
                                + " from byte "
                                + other.getStart())
                .build();
    }

    private static FileLock checked(FileLock lock, long session) {
        if (lock.getStart() < 0
                || lock.getEnd() < lock.getStart()
                || (lock.getFlock()
                        && (lock.getStart() != 0 || lock.getEnd() != LockRanges.MAX_END))) {
            throw new FsException(
                    Errno.EINVAL, "a lock from byte " + lock.getStart() + " to " + lock.getEnd());
        }
        return lock.toBuilder().setSession(session).build();
    }

    private static MutationResult done(StateTx tx, long inode, List<FileLock> replaced) {
        return MutationResult.newBuilder()
                .setAttr(OwnChanges.attr(tx, tx.require(inode)))
                .addAllReplacedLocks(replaced)
                .build();
    }

    /** Checks how many there may be before anything changes. */
    private static void write(
            StateTx tx, long session, Inode file, List<FileLock> before, List<FileLock> after) {
        int more = after.size() - before.size();
        SessionRecord record = Objects.requireNonNull(tx.session(session));
        if (more > 0 && after.size() > MAX_OF_A_FILE) {
            throw new FsException(
                    Errno.ENOLCK,
                    "inode " + file.id + " has " + before.size() + " locks, the most there may be");
        }
        if (more > 0 && record.getLocks() + more > MAX_OF_A_SESSION) {
            throw new FsException(
                    Errno.ENOLCK,
                    "session " + session + " has " + record.getLocks() + " locks, the most");
        }
        put(tx, file.id, after);
        if (!file.wasLocked) {
            tx.edit(file.id).wasLocked = true;
        }
        tx.putSession(record.toBuilder().setLocks(record.getLocks() + more).build());
    }

    private static void put(StateTx tx, long inode, List<FileLock> locks) {
        byte[] key = MetaKeys.of(MetaKeys.LOCKS, inode);
        if (locks.isEmpty()) {
            tx.delete(key);
        } else {
            tx.put(key, LockTable.newBuilder().addAllLocks(locks).build().toByteArray());
        }
        tx.announce(listener -> listener.locksChanged(inode));
    }

    private static List<FileLock> held(StateTx tx, Inode file) {
        return file.wasLocked ? parse(tx.get(MetaKeys.of(MetaKeys.LOCKS, file.id))) : List.of();
    }

    static List<FileLock> parse(byte @Nullable [] stored) {
        return stored == null
                ? List.of()
                : MessageRows.parse(LockTable.parser(), stored, "the locks of a file")
                        .getLocksList();
    }

    /**
     * The session no longer holds the file open.
     *
     * @return how many locks it had on it
     */
    static int closed(StateTx tx, long session, Inode file) {
        List<FileLock> held = held(tx, file);
        int own = LockRanges.countOf(held, session);
        if (own > 0) {
            put(tx, file.id, held.stream().filter(lock -> lock.getSession() != session).toList());
        }
        return own;
    }
}
