package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.wal.LearnerStep;
import java.util.ArrayDeque;
import java.util.List;

/**
 * The last operations of a PG that are in the index and still in the log: without a gap, up to the
 * last one that was flushed. A replica that was away for a moment is sent them; else all that it
 * has would be compared. Under the monitor of its {@link PgStore}.
 */
final class RecentOps {
    /** Of one operation: its inodes are kept in memory. */
    private static final int MAX_INODES = 64;

    private final ArrayDeque<LoggedOp> ops = new ArrayDeque<>();

    /**
     * The index has it, or it was deferred.
     *
     * @param most operations to be kept
     */
    void flushed(LoggedOp o, boolean inIndex, int most) {
        if (o.step() instanceof LearnerStep.Reset) {
            ops.clear(); // what follows does not follow these
        } else if (!o.isOperation()) {
            return;
        } else if (inIndex && isPlain(o)) {
            ops.addLast(o);
            if (ops.size() > most) {
                ops.removeFirst();
            }
        } else {
            ops.clear();
        }
    }

    /**
     * What was written to the data file is no longer the operation's alone; a split or merge is
     * nothing that can be carried out again.
     */
    private static boolean isPlain(LoggedOp o) {
        InodeChange change = o.change();
        return !o.isDirect()
                && (change == null
                        || (!(change instanceof InodeChange.Divided)
                                && !(change instanceof InodeChange.United)
                                && change.inodes().length <= MAX_INODES));
    }

    void clear() {
        ops.clear();
    }

    /** Records up to this one are about to be overwritten. */
    void recycled(long lsn) {
        while (!ops.isEmpty() && ops.getFirst().record().lsn() <= lsn) {
            ops.removeFirst();
        }
    }

    /**
     * @param flushed sequence of the last operation that was
     * @return of the one before the first here
     */
    long begin(long flushed) {
        return ops.isEmpty() ? flushed : ops.getFirst().sequence() - 1;
    }

    void addTo(List<LoggedOp> list, long after) {
        for (LoggedOp o : ops) {
            if (o.sequence() > after) {
                list.add(o);
            }
        }
    }
}
