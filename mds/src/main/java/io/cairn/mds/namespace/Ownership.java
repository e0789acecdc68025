package io.cairn.mds.namespace;

import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateTx;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Whose the data of an inode in a pool is, by one state of the namespace. */
public enum Ownership {
    /**
     * A file's, with a name or still open; or one of a session's ids, with which it makes files.
     */
    OWNED,
    /** A deleted file's, or of an id that was never used: the reaper takes care of it. */
    QUEUED,
    /** Nobody's: the file is gone, and its id is never used again. */
    NOBODY,
    /** Nobody's: the data of the file is in another pool. */
    OTHER_POOL,
    /** Of what has no data, such as a directory. */
    NO_REGULAR_FILE,
    /** The id was never given out, as far as this state knows. */
    NEVER_GIVEN_OUT;

    /** Data may be removed of which this is said again after a while. */
    public boolean isRemovable() {
        return this == NOBODY || this == OTHER_POOL;
    }

    /** No file is known to have the data. */
    public boolean isOrphan() {
        return this != OWNED && this != QUEUED;
    }

    /** What is asked: an entry's view, or a reader's. */
    record View(
            LongFunction<@Nullable Inode> inodes,
            Function<byte[], byte @Nullable []> rows,
            FirstRow firstRow,
            long maxInode) {
        static View of(StateTx tx) {
            return new View(tx::inode, tx::get, tx::firstRow, tx.tally.maxInode);
        }
    }

    /** The first row with a prefix at or after a key. */
    @FunctionalInterface
    interface FirstRow {
        @Nullable KeyValue of(byte[] prefix, byte[] from);
    }

    /**
     * A client learns the id of a file from the answer to its creation, which this state has then;
     * or it takes the id from a range of its session, which this state has too until the session
     * has ended, and what it may have sent for the unused ones is deleted.
     */
    static Ownership of(View view, int pool, long id) {
        Inode inode = view.inodes.apply(id);
        if (inode != null) {
            return !inode.isRegular() ? NO_REGULAR_FILE : ofFile(view, pool, inode);
        }
        if (view.rows.apply(MetaKeys.of(MetaKeys.DELETION_OF, id)) != null
                || isLeft(view, pool, id)
                || IdRanges.isBeingDeleted(view.firstRow, pool, id)) {
            return QUEUED;
        }
        if (IdRanges.isHeld(view.firstRow, id)) {
            return OWNED;
        }
        if (id == 0
                || Long.compareUnsigned(id, view.maxInode) > 0
                || SkippedIds.of(view.rows.apply(SkippedIds.KEY)).contains(id)) {
            return NEVER_GIVEN_OUT;
        }
        return NOBODY;
    }

    /** A file has chunks where it is copied to, and sequences of them where it was. */
    private static Ownership ofFile(View view, int pool, Inode file) {
        if (file.layout.getPool() == pool || file.movingPool == pool) {
            return OWNED;
        }
        if (isLeft(view, pool, file.id)) {
            return QUEUED;
        }
        return file.formerPools.contains(pool) ? OWNED : OTHER_POOL;
    }

    private static boolean isLeft(View view, int pool, long id) {
        return view.rows.apply(MetaKeys.ofLeft(id, pool)) != null;
    }
}
