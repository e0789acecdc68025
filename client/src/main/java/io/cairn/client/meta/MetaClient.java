package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.client.base.Channels;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SizesToldRequest;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.time.Periodic;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The client of the metadata service: asks queries and sends mutations in a session. Each time a
 * leader is found, every outstanding mutation is sent to it again in order with its old number,
 * then the queries that waited. When a session ends, another one is opened; queries and mutations
 * that certainly were not executed are sent in that one. Any thread; futures complete on event
 * loops, on the timer or on the thread that ends the session, never under the session's lock.
 */
public final class MetaClient {
    private static final long SWEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final ScheduledExecutorService timer;
    private final SessionCalls calls;
    private final MdsSession session;
    private final MutationPipeline mutations;
    private final PendingQueries queries;
    private final OpensForReading readOpens;
    private final HeldLeases leases;
    private final DelegationReturns delegations;
    private final OwnIds ids;

    /**
     * @param mapEpoch epoch of the cluster map the client has
     */
    public MetaClient(
            MetaOptions options,
            Channels channels,
            ScheduledExecutorService timer,
            LongSupplier mapEpoch,
            MetaEvents events) {
        this.timer = timer;
        calls = new SessionCalls(timer, options.attemptNanos());
        session = new MdsSession(options, channels, calls, mapEpoch, events, new Carried());
        readOpens = new OpensForReading(session, calls);
        OpensAhead ahead = readOpens.ahead();
        mutations = new MutationPipeline(session, calls, events, ahead, options.pipeline());
        queries = new PendingQueries(session, calls, events);
        leases = new HeldLeases(calls, ahead);
        delegations = new DelegationReturns(session, calls);
        ids = new OwnIds(session, calls, mutations);
    }

    /** What the session carries, in the order in which a leader gets it. */
    private final class Carried implements SessionTraffic {
        @Override
        public void connected() {
            mutations.connected();
            readOpens.connected();
            queries.connected();
            delegations.connected();
        }

        @Override
        public boolean isWaiting() {
            return mutations.isWaiting()
                    || queries.isWaiting()
                    || readOpens.isWaiting()
                    || delegations.isWaiting();
        }

        @Override
        public void reclaim() {
            readOpens.asked();
            delegations.asked();
        }

        @Override
        public SessionTraffic.Unanswered ended() {
            readOpens.ended();
            delegations.ended();
            ids.ended();
            return new Lost(mutations.ended(), List.of(), List.of());
        }

        @Override
        public SessionTraffic.Unanswered clear() {
            ids.ended();
            return new Lost(mutations.clear(), queries.clear(), readOpens.clear());
        }
    }

    private record Lost(
            List<PendingMutation> pending,
            List<PendingQuery<?>> queries,
            List<PendingReadOpen> opens)
            implements SessionTraffic.Unanswered {
        @Override
        public int mutations() {
            return pending.size();
        }

        @Override
        public void fail(FsException reason) {
            pending.forEach(m -> m.lost(reason));
            queries.forEach(q -> q.failed(reason));
            opens.forEach(o -> o.failed(reason));
        }
    }

    /** Begins to look for the leader; completes when the first session is open. Once. */
    public CompletableFuture<Void> open() {
        var _ =
                Periodic.every(
                        timer, SWEEP_NANOS, "The sweep of requests that are late", this::sweep);
        return session.open();
    }

    public HeldLeases leases() {
        return leases;
    }

    /** Answers a leader that has asked for sizes; if that gets lost, it asks again. */
    public void sizesTold(RpcChannel leader, long session, long number) {
        SizesToldRequest told =
                SizesToldRequest.newBuilder().setSession(session).setNumber(number).build();
        leader.call(
                Method.SIZES_TOLD_VALUE,
                told,
                calls.attemptDeadline(),
                (status, head, payload) -> {});
    }

    /** Nothing will be answered any more. */
    public boolean isClosed() {
        return session.isClosed();
    }

    /** Mutations without an answer. */
    public int mutationsOutstanding() {
        return mutations.depth();
    }

    /** Why no MDS could be reached, for the message of whoever gives up. */
    public String lastFailure() {
        return session.lastFailure();
    }

    /** Asks the leader; repeated until the deadline, then ETIMEDOUT. */
    public <T extends MessageLite> CompletableFuture<T> query(
            Method method, MessageLite request, Parser<T> parser, long deadlineNanos) {
        return query(method, session -> request, parser, deadlineNanos);
    }

    /**
     * The same with a request that names the session: it is made anew for each attempt. Cancelled
     * by the caller, it is not asked again: what this client asks from then on comes behind it.
     *
     * @param request called under the session's lock
     */
    public <T extends MessageLite> CompletableFuture<T> query(
            Method method,
            LongFunction<? extends MessageLite> request,
            Parser<T> parser,
            long deadlineNanos) {
        return asked(
                new PendingQuery<>(
                        method, request, parser, deadlineNanos, PendingQuery.Listener.none()));
    }

    private <T extends MessageLite> CompletableFuture<T> asked(PendingQuery<T> query) {
        queries.ask(query);
        return query.future;
    }

