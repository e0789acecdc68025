package io.cairn.mds.store;

import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.MapUpdate;

/**
 * Told of committed changes, on every member, by the applying thread: must return at once. While a
 * member replays its log after a start it hears of the past again.
 */
public interface StateListener {
    /** The map went from {@code increment.base_epoch} to {@code increment.epoch}. */
    default void mapChanged(MapUpdate increment) {}

    default void sessionOpened(long session) {}

    /** Evicted: refused from this map epoch on. */
    default void sessionRefused(long session, long mapEpoch) {}

    /**
     * Closed, or released after its eviction: it is served no more. What it held open may still be
     * given back little by little; the record goes with the last of it.
     */
    default void sessionEnded(long session) {}

    /** A regular file without a name is open no more, except perhaps for reading. */
    default void nameless(long inode) {}

    /** Records were added to the deletion queue. */
    default void deletionsQueued() {}

    /** What is known of orphaned data has changed. */
    default void orphansChanged() {}

    /** The inode has got a pending truncation. */
    default void truncationPending(long inode) {}

    /** The inode has got a fence, so that it can change its pool. */
    default void fenced(long inode) {}

    /** A session has got the append right of the inode. */
    default void appendRightTaken(long inode) {}

    /** No session has the append right of the inode any more. */
    default void appendRightFree(long inode) {}

    /** A session has got the lock. */
    default void lockTaken(FileLock lock) {}

    /** Locks of the file were taken, changed or given up. */
    default void locksChanged(long inode) {}

    /** The whole state was replaced by another member's checkpoint. */
    default void restored() {}
}
