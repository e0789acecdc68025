package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayDeque;
import java.util.stream.LongStream;

/**
 * The newest operations of a learner, by what they change: a copy of a chunk must not come after an
 * operation on it that is not in the copy. Bounded: what may have been forgotten counts as a touch.
 * Owner's thread only.
 */
final class Touches {
    /** Inodes that are named by them. */
    static final int MAX = 1 << 16;

    private final ArrayDeque<Touch> newest = new ArrayDeque<>();
    private long knownAfter;

    /** Of all that are known, together. */
    private int inodes;

    /**
     * @param chunk {@link Key#INODE} for an operation on all of the inodes
     */
    private record Touch(long sequence, long[] inodes, int chunk) {
        boolean concerns(long inode, int otherChunk) {
            return (chunk == otherChunk || chunk == Key.INODE || otherChunk == Key.INODE)
                    && LongStream.of(inodes).anyMatch(i -> i == inode);
        }
    }

    /** All operations after this one will be told. */
    void restart(long sequence) {
        newest.clear();
        inodes = 0;
        knownAfter = sequence;
    }

    void add(PgLogEntry entry) {
        DataOp op = entry.op();
        switch (op.type()) {
            case WRITE -> add(entry, op.chunk(), op.inode());
            case TRUNCATE_INODE -> add(entry, Key.INODE, op.inode());
            case DELETE_INODES -> add(entry, Key.INODE, DeleteInodesFormat.decode(entry.payload()));
            case NOOP, SPLIT, MERGE, READ -> {}
        }
    }

    private void add(PgLogEntry entry, int chunk, long... inodes) {
        add(new Touch(entry.sequence(), inodes, chunk));
    }

    private void add(Touch touch) {
        newest.addLast(touch);
        inodes += touch.inodes().length;
        while (inodes > MAX) {
            Touch oldest = newest.removeFirst();
            inodes -= oldest.inodes().length;
            knownAfter = oldest.sequence();
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
