package io.cairn.client.meta;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.client.base.Backoff;
import io.cairn.client.base.Channels;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session with the metadata service: finds the leader and follows it, renews the session, asks
 * queries and sends mutations.
 *
 * <pre>
 *   SEARCHING --a leader knows the session--> CONNECTED --it is lost or fails--> SEARCHING
 *   both --evicted--> DEAD     both --close--> CLOSED
 * </pre>
 *
 * <p>Each time a leader is found, every outstanding mutation is sent to it again in order with its
 * old number, then the queries that waited. {@code era} counts these times; an answer from an
 * earlier era is still an answer, a failure from one means nothing.
 *
 * <p>Any thread. One lock guards the state; channels are called under it, so that requests leave in
 * the order of their numbers, but futures complete outside of it.
 */
public final class MetaClient {
    private static final Logger LOG = LoggerFactory.getLogger(MetaClient.class);

    /** Times the largest pipeline this stays below the answers the MDS keeps for one session. */
    private static final int MAX_BATCH = 128;

    private static final int MAX_BATCH_BYTES = 1 << 20;
    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private enum State {
        SEARCHING,
        CONNECTED,
        DEAD,
        CLOSED
    }

    /** What to do with the outcome of a call, not under the lock. */
    private interface Outcome {
        void done(RpcStatus status, ByteBuf head);
    }

    private final class Query<T extends MessageLite> {
        final Method method;
        final MessageLite request;
        final Parser<T> parser;
        final long deadlineNanos;
        final CompletableFuture<T> future = new CompletableFuture<>();
        int attempts;

        Query(Method method, MessageLite request, Parser<T> parser, long deadlineNanos) {
            this.method = method;
            this.request = request;
            this.parser = parser;
            this.deadlineNanos = deadlineNanos;
        }

        void done(long sentEra, RpcStatus status, ByteBuf head) {
            if (status.ok()) {
                try {
                    future.complete(Heads.parse(parser, head));
                } catch (FsException e) {
                    future.completeExceptionally(e);
                }
                healthy();
            } else if (status.advice() == Advice.FENCED) {
                die(status.detail());
                future.completeExceptionally(deadReason());
            } else if (status.advice() == Advice.GIVE_UP) {
                future.completeExceptionally(status.toException());
            } else if (System.nanoTime() - deadlineNanos >= 0) {
                future.completeExceptionally(late(status.detail()));
            } else {
                again(this, sentEra, status);
            }
        }
    }

    private final MetaOptions options;
    private final MetaEvents events;
    private final ScheduledExecutorService timer;
    private final LongSupplier mapEpoch;
    private final Channels channels;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();

    private final Object lock = new Object();
    private final MutationQueue mutations = new MutationQueue(MAX_BATCH, MAX_BATCH_BYTES);
    private final List<Query<?>> waitingQueries = new ArrayList<>();
    private final MdsMembers members;
    private State state = State.SEARCHING;
    private @Nullable RpcChannel leader;
    private @Nullable FsException deadReason;
    private long era;
    private long session;
    private boolean refreshing;
    private int troubles;
    private String lastTrouble = "no MDS member was asked yet";

    /**
     * @param mapEpoch epoch of the cluster map the client has
     */
    public MetaClient(
            MetaOptions options,
            Channels channels,
            ScheduledExecutorService timer,
            LongSupplier mapEpoch,
            MetaEvents events) {
        this.options = options;
        this.channels = channels;
        this.timer = timer;
        this.mapEpoch = mapEpoch;
        this.events = events;
        this.members = new MdsMembers(options.members());
    }

    /** Begins to look for the leader; completes when the session is open. Once. */
    public CompletableFuture<Void> open() {
        var _ =
                timer.scheduleWithFixedDelay(
                        this::sweep, SWEEP_NANOS, SWEEP_NANOS, TimeUnit.NANOSECONDS);
        synchronized (lock) {
            search(era);
        }
        return opened;
    }

    /** 0 before it is open. */
    public long session() {
        synchronized (lock) {
            return session;
        }
    }

    /** Mutations without an answer. */
    public int mutationsOutstanding() {
        synchronized (lock) {
            return mutations.depth();
        }
    }

    /** Why no MDS could be reached, for the message of whoever gives up. */
    public String lastTrouble() {
        synchronized (lock) {
            return lastTrouble;
        }
    }

    // ---- what callers ask for

    /** Asks the leader; repeated until the deadline, then ETIMEDOUT. */
    public <T extends MessageLite> CompletableFuture<T> query(
            Method method, MessageLite request, Parser<T> parser, long deadlineNanos) {
        Query<T> query = new Query<>(method, request, parser, deadlineNanos);
        FsException dead;
        synchronized (lock) {
            dead = over();
            if (dead == null) {
                ask(query);
            }
        }
        if (dead != null) {
            query.future.completeExceptionally(dead);
        }
        return query.future;
    }

