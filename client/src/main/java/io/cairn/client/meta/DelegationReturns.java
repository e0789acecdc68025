package io.cairn.client.meta;

import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReturnDelegationsReply;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Files that are delegated to the session, as far as the leader is to be told. What a leader has
 * delegated counts in the round that it was told last; each leader that is found, the same one too,
 * begins another round. It is told so, and delegates again, once all that was done in earlier ones
 * has been answered.
 *
 * <p>Any thread; guarded by the session's lock, but for the round, which is read without.
 */
final class DelegationReturns {
    private final MdsSession session;
    private final SessionCalls calls;
    private Supplier<CompletableFuture<Void>> tellAll =
            () -> CompletableFuture.completedFuture(null);

    /** Changed under the lock. */
    private volatile long round;

    /** Of the leader in whose time the round began. */
    private long term;

    /** The leader knows of the round. */
    private boolean told;

    /** Messages without an answer. */
    private int inFlight;

    /** To be returned with the next message. */
    private final List<Long> behind = new ArrayList<>();

    DelegationReturns(MdsSession session, SessionCalls calls) {
        this.session = session;
        this.calls = calls;
    }

    /**
     * Once, before the session is opened.
     *
     * @param untold asks for all that was done to what was delegated to be sent; completes when it
     *     is answered
     */
    void tellAllBy(Supplier<CompletableFuture<Void>> untold) {
        tellAll = untold;
    }

    /** Whether the leader delegates what the session makes. */
    boolean isTold() {
        synchronized (calls.lock) {
            return told;
        }
    }

    /** Of what is delegated now. */
    long round() {
        return round;
    }

    /** A leader was found: nothing is delegated any more. Under the lock. */
    void connected() {
        ended();
        term = session.term();
        if (session.delegates()) {
            long begun = round;
            calls.later(0, () -> tellAll.get().whenComplete((v, thrown) -> begin(begun)));
        }
    }

    /**
     * The leader asks for what was there before it: it may be the same one, anew. Under the lock.
     */
    void asked() {
        if (session.term() != term) {
            connected();
        }
    }

    /** The session has ended, or its leader is lost: nothing is delegated. Under the lock. */
    void ended() {
        round++;
        told = false;
        inFlight = 0;
        behind.clear();
    }

    /** Whether something was sent that has no answer. Under the lock. */
    boolean isWaiting() {
        return inFlight > 0;
    }

    private void begin(long begun) {
        synchronized (calls.lock) {
            if (begun == round) {
                send(ReturnDelegationsRequest.newBuilder().setAll(true));
            }
        }
    }

    /** Of that round; nothing where it is over, as then all are returned. */
    void give(long in, List<Long> inodes) {
        synchronized (calls.lock) {
            if (in == round && told) {
                behind.addAll(inodes);
                sendBehind();
            }
        }
    }

    /** One message at a time: what is returned meanwhile goes into the next. Under the lock. */
    private void sendBehind() {
        if (inFlight == 0 && !behind.isEmpty()) {
            ReturnDelegationsRequest.Builder request =
                    ReturnDelegationsRequest.newBuilder().addAllInodes(behind);
            behind.clear();
            send(request);
        }
    }

    /** Under the lock. */
    private void send(ReturnDelegationsRequest.Builder request) {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentRound = round;
        long sentEra = session.era();
        long sentIn = session.id();
        told = true;
        inFlight++;
        calls.call(
                to,
                Method.RETURN_DELEGATIONS,
                request.setSession(sentIn).setTerm(session.term()).setRound(sentRound).build(),
                ReturnDelegationsReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> answered(sentRound, sentEra, sentIn, status));
    }

    private void answered(long sentRound, long sentEra, long sentIn, RpcStatus status) {
        synchronized (calls.lock) {
            if (sentRound != round) {
                return;
            }
            inFlight--;
            if (status.ok()) {
                sendBehind();
            }
        }
        if (status.ok()) {
            session.healthy();
        } else if (status.advice() == Advice.FENCED) {
            session.evicted(sentIn, status.detail());
        } else {
            session.lostLeader(sentEra, status); // who is told all when it is found
        }
    }
}
