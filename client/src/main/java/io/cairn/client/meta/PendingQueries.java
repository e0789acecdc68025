package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.FsException;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Queries: each is asked of the leader, again after a failure that may pass, and waits while there
 * is no leader, also from one session to the next. Any thread; the list is guarded by the session's
 * lock, and callers are told outside of it.
 */
final class PendingQueries {
    private final MdsSession session;
    private final SessionCalls calls;
    private final MetaEvents events;
    private final List<PendingQuery<?>> waiting = new ArrayList<>();
    private final Set<PendingQuery<?>> inFlight = new LinkedHashSet<>();

    PendingQueries(MdsSession session, SessionCalls calls, MetaEvents events) {
        this.session = session;
        this.calls = calls;
        this.events = events;
    }

    /** Asks it now, or when a leader is found; fails it when the client is closed. */
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

    /** Whether something was sent that has no answer. Under the lock. */
    boolean isWaiting() {
        return !inFlight.isEmpty();
    }

    /**
     * A leader was found: asks it what waited, and what another one was asked and did not answer.
     * Under the lock.
     */
    void connected() {
        List<PendingQuery<?>> waited = new ArrayList<>(inFlight);
        waited.addAll(waiting);
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
        if (query.future.isDone()) { // cancelled
            inFlight.remove(query);
            return;
        }
        RpcChannel to = session.leader();
        if (to == null) {
            waiting.add(query);
            return;
        }
        long sentEra = session.era();
        long sentIn = session.id();
        long attempt = calls.attemptDeadline();
        query.attempts++;
        query.sentEra = sentEra;
        inFlight.add(query);
        calls.call(
                to,
                query.method,
                query.request(sentIn),
                query.parser,
                attempt - query.deadlineNanos < 0 ? attempt : query.deadlineNanos,
                (status, reply) -> done(query, sentEra, sentIn, status, reply));
    }

    private <T extends MessageLite> void done(
            PendingQuery<T> query, long sentEra, long sentIn, RpcStatus status, @Nullable T reply) {
        synchronized (calls.lock) {
            if (reply == null && query.sentEra != sentEra) {
                return; // another leader was asked since
            }
            inFlight.remove(query);
            if (reply != null) {
                query.listener.heard(reply);
            }
        }
        if (reply != null) {
            query.future.complete(reply);
            session.healthy();
            return;
        }
        boolean fenced = status.advice() == Advice.FENCED;
        if (fenced) {
            session.evicted(sentIn, status.detail());
        }
        if (!fenced && status.advice() == Advice.GIVE_UP) {
            query.failed(status.toException());
        } else if (query.late(System.nanoTime())) {
            synchronized (calls.lock) {
                query.listener.unheard();
            }
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