    /**
     * Queues a mutation behind all queued before it. Two calls made under one lock of the caller's
     * are executed in their order.
     *
     * @param deadlineNanos when the caller is no longer interested, see {@link #never}
     */
    public PendingMutation mutate(Mutation mutation, long deadlineNanos) {
        PendingMutation pending = new PendingMutation(mutation, deadlineNanos);
        FsException dead;
        synchronized (lock) {
            dead = over();
            if (dead == null) {
                mutations.add(pending);
                pump();
            }
        }
        if (dead != null) {
            pending.lost(dead);
        }
        return pending;
    }

    /** A deadline that never comes. */
    public static long never() {
        return System.nanoTime() + Long.MAX_VALUE / 2;
    }

    /** Has the leader push the cluster map if it has a newer one. */
    public void refreshMap() {
        synchronized (lock) {
            if (state == State.CONNECTED && !refreshing) {
                refreshing = true;
                renew();
            }
        }
    }

    // ---- mutations

    /** Sends what waits, as far as the pipeline has room. Under the lock. */
    private void pump() {
        while (state == State.CONNECTED && mutations.outstanding().size() < options.pipeline()) {
            MutationQueue.Batch batch = mutations.nextBatch();
            if (batch == null) {
                return;
            }
            send(batch);
        }
    }

    private void send(MutationQueue.Batch batch) {
        RpcChannel to = leader;
        if (to == null) {
            return;
        }
        long sentEra = era;
        call(
                to,
                Method.MUTATE,
                batch.request(session, mutations.ackedBelow()),
                System.nanoTime() + options.attemptNanos(),
                (status, head) -> mutated(batch, sentEra, status, head));
    }

    private void mutated(MutationQueue.Batch batch, long sentEra, RpcStatus status, ByteBuf head) {
        if (!status.ok()) {
            if (fatal(status)) {
                die(status.detail());
            } else {
                // Executed or not, the numbers are taken: only repeating them tells.
                lostLeader(sentEra, status);
            }
            return;
        }
        MutateReply reply;
        try {
            reply = Heads.parse(MutateReply.parser(), head);
        } catch (FsException e) {
            lostLeader(sentEra, RpcStatus.fail(Errno.EPROTO, String.valueOf(e.getMessage())));
            return;
        }
        if (reply.getResultsCount() != batch.mutations().size()) {
            lostLeader(
                    sentEra,
                    RpcStatus.fail(
                            Errno.EPROTO,
                            reply.getResultsCount()
                                    + " results for "
                                    + batch.mutations().size()
                                    + " mutations"));
            return;
        }
        synchronized (lock) {
            if (!mutations.answered(batch)) {
                return;
            }
            troubles = 0;
            pump();
        }
        for (int i = 0; i < batch.mutations().size(); i++) {
            batch.mutations().get(i).answered(reply.getResults(i));
        }
    }

    // ---- queries

    /** Under the lock. */
    private void ask(Query<?> query) {
        RpcChannel to = leader;
        if (to == null) {
            waitingQueries.add(query);
            return;
        }
        long sentEra = era;
        long attempt = System.nanoTime() + options.attemptNanos();
        query.attempts++;
        call(
                to,
                query.method,
                query.request,
                attempt - query.deadlineNanos < 0 ? attempt : query.deadlineNanos,
                (status, head) -> query.done(sentEra, status, head));
    }

    private void again(Query<?> query, long sentEra, RpcStatus status) {
        events.retried();
        if (status.advice() == Advice.NOT_LEADER
                || status.errno() == Errno.EHOSTUNREACH
                || status.errno() == Errno.ETIMEDOUT) {
            lostLeader(sentEra, status);
            askAgain(query);
        } else {
            later(Backoff.delayNanos(query.attempts), () -> askAgain(query));
        }
    }

    private void askAgain(Query<?> query) {
        FsException dead;
        synchronized (lock) {
            dead = over();
            if (dead == null) {
                ask(query);
            }
        }
        if (dead != null) {
            query.future.completeExceptionally(dead);
        }
    }

    // ---- the leader