    /**
     * Asks for a name, with leases if they are wanted. Where files that were looked up are opened
     * next, a file is opened for reading with it: {@link #openForReading} finds it open.
     *
     * @param lookup without a session
     */
    public CompletableFuture<LookupReply> lookUp(LookupRequest lookup, long deadlineNanos) {
        OpensAhead.Asked asked = readOpens.ahead().asked(leases, lookup);
        return asked(
                new PendingQuery<>(
                        Method.LOOKUP, asked::request, LookupReply.parser(), deadlineNanos, asked));
    }

    /**
     * Queues a mutation behind all queued before it. Two calls made under one lock of the caller's
     * are executed in their order.
     *
     * @param deadlineNanos when the caller is no longer interested, see {@link #never}
     */
    public PendingMutation mutate(Mutation mutation, long deadlineNanos) {
        return mutate(mutation, deadlineNanos, 0);
    }

    /**
     * The same for a mutation that means something in one session only.
     *
     * @param session it fails with EIO once this one has ended; 0: any
     */
    public PendingMutation mutate(Mutation mutation, long deadlineNanos, long session) {
        PendingMutation pending = new PendingMutation(mutation, deadlineNanos, session);
        mutations.add(pending);
        return pending;
    }

    /**
     * The same for one that nobody waits for: it is sent with the next that somebody waits for, or
     * some milliseconds later.
     */
    public PendingMutation mutateLazily(Mutation mutation, long session) {
        PendingMutation pending = new PendingMutation(mutation, never(), session);
        if (!mutations.addLazily(pending, () -> true)) {
            mutations.add(pending); // which fails it
        }
        return pending;
    }

    // ---- delegations

    /** Of what is delegated now; it ends with the leader. */
    public long delegationRound() {
        return delegations.round();
    }

    /** Whether what was delegated in that round still is. */
    public boolean isDelegated(long round) {
        return delegations.round() == round && session.renewals().delegationsHold();
    }

    /** {@link #mutateLazily}, unless that round is over: then null. */
    public @Nullable PendingMutation mutateDelegated(Mutation mutation, long session, long round) {
        PendingMutation pending = new PendingMutation(mutation, never(), session);
        return mutations.addLazily(pending, () -> delegations.round() == round) ? pending : null;
    }

    /** The same for a change of the attributes of a file; several in a row become one. */
    public @Nullable PendingMutation changeDelegated(Mutation change, long session, long round) {
        PendingMutation pending = new PendingMutation(change, never(), session);
        return mutations.addOrMerge(pending, () -> delegations.round() == round) ? pending : null;
    }

    /** Sends what nobody has waited for: now somebody does. */
    public void hurry() {
        mutations.hurry();
    }

    /** Once, before the session is opened; see {@link DelegationReturns#tellAllBy}. */
    public void tellAllBy(Supplier<CompletableFuture<Void>> untold) {
        delegations.tellAllBy(untold);
    }

    /** All that was done to these has been answered. */
    public void returnDelegations(long round, List<Long> inodes) {
        delegations.give(round, inodes);
    }

    /**
     * {@link #mutateDelegated} for what makes an inode, with an id that the session has at hand: so
     * the caller knows it before the answer ({@link PendingMutation#ownInode}). Null as well where
     * there is none.
     */
    public @Nullable PendingMutation make(Mutation mutation, long session, long round) {
        return ids.make(mutation, session, () -> delegations.round() == round);
    }

    /** Whether what the session makes and opens is delegated to it, as far as is known. */
    public boolean delegates() {
        return delegations.isTold();
    }

    /**
     * Opens a file for reading, which only the leader knows of. It lasts as long as the session,
     * whatever becomes of the leader.
     *
     * @param unchanged whether all that this client has done to it is with the leader
     * @param deadlineNanos when the caller is no longer interested
     */
    public PendingReadOpen openForReading(long inode, boolean unchanged, long deadlineNanos) {
        return readOpens.open(inode, unchanged, deadlineNanos);
    }

    /**
     * Closes what was opened for reading, without waiting for it.
     *
     * @param in the session in which it is open
     * @param number of the newest open of this inode
     */
    public void closeForReading(long in, long inode, long number) {
        readOpens.close(in, inode, number);
    }

    /** A deadline that never comes. */
    public static long never() {
        return System.nanoTime() + Long.MAX_VALUE / 2;
    }

    /**
     * Whether the session certainly lives. If not, as when this process or its machine stood still
     * for long, nothing is to begin in it before {@link #confirmed}.
     */
    public boolean leaseHolds() {
        return session.renewals().leaseHolds();
    }

    /** Completes when it is known whether the session lives, or another one is open. */
    public CompletableFuture<Void> confirmed() {
        return session.renewals().confirmed();
    }

    /** Has the leader push the cluster map if it has a newer one. */
    public void refreshMap() {
        session.renewals().refreshMap();
    }

    /** The cluster map names the MDS members, which join the configured ones. */
    public void learnMembers(List<String> addresses) {
        session.learnMembers(addresses);
    }

    /** A server refuses that session for ever. Any thread. */
    public void evicted(long id, String detail) {
        session.evicted(id, detail);
    }

    /** Ends the session at the MDS; what is still outstanding fails. */
    public CompletableFuture<Void> close() {
        return session.close();
    }

    /** Fails callers whose deadline has passed. */
    private void sweep() {
        long now = System.nanoTime();
        FsException reason = Results.late(session.lastFailure());
        mutations.sweep(now, reason);
        queries.sweep(now, reason);
        readOpens.sweep(now, reason);
    }
}
