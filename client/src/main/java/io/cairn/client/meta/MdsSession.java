package io.cairn.client.meta;

import io.cairn.client.base.Channels;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session with the metadata service: finds the leader and follows it, opens and ends the
 * session, and carries what is sent in it.
 *
 * <pre>
 *   SEARCHING --a leader knows the session--> CONNECTED --it is lost or fails--> SEARCHING
 *   both --evicted--> DEAD     both --close--> CLOSED
 * </pre>
 *
 * <p>{@code era} counts how often a leader was found or lost; an answer from an earlier era is
 * still an answer, a failure from one means nothing.
 *
 * <p>Any thread. The lock of {@link SessionCalls} guards the state of the session and of everything
 * it carries; channels are called under it, so that requests leave in the order of their numbers,
 * but futures complete outside of it.
 */
final class MdsSession {
    private static final Logger LOG = LoggerFactory.getLogger(MdsSession.class);

    private enum State {
        SEARCHING,
        CONNECTED,
        DEAD,
        CLOSED
    }

    /** What is sent in the session. Both methods are called under the lock. */
    interface Traffic {
        /** A leader was found: sends what has no answer yet. */
        void connected();

        /** The session is over: takes out everything that has no answer. */
        Unanswered clear();
    }

    /** What a session had not got an answer for when it ended. */
    interface Unanswered {
        /** How many mutations are among it. */
        int mutations();

        /** Fails all of it. Not under the lock. */
        void fail(FsException reason);
    }

    private final MetaOptions options;
    private final MetaEvents events;
    private final SessionCalls calls;
    private final Channels channels;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();
    private final Traffic traffic;
    private final Renewals renewals;
    private final LeaderFinder members;
    private State state = State.SEARCHING;
    private @Nullable RpcChannel leader;
    private @Nullable FsException deadReason;
    private long era;
    private long session;

    /**
     * @param mapEpoch epoch of the cluster map the client has
     */
    MdsSession(
            MetaOptions options,
            Channels channels,
            SessionCalls calls,
            LongSupplier mapEpoch,
            MetaEvents events,
            Traffic traffic) {
        this.options = options;
        this.channels = channels;
        this.calls = calls;
        this.renewals = new Renewals(this, calls, mapEpoch);
        this.events = events;
        this.traffic = traffic;
        this.members = new LeaderFinder(options.members());
    }

    /** Begins to look for the leader; completes when the session is open. Once. */
    CompletableFuture<Void> open() {
        synchronized (calls.lock) {
            search(era);
        }
        return opened;
    }

    /** Number of the session at the MDS; 0 before it is open. Any thread. */
    long sessionNumber() {
        synchronized (calls.lock) {
            return session;
        }
    }

    /** 0 before it is open. Under the lock. */
    long id() {
        return session;
    }

    /** Null while it is looked for, and for ever once the session is over. Under the lock. */
    @Nullable RpcChannel leader() {
        return leader;
    }

    /** Under the lock. */
    long era() {
        return era;
    }

    Renewals renewals() {
        return renewals;
    }

    /** Why no MDS could be reached, for the message of whoever gives up. */
    String lastFailure() {
        synchronized (calls.lock) {
            return members.lastFailure();
        }
    }

    // ---- the leader

    /** Under the lock, while searching. */
    private void search(long searchEra) {
        if (state != State.SEARCHING || era != searchEra) {
            return;
        }
        RpcChannel to = channels.channel(members.current());
        long deadline = calls.attemptDeadline();
        if (session == 0) {
            OpenSessionRequest request =
                    OpenSessionRequest.newBuilder()
                            .setClientUuid(options.clientUuid())
                            .setDescription(options.description())
                            .build();
            calls.call(
                    to,
                    Method.OPEN_SESSION,
                    request,
                    OpenSessionReply.parser(),
                    deadline,
                    (status, reply) -> sessionOpened(searchEra, to, status, reply));
        } else {
            calls.call(
                    to,
                    Method.RENEW_SESSION,
                    renewals.request(),
                    RenewSessionReply.parser(),
                    deadline,
                    (status, reply) -> sessionFound(searchEra, to, status));
        }
    }

    private void sessionOpened(
            long searchEra, RpcChannel from, RpcStatus status, @Nullable OpenSessionReply reply) {
        if (reply == null) {
            notFound(searchEra, status);
            return;
        }
        synchronized (calls.lock) {
            if (state != State.SEARCHING || era != searchEra || session != 0) {
                return;
            }
            session = reply.getSession();
        }
        events.sessionOpened(reply.getSession(), reply.getMap());
        learnMembers(reply.getMap().getMdsList().stream().map(MdsMember::getAddress).toList());
        long interval = Math.max(50, reply.getRenewIntervalMillis());
        renewals.every(interval);
        connected(searchEra, from);
        opened.complete(null);
    }

