package io.cairn.client.meta;

import io.cairn.client.meta.MutationQueue.Batch;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The mutations of a session: sends them in batches in the order of their numbers, several batches
 * at a time, and every outstanding batch again to each leader that is found. Any thread; the queue
 * is guarded by the session's lock, and callers are told outside of it.
 *
 * <p>When a session ends, mutations that certainly were not executed in it go on in the next one:
 * those never sent, and those of a batch that was refused as a whole at its only attempt, and
 * behind it. A batch whose only attempt is in flight at that moment is decided by its answer. For
 * the others nobody knows: they fail.
 */
final class MutationPipeline {
    /** Times the largest pipeline this stays below the answers the MDS keeps for one session. */
    private static final int MAX_BATCH = 128;

    private static final int MAX_BATCH_BYTES = 1 << 20;

    /** How long what nobody waits for may wait for company. */
    private static final long LAZY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** So many answers that make no sense are taken for accidents, of a server that is replaced. */
    private static final int MAX_MISUNDERSTOOD = 1;

    private final MdsSession session;
    private final SessionCalls calls;
    private final MetaEvents events;
    private final OpensAhead ahead;
    private final int pipeline;
    private final MutationQueue queue = new MutationQueue(MAX_BATCH, MAX_BATCH_BYTES);

    /** Of sessions that have ended, their only attempt in flight. */
    private final Set<Batch> undecided = new LinkedHashSet<>();

    /** {@link #hurry} is about to be called. */
    private boolean pumpsSoon;

    /**
     * @param ahead told of what was changed
     * @param pipeline batches in flight at once
     */
    MutationPipeline(
            MdsSession session,
            SessionCalls calls,
            MetaEvents events,
            OpensAhead ahead,
            int pipeline) {
        this.ahead = ahead;
        this.session = session;
        this.calls = calls;
        this.events = events;
        this.pipeline = pipeline;
    }

    /** Queues it behind all queued before; fails it when its session has ended. */
    void add(PendingMutation pending) {
        FsException over;
        synchronized (calls.lock) {
            over = whyNot(pending);
            if (over == null) {
                queue.add(pending);
                pump();
            }
        }
        if (over != null) {
            pending.lost(over);
        }
    }

    private @Nullable FsException whyNot(PendingMutation pending) {
        FsException over = session.over();
        return over == null && !pending.mayBeSentIn(session.id()) ? session.lastEnd() : over;
    }

    /**
     * Queues one that nobody waits for: it is sent with the next that somebody waits for, or soon.
     *
     * @param still asked under the lock
     * @return false where it was not queued
     */
    boolean addLazily(PendingMutation pending, BooleanSupplier still) {
        return addLazily(pending, still, false);
    }

    /** The same for a change of attributes, which may go into one of the same file that waits. */
    boolean addOrMerge(PendingMutation change, BooleanSupplier still) {
        return addLazily(change, still, true);
    }

    private boolean addLazily(PendingMutation pending, BooleanSupplier still, boolean merges) {
        synchronized (calls.lock) {
            if (whyNot(pending) != null || !still.getAsBoolean()) {
                return false;
            }
            if (merges && queue.merge(pending)) {
                return true; // that one is sent soon, or waits for room
            }
            queue.add(pending);
            if (!pumpsSoon) {
                pumpsSoon = true;
                calls.later(LAZY_NANOS, this::hurry);
            }
            return true;
        }
    }

    /** Sends what nobody has waited for. */
    void hurry() {
        synchronized (calls.lock) {
            pumpsSoon = false;
            pump();
        }
    }

    /** Mutations without an answer. */
    int depth() {
        synchronized (calls.lock) {
            return queue.depth();
        }
    }

    /** Whether something was sent that has no answer. Under the lock. */
    boolean isWaiting() {
        return !queue.outstanding().isEmpty();
    }

    /** A leader was found: sends it again what is outstanding, then what waits. Under the lock. */
    void connected() {
        List.copyOf(queue.outstanding()).forEach(this::send);
        pump();
    }

    /** Takes out everything. Under the lock. */
    List<PendingMutation> clear() {
        List<PendingMutation> all = queue.clear();
        undecided.forEach(batch -> all.addAll(batch.mutations()));
        undecided.clear();
        return all;
    }

    /** The session has ended: takes out what cannot go on in the next one. Under the lock. */
    List<PendingMutation> ended() {
        List<PendingMutation> lost = queue.dropWaiting(PendingMutation::bound);
        List<PendingMutation> carried = new ArrayList<>();
        boolean never = false;
        for (Batch batch : queue.outstanding()) {
            never |= batch.neverExecuted;
            boolean open = batch.attempts == 1 && batch.inFlight;
            if (!never && open) {
                undecided.add(batch);
            }
            for (PendingMutation m : batch.mutations()) {
                if (m.bound() || (!never && !open)) {
                    lost.add(m);
                } else if (never) {
                    carried.add(m);
                }
            }
        }
        queue.startOver();
        queue.carry(carried);
        return lost;
    }

