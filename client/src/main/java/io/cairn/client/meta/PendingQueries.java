package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.FsException;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
        for (PendingQuery<?> query : waited) {
            send(query);
        }
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
    private <T extends MessageLite> void send(PendingQuery<T> query) {
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
                query.parser,
                attempt - query.deadlineNanos < 0 ? attempt : query.deadlineNanos,
                (status, reply) -> done(query, sentEra, status, reply));
    }

    private <T extends MessageLite> void done(
            PendingQuery<T> query, long sentEra, RpcStatus status, @Nullable T reply) {
        if (reply != null) {
            query.future.complete(reply);
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
        if (status.advice() == Advice.NOT_LEADER || status.unanswered()) {
            session.lostLeader(sentEra, status);
            ask(query);
        } else {
            calls.later(BackOff.REQUESTS.delayNanos(query.attempts), () -> ask(query));
        }
    }
}
