package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgLogState;
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
    private long completeInIndex;
    private long newestInIndex;
    private long complete;
    private long newestLogged;
    private long newestGiven;

    LearnerState(PgLogState index) {
        completeInIndex = index.completeSequence();
        newestInIndex = index.steps();
        complete = completeInIndex;
        newestLogged = newestInIndex;
        newestGiven = newestInIndex;
    }

    /** See {@link PgLogState#completeSequence}. */
    long completeSequence() {
        return complete;
    }

    /** What is complete once the history, now at the sequence, goes on elsewhere. */
    long completeAfterReset(long lastSequence) {
        return complete == PgLogState.COMPLETE ? lastSequence : complete;
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
        completeInIndex = Math.min(completeInIndex, sequence - 1);
        complete = completeAfter(logged);
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
        complete = after(complete, o);
        newestLogged = newest(newestLogged, o);
    }

    /** Only these are left in the log. */
    void dropped(Collection<LoggedOp> left) {
        complete = completeAfter(left);
        newestLogged = newestAfter(left);
    }

    /** What the index says once it has them. */
    long completeAfter(Collection<LoggedOp> ops) {
        long then = completeInIndex;
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
        completeInIndex = completeAfter(ops);
        newestInIndex = newestAfter(ops);
    }

    private static long newest(long before, LoggedOp o) {
        LearnerStep step = o.step();
        return step == null ? before : step.number();
    }

    private static long after(long before, LoggedOp o) {
        return switch (o.step()) {
            case LearnerStep.Reset r -> r.completeSequence();
            case LearnerStep.Completed _ -> PgLogState.COMPLETE;
            case null -> before;
            case LearnerStep.Copy _ -> before;
            case LearnerStep.CopyInode _ -> before;
        };
    }
}
