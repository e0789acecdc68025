package io.cairn.client.meta;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The mutations of a session: sends them in batches in the order of their numbers, several batches
 * at a time, and every outstanding batch again to each leader that is found. Any thread; the queue
 * is guarded by the session's lock, and callers are told outside of it.
 */
final class MutationPipeline {
    /** Times the largest pipeline this stays below the answers the MDS keeps for one session. */
    private static final int MAX_BATCH = 128;

    private static final int MAX_BATCH_BYTES = 1 << 20;

    private final MdsSession session;
    private final SessionCalls calls;
    private final int pipeline;
    private final MutationQueue queue = new MutationQueue(MAX_BATCH, MAX_BATCH_BYTES);

    /**
     * @param pipeline batches in flight at once
     */
    MutationPipeline(MdsSession session, SessionCalls calls, int pipeline) {
        this.session = session;
        this.calls = calls;
        this.pipeline = pipeline;
    }

    /** Queues it behind all queued before; fails it when the session is over. */
    void add(PendingMutation pending) {
        FsException over;
        synchronized (calls.lock) {
            over = session.over();
            if (over == null) {
                queue.add(pending);
                pump();
            }
        }
        if (over != null) {
            pending.lost(over);
        }
    }

    /** Mutations without an answer. */
    int depth() {
        synchronized (calls.lock) {
            return queue.depth();
        }
    }

    /** A leader was found: sends it again what is outstanding, then what waits. Under the lock. */
    void connected() {
        List.copyOf(queue.outstanding()).forEach(this::send);
        pump();
    }

    /** Takes out everything. Under the lock. */
    List<PendingMutation> clear() {
        return queue.clear();
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
            for (MutationQueue.Batch batch : queue.outstanding()) {
                for (PendingMutation m : batch.mutations()) {
                    if (nowNanos - m.deadlineNanos() >= 0 && !m.reply().isDone()) {
                        late.add(m);
                    }
                }
            }
        }
        dropped.forEach(m -> m.lost(reason));
        late.forEach(m -> m.late(reason));
    }

    /** Sends what waits, as far as the pipeline has room. Under the lock. */
    private void pump() {
        while (session.leader() != null && queue.outstanding().size() < pipeline) {
            MutationQueue.Batch batch = queue.nextBatch();
            if (batch == null) {
                return;
            }
            send(batch);
        }
    }

    /** Under the lock. */
    private void send(MutationQueue.Batch batch) {
        RpcChannel to = session.leader();
        if (to == null) {
            return;
        }
        long sentEra = session.era();
        calls.call(
                to,
                Method.MUTATE,
                batch.request(session.id(), queue.ackedBelow()),
                MutateReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> done(batch, sentEra, status, reply));
    }

    private void done(
            MutationQueue.Batch batch,
            long sentEra,
            RpcStatus status,
            @Nullable MutateReply reply) {
        if (reply == null) {
            if (MdsSession.fatal(status)) {
                session.die(status.detail());
            } else {
                // Executed or not, the numbers are taken: only repeating them tells.
                session.lostLeader(sentEra, status);
            }
            return;
        }
        int sent = batch.mutations().size();
        if (reply.getResultsCount() != sent) {
            String what = reply.getResultsCount() + " results for " + sent + " mutations";
            session.lostLeader(sentEra, RpcStatus.fail(Errno.EPROTO, what));
            return;
        }
        synchronized (calls.lock) {
            if (!queue.answered(batch)) {
                return;
            }
            session.healthy();
            pump();
        }
        for (int i = 0; i < sent; i++) {
            batch.mutations().get(i).answered(reply.getResults(i));
        }
    }
}