    /** Under the lock, while searching. */
    private void search(long searchEra) {
        if (state != State.SEARCHING || era != searchEra) {
            return;
        }
        String address = members.current();
        RpcChannel to;
        try {
            to = channels.channel(RpcAddress.parse(address));
        } catch (IllegalArgumentException e) {
            notFound(searchEra, RpcStatus.fail(Errno.EHOSTUNREACH, String.valueOf(e)));
            return;
        }
        long deadline = System.nanoTime() + options.attemptNanos();
        if (session == 0) {
            OpenSessionRequest request =
                    OpenSessionRequest.newBuilder()
                            .setClientUuid(ByteString.copyFrom(options.clientUuid()))
                            .setDescription(options.description())
                            .build();
            call(
                    to,
                    Method.OPEN_SESSION,
                    request,
                    deadline,
                    (status, head) -> sessionOpened(searchEra, to, status, head));
        } else {
            call(
                    to,
                    Method.RENEW_SESSION,
                    renewal(),
                    deadline,
                    (status, head) -> sessionFound(searchEra, to, status));
        }
    }

    private RenewSessionRequest renewal() {
        return RenewSessionRequest.newBuilder()
                .setSession(session)
                .setMapEpoch(mapEpoch.getAsLong())
                .build();
    }

    private void sessionOpened(long searchEra, RpcChannel from, RpcStatus status, ByteBuf head) {
        if (!status.ok()) {
            notFound(searchEra, status);
            return;
        }
        OpenSessionReply reply;
        try {
            reply = Heads.parse(OpenSessionReply.parser(), head);
        } catch (FsException e) {
            notFound(searchEra, RpcStatus.fail(Errno.EPROTO, String.valueOf(e.getMessage())));
            return;
        }
        synchronized (lock) {
            if (state != State.SEARCHING || era != searchEra || session != 0) {
                return;
            }
            session = reply.getSession();
        }
        events.sessionOpened(reply.getSession(), reply.getMap());
        learnMembers(reply.getMap().getMdsList().stream().map(MdsMember::getAddress).toList());
        long interval = Math.max(50, reply.getRenewIntervalMillis());
        later(TimeUnit.MILLISECONDS.toNanos(interval), () -> renewEvery(interval));
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
        synchronized (lock) {
            if (state != State.SEARCHING || era != searchEra) {
                return;
            }
            LOG.debug("MDS leader is {}", members.current());
            state = State.CONNECTED;
            leader = to;
            era++;
            members.found();
            refreshing = false;
            for (MutationQueue.Batch batch : List.copyOf(mutations.outstanding())) {
                send(batch);
            }
            pump();
            List<Query<?>> queries = List.copyOf(waitingQueries);
            waitingQueries.clear();
            queries.forEach(this::ask);
        }
    }

    private void notFound(long searchEra, RpcStatus status) {
        FsException refused = null;
        synchronized (lock) {
            if (state != State.SEARCHING || era != searchEra) {
                return;
            }
            lastTrouble = members.current() + ": " + status.errno() + " " + status.detail();
            if (status.advice() == Advice.NOT_LEADER) {
                members.redirected(status.detail());
            } else {
                members.failed();
            }
            int rounds = members.rounds();
            if (session == 0 && rounds > 0 && status.errno() == Errno.EPROTO) {
                refused = status.toException();
            }
            later(
                    rounds == 0 ? 0 : Backoff.delayNanos(rounds),
                    () -> {
                        synchronized (lock) {
                            search(searchEra);
                        }
                    });
        }
        if (refused != null) {
            opened.completeExceptionally(refused); // wrong cluster or version: asking on is no use
        }
    }

    /** The leader of that era failed to serve: look for it, or for another one. */
    private void lostLeader(long failedEra, RpcStatus status) {
        synchronized (lock) {
            if (state != State.CONNECTED || era != failedEra) {
                return;
            }
            events.retried();
            lastTrouble = members.current() + ": " + status.errno() + " " + status.detail();
            LOG.info("Lost the MDS leader {}; looking for it", lastTrouble);
            state = State.SEARCHING;
            leader = null;
            era++;
            if (status.advice() == Advice.NOT_LEADER) {
                members.redirected(status.detail());
            } else if (status.errno() == Errno.EHOSTUNREACH || status.errno() == Errno.ETIMEDOUT) {
                members.failed();
            }
            long searchEra = era;
            int trouble = troubles++;
            later(
                    trouble == 0 ? 0 : Backoff.delayNanos(trouble),
                    () -> {
                        synchronized (lock) {
                            search(searchEra);
                        }
                    });
        }
    }

    /** The cluster map names the MDS members, which join the configured ones. */
    public void learnMembers(List<String> addresses) {
        synchronized (lock) {
            members.learn(addresses);
        }
    }

    private void healthy() {
        synchronized (lock) {
            if (state == State.CONNECTED) {
                troubles = 0;
            }
        }
    }

    // ---- the session

