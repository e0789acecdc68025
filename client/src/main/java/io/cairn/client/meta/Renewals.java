package io.cairn.client.meta;

import io.cairn.common.proto.Method;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.rpc.RpcChannel;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Renews a session before it expires, and out of turn when a newer cluster map is wanted: a renewal
 * names the map the client has, and the leader pushes a newer one. Guarded by the session's lock.
 */
final class Renewals {
    private final MdsSession session;
    private final SessionCalls calls;
    private final LongSupplier mapEpoch;
    private boolean mapAsked;

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
                .setMapEpoch(mapEpoch.getAsLong())
                .build();
    }

    /** Renews at this interval until the session is over, as long as there is a leader. */
    void every(long intervalMillis) {
        calls.later(
                TimeUnit.MILLISECONDS.toNanos(intervalMillis),
                () -> {
                    synchronized (calls.lock) {
                        if (session.over() != null) {
                            return;
                        }
                        renew();
                    }
                    every(intervalMillis);
                });
    }

    /** A leader was found: it was not asked for a map yet. Under the lock. */
    void connected() {
        mapAsked = false;
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

    /** Under the lock. */
    private void renew() {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentEra = session.era();
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
                    if (MdsSession.fatal(status)) {
                        session.die(status.detail());
                    } else if (!status.ok()) {
                        session.lostLeader(sentEra, status);
                    }
                });
    }
}
