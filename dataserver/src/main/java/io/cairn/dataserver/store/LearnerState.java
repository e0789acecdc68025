package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.wal.Completeness;
import io.cairn.dataserver.wal.LearnerStep;
import java.util.Collection;

/**
 * How complete the content of a PG is, and which steps of a learner the index has. Under the
 * monitor of its {@link PgStore}.
 *
 * <p>What is said now is always what the index says, changed by the steps in the log in their
 * order: so a recovery, which has only these, comes to the same.
 */
final class LearnerState {
    private Completeness contentInIndex;
    private long newestInIndex;
    private Completeness content;
    private long newestLogged;
    private long newestGiven;

    LearnerState(PgLogState index) {
        contentInIndex = index.content();
        newestInIndex = index.steps();
        content = contentInIndex;
        newestLogged = newestInIndex;
        newestGiven = newestInIndex;
    }

    Completeness content() {
        return content;
    }

    long nextNumber() {
        return ++newestGiven;
    }

    /** The newest number that was ever given. */
    long newestGiven() {
        return newestGiven;
    }

    /**
     * What an operation that the index is about to have brings is not there.
     *
     * @param logged what is in the log, from that operation on
     */
    void lacks(long sequence, Collection<LoggedOp> logged) {
        contentInIndex = Completeness.upTo(Math.min(contentInIndex.sequence(), sequence - 1));
        content = contentAfter(logged);
    }

    /** Recovery met the step: its number is not given again, whatever becomes of it. */
    void met(LearnerStep step) {
        newestGiven = Math.max(newestGiven, step.number());
    }

    /** Of the steps in index and log, but for those that were dropped. */
    long newest() {
        return newestLogged;
    }

    boolean isInIndex(LearnerStep step) {
        return step.number() <= newestInIndex;
    }

    /** It follows all that is logged. */
    void logged(LoggedOp o) {
        content = after(content, o);
        newestLogged = newest(newestLogged, o);
    }

    /** Only these are left in the log. */
    void dropped(Collection<LoggedOp> left) {
        content = contentAfter(left);
        newestLogged = newestAfter(left);
    }

    /** What the index says once it has them. */
    Completeness contentAfter(Collection<LoggedOp> ops) {
        Completeness then = contentInIndex;
        for (LoggedOp o : ops) {
            then = after(then, o);
        }
        return then;
    }

    /** The newest step that the index has once it has them. */
    long newestAfter(Collection<LoggedOp> ops) {
        long then = newestInIndex;
        for (LoggedOp o : ops) {
            then = newest(then, o);
        }
        return then;
    }

    /** The index has them. */
    void flushed(Collection<LoggedOp> ops) {
        contentInIndex = contentAfter(ops);
        newestInIndex = newestAfter(ops);
    }

    private static long newest(long before, LoggedOp o) {
        LearnerStep step = o.step();
        return step == null ? before : step.number();
    }

    private static Completeness after(Completeness before, LoggedOp o) {
        return switch (o.step()) {
            case LearnerStep.Reset r -> r.content();
            case LearnerStep.Completed _ -> Completeness.ALL;
            case LearnerStep.CopiedTo to -> before.copiedTo(to.inode(), to.chunk());
            case null -> before;
            case LearnerStep.Copy _ -> before;
            case LearnerStep.CopyInode _ -> before;
        };
    }
}
