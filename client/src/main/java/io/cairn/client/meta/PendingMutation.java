package io.cairn.client.meta;

import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A mutation from the moment it is queued to its answer. It has two ends: {@link #reply()} is for
 * the caller and fails when the deadline passes; {@link #answer()} completes when the MDS has
 * answered, because a mutation that has a number stays outstanding, and may still be executed,
 * until then or until the session is lost. Any thread.
 */
public final class PendingMutation {
    /** Changed under the session's lock, and not any more once it has a number. */
    private volatile Mutation mutation;

    /** Those that are in it, and answered with it. */
    private final List<PendingMutation> merged = new ArrayList<>();

    private final long deadlineNanos;
    private final long boundTo;
    private volatile long session;
    private final CompletableFuture<MutationResult> answer = new CompletableFuture<>();
    private final CompletableFuture<MutationResult> reply = new CompletableFuture<>();

    /**
     * @param boundTo the session in which alone it means something; 0: any
     */
    PendingMutation(Mutation mutation, long deadlineNanos, long boundTo) {
        this.mutation = mutation;
        this.deadlineNanos = deadlineNanos;
        this.boundTo = boundTo;
    }

    /** One that is not sent. */
    public static PendingMutation refused(Mutation mutation, FsException why) {
        PendingMutation refused = new PendingMutation(mutation, 0, 0);
        refused.lost(why);
        return refused;
    }

    Mutation mutation() {
        return mutation;
    }

    /**
     * Does what the other one does as well, which is answered with this one. Both have no number,
     * nobody waits for them, and the other one is in no queue.
     *
     * @return false where that is not possible
     */
    boolean merge(PendingMutation other) {
        @Nullable Mutation both =
                boundTo == other.boundTo ? MergedChanges.of(mutation, other.mutation) : null;
        if (both == null) {
            return false;
        }
        mutation = both;
        merged.add(other);
        return true;
    }

    /** The id of what it makes, if the client has chosen it; else 0. */
    public long ownInode() {
        return mutation.getOwnInode();
    }

    /** Whether what it makes is open then. */
    public boolean opens() {
        return mutation.getCreate().getOpen() || mutation.getMkdir().getOpen();
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    /** Whether it means nothing in a later session. */
    boolean bound() {
        return boundTo != 0;
    }

    boolean mayBeSentIn(long id) {
        return boundTo == 0 || boundTo == id;
    }

    /** The session in which it was executed; 0 before it is answered. */
    public long session() {
        return session;
    }

    /**
     * The MDS's result, whatever its errno; fails only when it will never be executed any more
     * (dropped before it got a number, bound to a session that has ended) or when its session has
     * ended and nobody knows whether it was executed. Completes before the reply.
     */
    public CompletableFuture<MutationResult> answer() {
        return answer;
    }

    /** The result by the deadline; fails with the result's errno, or ETIMEDOUT. */
    public CompletableFuture<MutationResult> reply() {
        return reply;
    }

    void answered(MutationResult result, long in) {
        session = in;
        answer.complete(result);
        FsException failure = Results.failure(result);
        if (failure == null) {
            reply.complete(result);
        } else {
            reply.completeExceptionally(failure);
        }
        merged.forEach(other -> other.answered(result, in));
    }

    /** It will not be executed, or its outcome will never be known. */
    void lost(FsException why) {
        answer.completeExceptionally(why);
        reply.completeExceptionally(why);
        merged.forEach(other -> other.lost(why));
    }

    /** The caller is told; the mutation stays outstanding. */
    void late(FsException why) {
        reply.completeExceptionally(why);
    }
}
