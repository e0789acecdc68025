package io.cairn.client.meta;

import io.cairn.client.base.Channels;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session with the metadata service: its life, and what is sent in it. One that has ended is
 * followed by another, with a new number, as that of another client. {@link MdsLeader} finds the
 * leader, {@link SessionOpening} opens the session there.
 *
 * <pre>
 *   NONE --opened--> OPEN --evicted or refused--> ENDING --all is told--> NONE
 *   all --close--> CLOSED
 * </pre>
 *
 * <p>Any thread. The lock of {@link SessionCalls} guards the state of the session and of everything
 * it carries; channels are called under it, so that requests leave in the order of their numbers,
 * but futures complete outside of it.
 */
final class MdsSession {
    private static final Logger LOG = LoggerFactory.getLogger(MdsSession.class);

    private enum State {
        NONE,
        OPEN,
        ENDING,
        CLOSED
    }

    private final MetaEvents events;
    private final SessionCalls calls;
    private final SessionTraffic traffic;
    private final Renewals renewals;
    private final MdsLeader leader;
    private final SessionOpening opening;
    private final LeaderWatch watch;
    private State state = State.NONE;
    private @Nullable FsException closed;

    /** 0: none is open. */
    private long id;

    private boolean reclaims;
    private boolean delegates;
    private long term;

    private FsException lastEnd = new FsException(Errno.EIO, "no session is open");

    /** Sessions that have ended since anything was answered. */
    private int endings;

    /**
     * @param mapEpoch epoch of the cluster map the client has
     */
    MdsSession(
            MetaOptions options,
            Channels channels,
            SessionCalls calls,
            LongSupplier mapEpoch,
            MetaEvents events,
            SessionTraffic traffic) {
        this.calls = calls;
        this.renewals = new Renewals(this, calls, mapEpoch);
        this.watch = new LeaderWatch(this, calls);
        this.events = events;
        this.traffic = traffic;
        this.leader = new MdsLeader(options.members(), channels, calls, events, this::ask);
        this.opening = new SessionOpening(options, events, calls, this, leader);
    }

    private void ask(long era, RpcChannel member) {
        opening.ask(era, member);
    }

    /** Begins to look for the leader; completes when the first session is open. Once. */
    CompletableFuture<Void> open() {
        synchronized (calls.lock) {
            leader.search(leader.era());
        }
        return opening.opened();
    }

    /** Number of the session at the MDS; 0 while none is open. Under the lock. */
    long id() {
        return id;
    }

    /** Whether it may open files for reading at the leader alone. Under the lock. */
    boolean reclaims() {
        return reclaims;
    }

    /** Whether files that it makes are delegated to it. Under the lock. */
    boolean delegates() {
        return delegates;
    }

    /** Of the leader, as it said last. Under the lock. */
    long term() {
        return term;
    }

    /** The leader of that era asks what is open for reading. */
    void reclaim(long askedEra, long leaderTerm) {
        synchronized (calls.lock) {
            if (leader.era() == askedEra && leader.isConnected()) {
                term = leaderTerm;
                traffic.reclaim();
            }
        }
    }

    /** Null while it is looked for, and once the client is closed. Under the lock. */
    @Nullable RpcChannel leader() {
        return leader.channel();
    }

    /** Whether the leader has been asked for something that has no answer. Under the lock. */
    boolean isWaiting() {
        return traffic.isWaiting();
    }

    /** See {@link MdsLeader}. Under the lock. */
    long era() {
        return leader.era();
    }

    Renewals renewals() {
        return renewals;
    }

    /** Why no MDS could be reached, for the message of whoever gives up. */
    String lastFailure() {
        return leader.lastFailure();
    }

    /** The cluster map names the MDS members, which join the configured ones. */
    void learnMembers(List<String> addresses) {
        leader.learnMembers(addresses);
    }

    /** The leader of that era failed to serve: look for it, or for another one. */
    void lostLeader(long failedEra, RpcStatus status) {
        leader.lost(failedEra, status);
    }

    /** The leader did what it was asked for. */
    void healthy() {
        synchronized (calls.lock) {
            if (leader.isConnected()) {
                endings = 0;
                watch.answered();
                leader.served();
            }
        }
    }

