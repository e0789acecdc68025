package io.cairn.client.meta;

import com.google.protobuf.ByteString;
import io.cairn.client.base.Channels;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
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
 * session, and carries what is sent in it. One that has ended is followed by another, with a new
 * number, as that of another client.
 *
 * <pre>
 *   SEARCHING --a leader knows the session--> CONNECTED --it is lost or fails--> SEARCHING
 *   both --evicted or refused--> ENDING --all is told--> SEARCHING, for a leader to open one
 *   all three --close--> CLOSED
 * </pre>
 *
 * <p>{@code era} counts how often a leader was found or lost; an answer from an earlier era is
 * still an answer, a failure from one means nothing.
 *
 * <p>A session that ends though the MDS still serves it is evicted at the client's own wish before
 * the next one is opened: only then can no request of it that is still in flight be executed after
 * those of the next.
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
        ENDING,
        CLOSED
    }

    /** What is sent in the session. All methods are called under the lock. */
    interface Traffic {
        /** A leader was found: sends what has no answer yet. */
        void connected();

        /** The session has ended: takes out what cannot go on in the next one. */
        Unanswered ended();

        /** The client ends: takes out everything that has no answer. */
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
    private @Nullable FsException closed;
    private long era;

    /** 0: none is open. */
    private long session;

    /** Of the session, or of the next one: opening is idempotent by it. */
    private ByteString uuid = Uuids.random();

    /** The one that ended last, to be evicted before another is opened; 0: none. */
    private long toEvict;

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
            Traffic traffic) {
        this.options = options;
        this.channels = channels;
        this.calls = calls;
        this.renewals = new Renewals(this, calls, mapEpoch);
        this.events = events;
        this.traffic = traffic;
        this.members = new LeaderFinder(options.members());
    }

    /** Begins to look for the leader; completes when the first session is open. Once. */
    CompletableFuture<Void> open() {
        synchronized (calls.lock) {
            search(era);
        }
        return opened;
    }

    /** Number of the session at the MDS; 0 while none is open. Under the lock. */
    long id() {
        return session;
    }

    /** Null while it is looked for, and once the client is closed. Under the lock. */
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
        long sent = renewals.nowNanos();
        if (toEvict != 0) {
            long evicting = toEvict;
            calls.call(
                    to,
                    Method.CLOSE_SESSION,
                    CloseSessionRequest.newBuilder().setSession(evicting).setEvict(true).build(),
                    CloseSessionReply.parser(),
                    deadline,
                    (status, reply) -> evictedByWish(searchEra, evicting, status));
        } else if (session == 0) {
            OpenSessionRequest request =
                    OpenSessionRequest.newBuilder()
                            .setClientUuid(uuid)
                            .setDescription(options.description())
                            .build();
            calls.call(
                    to,
                    Method.OPEN_SESSION,
                    request,
                    OpenSessionReply.parser(),
                    deadline,
                    (status, reply) -> sessionOpened(searchEra, sent, to, status, reply));
        } else {
            long asked = session;
            calls.call(
                    to,
                    Method.RENEW_SESSION,
                    renewals.request(),
                    RenewSessionReply.parser(),
                    deadline,
                    (status, reply) -> sessionFound(searchEra, asked, sent, to, status));
        }
    }

    /** Also where the leader does not know it any more: then it was evicted before. */
    private void evictedByWish(long searchEra, long evicting, RpcStatus status) {
        if (!status.ok() && !fatal(status)) {
            notFound(searchEra, status);
            return;
        }
        synchronized (calls.lock) {
            if (toEvict == evicting) {
                toEvict = 0;
            }
            search(searchEra);
        }
    }

    private void sessionOpened(
            long searchEra,
            long sentNanos,
            RpcChannel from,
            RpcStatus status,
            @Nullable OpenSessionReply reply) {
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
        renewals.every(reply.getSession(), interval);
        connected(searchEra, from);
        renewals.opened(sentNanos, reply.getExpiryMillis());
        opened.complete(null);
    }

    private void sessionFound(
            long searchEra, long asked, long sentNanos, RpcChannel from, RpcStatus status) {
        if (status.ok()) {
            connected(searchEra, from);
            renewals.renewed(asked, sentNanos);
        } else if (fatal(status)) {
            evicted(asked, status.detail());
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
            if (session == 0
                    && !opened.isDone()
                    && members.rounds() > 0
                    && status.errno() == Errno.EPROTO) {
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
                endings = 0;
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

    /** A server refuses that session for ever. Nothing if it is not this one. Any thread. */
    void evicted(long id, String detail) {
        end(id, false, "ESTALE: the cluster evicted session " + id + ": " + detail);
    }

    /**
     * The MDS refuses mutations of that session which it cannot do without, as the later ones have
     * numbers behind theirs.
     */
    void refused(long id, RpcStatus status) {
        String why = status.errno() + " " + status.detail();
        end(id, true, "the MDS refused mutations of session " + id + ": " + why);
    }

    /**
     * @param served whether the MDS may still take it for open
     */
    private void end(long id, boolean served, String why) {
        FsException reason = new FsException(Errno.EIO, why);
        synchronized (calls.lock) {
            if (id == 0 || session != id || state == State.ENDING || state == State.CLOSED) {
                return;
            }
            state = State.ENDING;
            leader = null;
            era++;
            lastEnd = reason;
            renewals.ending();
        }
        // Before anybody is told: who fails now must find that its session has ended.
        events.sessionEnded(id, reason);
        Unanswered lost;
        synchronized (calls.lock) {
            if (state == State.CLOSED) {
                return;
            }
            session = 0;
            uuid = Uuids.random();
            toEvict = served ? id : 0;
            lost = traffic.ended();
        }
        if (lost.mutations() > 0) {
            LOG.warn(
                    "Metadata changes of session {} with an unknown end: {}", id, lost.mutations());
        }
        lost.fail(reason);
        renewals.tellAll();
        synchronized (calls.lock) {
            if (state == State.ENDING) {
                state = State.SEARCHING;
                endings++;
                searchAfter(endings > 1 ? BackOff.REQUESTS.delayNanos(endings + 3) : 0);
            }
        }
    }

    /** Ends the session at the MDS; what is still outstanding fails. */
    CompletableFuture<Void> close() {
        CompletableFuture<Void> done = new CompletableFuture<>();
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
            closed = reason;
            lost = traffic.clear();
        }
        lost.fail(reason);
        renewals.tellAll();
        opened.completeExceptionally(reason);
        if (to == null || ending == 0) {
            done.complete(null);
            return done;
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
