package io.cairn.client.meta;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/**
 * The queries of a session: each is asked of the leader, again after a failure that may pass, and
 * waits while there is no leader. Any thread; the list is guarded by the session's lock, and
 * callers are told outside of it.
 */
final class PendingQueries {
    private final MdsSession session;
    private final SessionCalls calls;
    private final MetaEvents events;
    private final List<PendingQuery<?>> waiting = new ArrayList<>();

    PendingQueries(MdsSession session, SessionCalls calls, MetaEvents events) {
        this.session = session;
        this.calls = calls;
        this.events = events;
    }

    /** Asks it now, or when a leader is found; fails it when the session is over. */
    void ask(PendingQuery<?> query) {
        FsException over;
        synchronized (calls.lock) {
            over = session.over();
            if (over == null) {
                send(query);
            }
        }
        if (over != null) {
            query.failed(over);
        }
    }

    /** A leader was found: asks it what waited. Under the lock. */
    void connected() {
        List<PendingQuery<?>> waited = List.copyOf(waiting);
        waiting.clear();
        waited.forEach(this::send);
    }

    /** Takes out what waits. Under the lock. */
    List<PendingQuery<?>> clear() {
        List<PendingQuery<?>> waited = List.copyOf(waiting);
        waiting.clear();
        return waited;
    }

    /** Fails what waits and is late. */
    void sweep(long nowNanos, FsException reason) {
        List<PendingQuery<?>> late = new ArrayList<>();
        synchronized (calls.lock) {
            waiting.removeIf(q -> q.late(nowNanos) && late.add(q));
        }
        late.forEach(q -> q.failed(reason));
    }

    /** Under the lock. */
    private void send(PendingQuery<?> query) {
        RpcChannel to = session.leader();
        if (to == null) {
            waiting.add(query);
            return;
        }
        long sentEra = session.era();
        long attempt = calls.attemptDeadline();
        query.attempts++;
        calls.call(
                to,
                query.method,
                query.request,
                attempt - query.deadlineNanos < 0 ? attempt : query.deadlineNanos,
                (status, head) -> done(query, sentEra, status, head));
    }

    private void done(PendingQuery<?> query, long sentEra, RpcStatus status, ByteBuf head) {
        if (status.ok()) {
            query.answered(head);
            session.healthy();
        } else if (status.advice() == Advice.FENCED) {
            session.die(status.detail());
            query.failed(session.deadReason());
        } else if (status.advice() == Advice.GIVE_UP) {
            query.failed(status.toException());
        } else if (query.late(System.nanoTime())) {
            query.failed(Results.late(status.detail()));
        } else {
            again(query, sentEra, status);
        }
    }

    private void again(PendingQuery<?> query, long sentEra, RpcStatus status) {
        events.retried();
        if (status.advice() == Advice.NOT_LEADER
                || status.errno() == Errno.EHOSTUNREACH
                || status.errno() == Errno.ETIMEDOUT) {
            session.lostLeader(sentEra, status);
            ask(query);
        } else {
            calls.later(BackOff.REQUESTS.delayNanos(query.attempts), () -> ask(query));
        }
    }
}
