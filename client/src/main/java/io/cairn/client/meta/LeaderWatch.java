package io.cairn.client.meta;

import io.cairn.common.proto.Method;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.concurrent.TimeUnit;

/**
 * Suspects a leader that stopped answering though its connection stands: its process or machine is
 * suspended, or the network is cut. While requests wait and none is answered it is asked to renew
 * the session, which every leader does at once; one that does not is left for another. The
 * session's lock guards it.
 */
final class LeaderWatch {
    /** How often it looks, and how long it waits: an election takes longer than both. */
    private static final long EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final MdsSession session;
    private final SessionCalls calls;
    private long watchedEra = -1;
    private boolean answered;
    private boolean asking;

    LeaderWatch(MdsSession session, SessionCalls calls) {
        this.session = session;
        this.calls = calls;
    }

    /** A leader was found. Under the lock. */
    void connected() {
        watchedEra = session.era();
        answered = true;
        asking = false;
        lookLater(watchedEra);
    }

    /** It has answered something. Under the lock. */
    void answered() {
        answered = true;
    }

    private void lookLater(long era) {
        calls.later(EVERY_NANOS, () -> look(era));
    }

    private void look(long era) {
        synchronized (calls.lock) {
            RpcChannel leader = session.leader();
            if (era != session.era() || era != watchedEra || leader == null) {
                return;
            }
            lookLater(era);
            if (!answered && session.isWaiting() && !asking) {
                ask(era, leader);
            }
            answered = false;
        }
    }

    private void ask(long era, RpcChannel leader) {
        asking = true;
        calls.call(
                leader,
                Method.RENEW_SESSION,
                session.renewals().request(),
                RenewSessionReply.parser(),
                System.nanoTime() + EVERY_NANOS,
                (status, reply) -> told(era, status));
    }

    private void told(long era, RpcStatus status) {
        synchronized (calls.lock) {
            asking = false;
            if (!status.unanswered()) {
                answered = true; // whatever it says, the requests that wait will hear it too
                return;
            }
        }
        session.lostLeader(era, status);
    }
}