    /**
     * A leader has opened the session with this number. Under the lock.
     *
     * @param mayReclaim whether it may open files for reading at the leader alone
     * @param getsDelegations whether files that it makes are delegated to it
     */
    void opened(long number, boolean mayReclaim, boolean getsDelegations) {
        id = number;
        reclaims = mayReclaim;
        delegates = getsDelegations;
        state = State.OPEN;
    }

    /** That member leads and knows the session. Nothing if the search of that era is over. */
    void connected(long era, RpcChannel member, long leaderTerm) {
        synchronized (calls.lock) {
            if (leader.found(era, member)) {
                term = leaderTerm;
                watch.connected();
                renewals.connected();
                traffic.connected();
            }
        }
    }

    /** Whether the cluster refuses the session for ever. */
    static boolean fatal(RpcStatus status) {
        return status.advice() == Advice.FENCED
                || (status.errno() == Errno.ESTALE && status.advice() == Advice.GIVE_UP);
    }

    /** A server refuses that session for ever. Nothing if it is not this one. Any thread. */
    void evicted(long number, String detail) {
        end(number, false, "ESTALE: the cluster evicted session " + number + ": " + detail);
    }

    /**
     * The MDS refuses mutations of that session which it cannot do without, as the later ones have
     * numbers behind theirs.
     */
    void refused(long number, RpcStatus status) {
        String why = status.errno() + " " + status.detail();
        end(number, true, "the MDS refused mutations of session " + number + ": " + why);
    }

    /**
     * @param served whether the MDS may still take it for open
     */
    private void end(long number, boolean served, String why) {
        FsException reason = new FsException(Errno.EIO, why);
        synchronized (calls.lock) {
            if (state != State.OPEN || id != number) {
                return;
            }
            state = State.ENDING;
            leader.stop();
            lastEnd = reason;
            renewals.ending();
        }
        // Before anybody is told: who fails now must find that its session has ended.
        events.sessionEnded(number, reason);
        SessionTraffic.Unanswered lost;
        synchronized (calls.lock) {
            if (state == State.CLOSED) {
                return;
            }
            id = 0;
            opening.another(served ? number : 0);
            lost = traffic.ended();
        }
        if (lost.mutations() > 0) {
            LOG.warn(
                    "Metadata changes of session {} with an unknown end: {}",
                    number,
                    lost.mutations());
        }
        lost.fail(reason);
        renewals.tellAll();
        synchronized (calls.lock) {
            if (state == State.ENDING) {
                state = State.NONE;
                endings++;
                leader.searchAfter(endings > 1 ? BackOff.REQUESTS.delayNanos(endings + 3) : 0);
            }
        }
    }

    /** Ends the session at the MDS; what is still outstanding fails. */
    CompletableFuture<Void> close() {
        FsException reason = new FsException(Errno.ESTALE, "the client is closed");
        SessionTraffic.Unanswered lost;
        RpcChannel to;
        long ending;
        synchronized (calls.lock) {
            if (over() != null) {
                return CompletableFuture.completedFuture(null);
            }
            to = leader.channel();
            ending = id;
            state = State.CLOSED;
            leader.stop();
            closed = reason;
            lost = traffic.clear();
        }
        lost.fail(reason);
        renewals.tellAll();
        opening.opened().completeExceptionally(reason);
        return to == null || ending == 0
                ? CompletableFuture.completedFuture(null)
                : closeAt(to, ending);
    }

    private CompletableFuture<Void> closeAt(RpcChannel member, long ending) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        member.call(
                Method.CLOSE_SESSION_VALUE,
                CloseSessionRequest.newBuilder().setSession(ending).build(),
                calls.attemptDeadline(),
                (status, head, payload) -> {
                    if (!status.ok()) {
                        LOG.info(
                                "Session {} was not closed ({} {}); it will expire",
                                ending,
                                status.errno(),
                                status.detail());
                    }
                    done.complete(null);
                });
        return done;
    }

    /** Why nothing is accepted any more, or null. Under the lock. */
    @Nullable FsException over() {
        return closed;
    }

    boolean isClosed() {
        synchronized (calls.lock) {
            return closed != null;
        }
    }

    /** Why the session before this one ended. Under the lock. */
    FsException lastEnd() {
        return lastEnd;
    }
}