    private void renewEvery(long intervalMillis) {
        synchronized (lock) {
            if (over() != null) {
                return;
            }
            if (state == State.CONNECTED) {
                renew();
            }
        }
        later(TimeUnit.MILLISECONDS.toNanos(intervalMillis), () -> renewEvery(intervalMillis));
    }

    /** Under the lock, connected. */
    private void renew() {
        RpcChannel to = leader;
        if (to == null) {
            return;
        }
        long sentEra = era;
        call(
                to,
                Method.RENEW_SESSION,
                renewal(),
                System.nanoTime() + options.attemptNanos(),
                (status, head) -> {
                    synchronized (lock) {
                        refreshing = false;
                    }
                    if (fatal(status)) {
                        die(status.detail());
                    } else if (!status.ok()) {
                        lostLeader(sentEra, status);
                    }
                });
    }

    /**
     * Calls under the lock. A channel that refuses at once calls back on this thread: that failure
     * is handled later, because futures must not complete under the lock.
     */
    private void call(
            RpcChannel to, Method method, MessageLite request, long deadline, Outcome then) {
        to.call(
                method.getNumber(),
                request,
                deadline,
                (status, head, payload) -> {
                    if (Thread.holdsLock(lock)) {
                        later(0, () -> then.done(status, Unpooled.EMPTY_BUFFER));
                    } else {
                        then.done(status, head);
                    }
                });
    }

    private static boolean fatal(RpcStatus status) {
        return status.advice() == Advice.FENCED
                || (status.errno() == Errno.ESTALE && status.advice() == Advice.GIVE_UP);
    }

    /** The cluster refuses this session for ever. Any thread. */
    public void die(String detail) {
        FsException reason;
        List<PendingMutation> lost;
        List<Query<?>> queries;
        synchronized (lock) {
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
            lost = mutations.clear();
            queries = List.copyOf(waitingQueries);
            waitingQueries.clear();
        }
        events.sessionLost(reason, lost.size());
        opened.completeExceptionally(reason);
        lost.forEach(m -> m.lost(reason));
        queries.forEach(q -> q.future.completeExceptionally(reason));
    }

    /** Ends the session at the MDS; what is still outstanding fails. */
    public CompletableFuture<Void> close() {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        FsException reason = new FsException(Errno.ESTALE, "the client is closed");
        List<PendingMutation> lost;
        List<Query<?>> queries;
        RpcChannel to;
        long ending;
        synchronized (lock) {
            if (over() != null) {
                return CompletableFuture.completedFuture(null);
            }
            to = leader;
            ending = session;
            state = State.CLOSED;
            leader = null;
            deadReason = reason;
            lost = mutations.clear();
            queries = List.copyOf(waitingQueries);
            waitingQueries.clear();
        }
        lost.forEach(m -> m.lost(reason));
        queries.forEach(q -> q.future.completeExceptionally(reason));
        opened.completeExceptionally(reason);
        if (to == null || ending == 0) {
            closed.complete(null);
            return closed;
        }
        to.call(
                Method.CLOSE_SESSION_VALUE,
                CloseSessionRequest.newBuilder().setSession(ending).build(),
                System.nanoTime() + options.attemptNanos(),
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
    private @Nullable FsException over() {
        return deadReason;
    }

    private FsException deadReason() {
        synchronized (lock) {
            FsException reason = deadReason;
            return reason == null ? new FsException(Errno.EIO, "session lost") : reason;
        }
    }

    // ---- time

    private FsException late(String detail) {
        return new FsException(Errno.ETIMEDOUT, "no answer from the MDS in time; last: " + detail);
    }

    /** Fails callers whose deadline has passed. */
    private void sweep() {
        long now = System.nanoTime();
        List<PendingMutation> dropped;
        List<PendingMutation> late = new ArrayList<>();
        List<Query<?>> queries = new ArrayList<>();
        String trouble;
        synchronized (lock) {
            trouble = lastTrouble;
            dropped = mutations.dropWaiting(m -> now - m.deadlineNanos() >= 0);
            for (MutationQueue.Batch batch : mutations.outstanding()) {
                for (PendingMutation m : batch.mutations()) {
                    if (now - m.deadlineNanos() >= 0 && !m.reply().isDone()) {
                        late.add(m);
                    }
                }
            }
            waitingQueries.removeIf(q -> {
                boolean over = now - q.deadlineNanos >= 0;
                if (over) {
                    queries.add(q);
                }
                return over;
            });
        }
        FsException reason = late(trouble);
        dropped.forEach(m -> m.lost(reason));
        late.forEach(m -> m.late(reason));
        queries.forEach(q -> q.future.completeExceptionally(reason));
    }

    private void later(long delayNanos, Runnable step) {
        try {
            var _ = timer.schedule(step, delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("The client is closing; a step is left out");
        }
    }
}