    /**
     * Fails callers that are late: those without a number are dropped, those with one stay
     * outstanding.
     */
    void sweep(long nowNanos, FsException reason) {
        List<PendingMutation> dropped;
        List<PendingMutation> late = new ArrayList<>();
        synchronized (calls.lock) {
            dropped = queue.dropWaiting(m -> nowNanos - m.deadlineNanos() >= 0);
            addLate(queue.outstanding(), nowNanos, late);
            addLate(undecided, nowNanos, late);
        }
        dropped.forEach(m -> m.lost(reason));
        late.forEach(m -> m.late(reason));
    }

    private static void addLate(
            Collection<Batch> batches, long nowNanos, List<PendingMutation> late) {
        for (Batch batch : batches) {
            for (PendingMutation m : batch.mutations()) {
                if (nowNanos - m.deadlineNanos() >= 0 && !m.reply().isDone()) {
                    late.add(m);
                }
            }
        }
    }

    /** Sends what waits, as far as the pipeline has room. Under the lock. */
    private void pump() {
        while (session.leader() != null && queue.outstanding().size() < pipeline) {
            Batch batch = queue.nextBatch();
            if (batch == null) {
                return;
            }
            send(batch);
        }
    }

    /** Under the lock. */
    private void send(Batch batch) {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentEra = session.era();
        batch.session = session.id();
        batch.attempts++;
        batch.inFlight = true;
        calls.call(
                to,
                Method.MUTATE,
                batch.request(batch.session, queue.ackedBelow()),
                MutateReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> done(batch, sentEra, status, reply));
    }

    private void done(Batch batch, long sentEra, RpcStatus said, @Nullable MutateReply reply) {
        RpcStatus status = reply == null ? said : fits(batch, reply);
        boolean evicted = MdsSession.fatal(status);
        boolean outlived;
        synchronized (calls.lock) {
            batch.inFlight = false;
            batch.neverExecuted |= evicted && batch.attempts == 1;
            outlived = undecided.remove(batch);
            if (!outlived && status.ok()) {
                if (!queue.answered(batch)) {
                    return;
                }
                session.healthy();
                pump();
            }
        }
        if (reply != null && status.ok()) {
            answered(batch, reply);
        } else if (outlived) {
            outlived(batch);
        } else if (evicted) {
            session.evicted(batch.session, status.detail());
        } else if (hopeless(batch, status)) {
            session.refused(batch.session, status);
        } else {
            // Executed or not, the numbers are taken: only repeating them tells.
            session.lostLeader(sentEra, status);
        }
    }

    private static RpcStatus fits(Batch batch, MutateReply reply) {
        int sent = batch.mutations().size();
        return reply.getResultsCount() == sent
                ? RpcStatus.OK
                : RpcStatus.fail(
                        Errno.EPROTO,
                        reply.getResultsCount() + " results for " + sent + " mutations");
    }

    private void answered(Batch batch, MutateReply reply) {
        synchronized (calls.lock) { // before anybody goes on
            for (int i = 0; i < batch.mutations().size(); i++) {
                ahead.mutated(batch.mutations().get(i).mutation(), reply.getResults(i));
            }
        }
        for (int i = 0; i < batch.mutations().size(); i++) {
            PendingMutation pending = batch.mutations().get(i);
            events.mutated(pending.mutation(), reply.getResults(i));
            pending.answered(reply.getResults(i), batch.session);
        }
    }

    /**
     * Whether repeating the batch would change nothing. A server of another version, or one that
     * failed inside, is asked once more.
     */
    private boolean hopeless(Batch batch, RpcStatus status) {
        if (status.advice() != Advice.GIVE_UP || status.unanswered()) {
            return false;
        }
        if (status.errno() != Errno.EPROTO && status.errno() != Errno.EIO) {
            return true;
        }
        synchronized (calls.lock) {
            return ++batch.misunderstood > MAX_MISUNDERSTOOD;
        }
    }

    /** The only attempt has ended after its session. */
    private void outlived(Batch batch) {
        List<PendingMutation> lost = new ArrayList<>(batch.mutations());
        FsException reason;
        synchronized (calls.lock) {
            FsException over = session.over();
            reason = over == null ? session.lastEnd() : over;
            if (over == null && batch.neverExecuted) {
                List<PendingMutation> carried = new ArrayList<>(lost);
                carried.removeIf(PendingMutation::bound);
                lost.removeAll(carried);
                queue.carry(carried);
                pump();
            }
        }
        lost.forEach(m -> m.lost(reason));
    }
}
