package io.cairn.dataserver.replication;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A backup's side: appends the primary's operations in the primary's order, without gaps. Owner's
 * thread only.
 */
final class Backup {
    private final PgOutputs out;
    private final PgLog log;
    private final ArrayDeque<Pending> pending = new ArrayDeque<>();
    private @Nullable PeerAnswer waitingQuery;
    private long epoch;

    /** In this epoch the history is known to equal the primary's up to here. */
    private long verified;

    /**
     * What the primary said in this epoch that is committed. A learner may have it later: nobody
     * waits for it, and it is not told again.
     */
    private long told;

    private record Pending(long sequence, PrepareAnswer answer) {}

    Backup(PgOutputs out, PgLog log) {
        this.out = out;
        this.log = log;
    }

    void newEpoch(long epoch) {
        this.epoch = epoch;
        verified = log.committed();
        told = 0;
        close();
    }

    void close() {
        RpcStatus status = RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "a newer epoch began");
        for (Pending p : pending) {
            p.answer.refuse(status);
        }
        pending.clear();
        if (waitingQuery != null) {
            waitingQuery.refuse(status);
            waitingQuery = null;
        }
    }

    void query(PeerAnswer answer) {
        if (waitingQuery != null) {
            waitingQuery.refuse(busy("a newer query"));
        }
        waitingQuery = answer;
        answerQuery();
    }

    private void answerQuery() {
        if (waitingQuery != null && !log.dropping() && log.allDurable()) {
            PeerAnswer answer = waitingQuery;
            waitingQuery = null;
            answer.history(epoch, log.history(), out.space());
        }
    }

    void prepare(Prepare p, PrepareAnswer answer) {
        PgLogEntry entry = p.entry();
        long sequence = entry.sequence();
        if (log.dropping()) {
            answer.refuse(busy("a tail is being dropped"));
        } else if (sequence > log.lastSequence() + 1) {
            answer.gap(epoch, log.lastSequence(), out.space());
        } else if (sequence <= log.committed() || log.epochAt(sequence) == entry.epoch()) {
            accepted(p, answer);
        } else if (p.previousEpoch() != Prepare.UNKNOWN
                && log.epochAt(sequence - 1) != p.previousEpoch()) {
            answer.gap(epoch, Math.max(verified, log.committed()), out.space());
        } else if (sequence <= log.lastSequence()) {
            dropTail(sequence - 1);
            answer.refuse(busy("a tail is being dropped"));
        } else if (out.appendIfRoom(entry)) {
            log.appended(entry.epoch(), sequence);
            answer.appended();
            accepted(p, answer);
        } else {
            // The primary believed an older word of this disk. It keeps the operation, which no
            // client was told of, and sends it again.
            answer.refuse(busy("the disk has no room for it now"));
        }
    }

    private void accepted(Prepare p, PrepareAnswer answer) {
        verified = Math.max(verified, p.entry().sequence());
        commit(p.committedSequence());
        pending.add(new Pending(p.entry().sequence(), answer));
        answerDurable();
    }

    void commit(long primaryCommitted) {
        told = Math.max(told, primaryCommitted);
        commitTold();
    }

    private void commitTold() {
        long sequence = Math.min(told, Math.min(verified, log.durable()));
        if (sequence > log.committed() && !log.dropping()) {
            log.committedUpTo(sequence);
            out.commit(sequence);
        }
    }

    /** Everything here is committed. */
    void commitAll() {
        if (log.lastSequence() > log.committed()) {
            log.committedUpTo(log.lastSequence());
            out.commit(log.lastSequence());
        }
    }

    void dropTail(long kept) {
        log.dropStarted();
        out.dropTail(kept);
    }

    /** The history was begun anew, and is the primary's up to there. */
    void reset() {
        verified = log.committed();
        close();
    }

    void tailDropped(long kept) {
        log.dropped(kept, out.logState().content());
        verified = Math.min(verified, kept);
        answerQuery();
    }

    void onDurable() {
        commitTold();
        answerDurable();
        answerQuery();
    }

    private void answerDurable() {
        long durable = Math.min(log.durable(), verified);
        Pending p = pending.peek();
        while (p != null && p.sequence <= durable) {
            pending.remove();
            p.answer.durable(epoch, durable, out.space());
            p = pending.peek();
        }
    }

    private static RpcStatus busy(String why) {
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why);
    }
}
