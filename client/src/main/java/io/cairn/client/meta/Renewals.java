package io.cairn.client.meta;

import io.cairn.client.base.Async;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.time.BootClock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Renews a session before it expires, and out of turn when a newer cluster map is wanted: a renewal
 * names the map the client has, and the leader pushes a newer one. Where the lease has run out,
 * because this process or its machine stood still, what would begin in the session waits here until
 * a renewal tells whether it lives. Guarded by the session's lock.
 */
final class Renewals {
    private final MdsSession session;
    private final SessionCalls calls;
    private final LongSupplier mapEpoch;
    private final SessionLease lease = new SessionLease(BootClock.INSTANCE);
    private final List<Waiter> waiting = new ArrayList<>();
    private boolean mapAsked;
    private boolean confirming;

    /** One who wants to know that the session lived at some time since. */
    private record Waiter(long sinceNanos, CompletableFuture<Void> told) {}

    /**
     * @param mapEpoch epoch of the cluster map the client has
     */
    Renewals(MdsSession session, SessionCalls calls, LongSupplier mapEpoch) {
        this.session = session;
        this.calls = calls;
        this.mapEpoch = mapEpoch;
    }

    /** Under the lock. */
    RenewSessionRequest request() {
        return RenewSessionRequest.newBuilder()
                .setSession(session.id())
                .setMapEpoch(mapEpoch())
                .build();
    }

    /** Of the cluster map the client has. */
    long mapEpoch() {
        return mapEpoch.getAsLong();
    }

    /** Renews at this interval until that session has ended, as long as there is a leader. */
    void every(long id, long intervalMillis) {
        calls.later(
                TimeUnit.MILLISECONDS.toNanos(intervalMillis),
                () -> {
                    synchronized (calls.lock) {
                        if (session.over() != null || session.id() != id) {
                            return;
                        }
                        every(id, intervalMillis); // first: it must go on whatever renew throws
                        renew();
                    }
                });
    }

    /** A leader was found: it was not asked for anything yet. Under the lock. */
    void connected() {
        mapAsked = false;
        confirming = false;
        confirmMore();
    }

    /** Has the leader push the cluster map if it has a newer one. */
    void refreshMap() {
        synchronized (calls.lock) {
            if (session.leader() != null && !mapAsked) {
                mapAsked = true;
                renew();
            }
        }
    }

    // ---- the lease

    /** Whether the session certainly lives. Any thread. */
    boolean leaseHolds() {
        return lease.holds();
    }

    /** Whether what is delegated to the session certainly is. Any thread. */
    boolean delegationsHold() {
        return lease.delegationsHold();
    }

    /**
     * Completes when it is known whether the session lived after this call: it was renewed, or it
     * has ended, and whoever is told of ends was told.
     */
    CompletableFuture<Void> confirmed() {
        CompletableFuture<Void> told = new CompletableFuture<>();
        boolean over;
        synchronized (calls.lock) {
            over = session.over() != null;
            if (!over) {
                waiting.add(new Waiter(lease.nowNanos(), told));
                confirmMore();
            }
        }
        if (over) {
            Async.finish(told);
        }
        return told;
    }

    /** Under the lock. */
    private void confirmMore() {
        if (!waiting.isEmpty() && !confirming && session.leader() != null) {
            confirming = true;
            renew();
        }
    }

    long nowNanos() {
        return lease.nowNanos();
    }

    /** The session was opened by a request sent at that time. Not under the lock. */
    void opened(long sentNanos, int expiryMillis, int delegationMillis) {
        lease.opened(sentNanos, expiryMillis, delegationMillis);
        tellAll();
    }

    /** The MDS has answered a renewal sent at that time. Not under the lock. */
    void renewed(long id, long sentNanos) {
        List<Waiter> known = new ArrayList<>();
        synchronized (calls.lock) {
            if (session.id() != id) {
                return;
            }
            lease.renewed(sentNanos);
            waiting.removeIf(w -> sentNanos - w.sinceNanos >= 0 && known.add(w));
            confirming = false;
            confirmMore();
        }
        known.forEach(w -> Async.finish(w.told));
    }

    /** The session has begun to end. Under the lock. */
    void ending() {
        lease.ended();
    }

    /** The session has ended, or the client: nobody needs to wait. Not under the lock. */
    void tellAll() {
        List<Waiter> all;
        synchronized (calls.lock) {
            all = List.copyOf(waiting);
            waiting.clear();
        }
        all.forEach(w -> Async.finish(w.told));
    }

    /** Under the lock. */
    private void renew() {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentEra = session.era();
        long sentIn = session.id();
        long sentNanos = lease.nowNanos();
        calls.call(
                to,
                Method.RENEW_SESSION,
                request(),
                RenewSessionReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> {
                    synchronized (calls.lock) {
                        mapAsked = false;
                    }
                    if (reply != null) {
                        renewed(sentIn, sentNanos);
                        if (reply.getReclaim()) {
                            session.reclaim(sentEra, reply.getTerm());
                        }
                    } else if (MdsSession.fatal(status)) {
                        session.evicted(sentIn, status.detail());
                    } else {
                        session.lostLeader(sentEra, status);
                    }
                });
    }
}
