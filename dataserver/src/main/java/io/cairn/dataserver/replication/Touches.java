package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayDeque;

/**
 * The newest operations of a learner, by what they change: a copy of a chunk must not come after an
 * operation on it that is not in the copy. Bounded: what may have been forgotten counts as a touch.
 * Owner's thread only.
 */
final class Touches {
    static final int MAX = 1 << 16;

    private final ArrayDeque<Touch> newest = new ArrayDeque<>();
    private long knownAfter;

    /**
     * @param chunk {@link ContentHead#WHOLE_INODE} for an operation on all of the inode
     */
    private record Touch(long sequence, boolean anyInode, long inode, int chunk) {
        boolean concerns(long otherInode, int otherChunk) {
            return anyInode
                    || (inode == otherInode
                            && (chunk == otherChunk
                                    || chunk == Key.INODE
                                    || otherChunk == Key.INODE));
        }
    }

    /** All operations after this one will be told. */
    void restart(long sequence) {
        newest.clear();
        knownAfter = sequence;
    }

    void add(long sequence, DataOp op) {
        switch (op.type()) {
            case WRITE -> add(new Touch(sequence, false, op.inode(), op.chunk()));
            case TRUNCATE_INODE -> add(new Touch(sequence, false, op.inode(), Key.INODE));
            case DELETE_INODES -> add(new Touch(sequence, true, 0, 0));
            case NOOP, SPLIT, MERGE, READ -> {}
        }
    }

    private void add(Touch touch) {
        newest.addLast(touch);
        if (newest.size() > MAX) {
            knownAfter = newest.removeFirst().sequence();
        }
    }

    /** Whether an operation after the sequence changes the chunk, as far as is known. */
    boolean touchedAfter(long sequence, long inode, int chunk) {
        if (sequence < knownAfter) {
            return true;
        }
        var newestFirst = newest.descendingIterator();
        while (newestFirst.hasNext()) {
            Touch touch = newestFirst.next();
            if (touch.sequence() <= sequence) {
                return false;
            }
            if (touch.concerns(inode, chunk)) {
                return true;
            }
        }
        return false;
    }
}