    private void sessionFound(long searchEra, RpcChannel from, RpcStatus status) {
        if (status.ok()) {
            connected(searchEra, from);
        } else if (fatal(status)) {
            die(status.detail());
        } else {
            notFound(searchEra, status);
        }
    }

    private void connected(long searchEra, RpcChannel to) {
        synchronized (calls.lock) {
            if (state != State.SEARCHING || era != searchEra) {
                return;
            }
            members.found(members.current());
            LOG.debug("MDS leader is {}", members.current());
            state = State.CONNECTED;
            leader = to;
            era++;
            renewals.connected();
            traffic.connected();
        }
    }

    private void notFound(long searchEra, RpcStatus status) {
        FsException refused = null;
        synchronized (calls.lock) {
            if (state != State.SEARCHING || era != searchEra) {
                return;
            }
            long pause = members.failed(members.current(), status);
            if (session == 0 && members.rounds() > 0 && status.errno() == Errno.EPROTO) {
                refused = status.toException();
            }
            searchAfter(pause);
        }
        if (refused != null) {
            opened.completeExceptionally(refused); // wrong cluster or version: asking on is no use
        }
    }

    /** The leader of that era failed to serve: look for it, or for another one. */
    void lostLeader(long failedEra, RpcStatus status) {
        synchronized (calls.lock) {
            if (state != State.CONNECTED || era != failedEra) {
                return;
            }
            events.retried();
            long pause = members.failed(members.current(), status);
            LOG.info("Lost the MDS leader ({}); looking for it", members.lastFailure());
            state = State.SEARCHING;
            leader = null;
            era++;
            searchAfter(pause);
        }
    }

    /** Under the lock. */
    private void searchAfter(long pauseNanos) {
        long searchEra = era;
        calls.later(
                pauseNanos,
                () -> {
                    synchronized (calls.lock) {
                        search(searchEra);
                    }
                });
    }

    /** The cluster map names the MDS members, which join the configured ones. */
    void learnMembers(List<String> addresses) {
        synchronized (calls.lock) {
            members.learn(addresses);
        }
    }

    /** The leader did what it was asked for. */
    void healthy() {
        synchronized (calls.lock) {
            if (state == State.CONNECTED) {
                members.served();
            }
        }
    }

    // ---- the session

    /** Whether the cluster refuses the session for ever. */
    static boolean fatal(RpcStatus status) {
        return status.advice() == Advice.FENCED
                || (status.errno() == Errno.ESTALE && status.advice() == Advice.GIVE_UP);
    }

    /** The cluster refuses this session for ever. Any thread. */
    void die(String detail) {
        FsException reason;
        Unanswered lost;
        synchronized (calls.lock) {
            if (over() != null) {
                return;
            }
            state = State.DEAD;
            leader = null;
            reason =
                    new FsException(
                            Errno.EIO,
                            "ESTALE: the cluster evicted session " + session + ": " + detail);
            deadReason = reason;
            lost = traffic.clear();
        }
        events.sessionLost(reason, lost.mutations());
        opened.completeExceptionally(reason);
        lost.fail(reason);
    }

    /** Ends the session at the MDS; what is still outstanding fails. */
    CompletableFuture<Void> close() {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        FsException reason = new FsException(Errno.ESTALE, "the client is closed");
        Unanswered lost;
        RpcChannel to;
        long ending;
        synchronized (calls.lock) {
            if (over() != null) {
                return CompletableFuture.completedFuture(null);
            }
            to = leader;
            ending = session;
            state = State.CLOSED;
            leader = null;
            deadReason = reason;
            lost = traffic.clear();
        }
        lost.fail(reason);
        opened.completeExceptionally(reason);
        if (to == null || ending == 0) {
            closed.complete(null);
            return closed;
        }
        to.call(
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
                    closed.complete(null);
                });
        return closed;
    }

    /** Why nothing is accepted any more, or null. Under the lock. */
    @Nullable FsException over() {
        return deadReason;
    }

    /** Why the session is over, when it is known to be. */
    FsException deadReason() {
        synchronized (calls.lock) {
            FsException reason = deadReason;
            return reason == null ? new FsException(Errno.EIO, "session lost") : reason;
        }
    }
}
