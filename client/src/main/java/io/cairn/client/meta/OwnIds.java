package io.cairn.client.meta;

import io.cairn.common.proto.AcquireIdsOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives ids of the session's ranges to what is made, and has further ranges granted. Nothing waits
 * for a range: where none is at hand the leader chooses the id. The first is asked for when
 * something is to be made for the first time.
 *
 * <p>Ids are taken, and the mutations that use them queued, under one lock: they must reach the
 * leader in ascending order. Any thread.
 */
final class OwnIds {
    private final MdsSession session;
    private final SessionCalls calls;
    private final MutationPipeline mutations;

    /** Guarded by the session's lock. */
    private final HeldIds held = new HeldIds();

    OwnIds(MdsSession session, SessionCalls calls, MutationPipeline mutations) {
        this.session = session;
        this.calls = calls;
        this.mutations = mutations;
    }

    /**
     * Queues the mutation with the next id; nobody waits for it.
     *
     * @param in the session alone in which it means something
     * @param still as of {@link MutationPipeline#addLazily}
     * @return null where it was not queued, as there is no id at hand
     */
    @Nullable PendingMutation make(Mutation mutation, long in, BooleanSupplier still) {
        synchronized (calls.lock) {
            if (session.id() != in || session.over() != null) {
                return null;
            }
            @Nullable PendingMutation made = null;
            long inode = held.take();
            if (inode != 0) {
                Mutation own = mutation.toBuilder().setOwnInode(inode).build();
                PendingMutation queued = new PendingMutation(own, MetaClient.never(), in);
                made = mutations.addLazily(queued, still) ? queued : null;
            }
            ask(in);
            return made;
        }
    }

    /** Under the lock. */
    private void ask(long in) {
        int count = held.toAskFor(System.nanoTime());
        if (count == 0) {
            return;
        }
        PendingMutation acquired =
                new PendingMutation(
                        NewMutation.stamped()
                                .setAcquireIds(AcquireIdsOp.newBuilder().setCount(count))
                                .build(),
                        MetaClient.never(),
                        in);
        mutations.add(acquired);
        var _ = acquired.answer().whenComplete((result, failure) -> answered(in, result));
    }

    /**
     * @param result null if the session has ended, which drops everything
     */
    private void answered(long in, @Nullable MutationResult result) {
        synchronized (calls.lock) {
            if (result == null || session.id() != in) {
                return;
            }
            if (result.getErrno() == 0) {
                held.granted(result.getIds());
            } else {
                held.refused(System.nanoTime());
            }
        }
    }

    /** The session has ended. Under the lock. */
    void ended() {
        held.ended();
    }
}
