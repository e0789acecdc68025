package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.WaitTruncatedReply;
import io.cairn.common.proto.WaitTruncatedRequest;
import io.cairn.common.rpc.BackOff;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Changes attributes in the right order with this client's own writes: what they made of size and
 * mtime is published in front of the change, so that no later publication undoes it; a change of
 * size stands among the writes like one that covers the whole file.
 *
 * <p>Where it cut a file that other clients hold open, the caller is answered when all chunks have
 * been cut: until then they take writes of clients that have not heard of the cut, and cut them
 * too. This client has heard of it: its own operations go on meanwhile.
 */
public final class SetAttrs {
    private final FileServices services;
    private final InodeTable table;

    public SetAttrs(FileServices services, InodeTable table) {
        this.services = services;
        this.table = table;
    }

    public CompletableFuture<Attr> apply(SetAttrOp change, Credentials who) {
        InodeState state = table.find(change.getInode());
        FsException gone = state == null ? null : state.whyGone();
        if (gone != null) {
            return CompletableFuture.failedFuture(gone);
        }
        Change task = new Change(state, change, who);
        if (state != null
                && !change.hasSize()
                && services.publisher().change(state, task.mutation)) {
            return CompletableFuture.completedFuture(state.merged());
        }
        if (state != null && change.hasSize()) {
            state.order().submit(task);
        } else {
            task.attempt(1);
        }
        return task.future;
    }

    private final class Change extends RangeOrder.Entry {
        private final @Nullable InodeState state;
        private final SetAttrOp change;
        private final Mutation mutation;
        private final long deadlineNanos = services.metadataDeadline();
        private final CompletableFuture<Attr> future = new CompletableFuture<>();
        private long writesBefore;
        private long changesBefore;

        Change(@Nullable InodeState state, SetAttrOp change, Credentials who) {
            super(0, Long.MAX_VALUE, true);
            this.state = state;
            this.change = change;
            this.mutation = NewMutation.stamped().setCredentials(who).setSetAttr(change).build();
        }

        @Override
        protected void start() {
            attempt(1);
        }

        void attempt(int number) {
            PendingMutation pending;
            InodeState known = state;
            if (known == null) {
                pending = services.meta().mutate(mutation, deadlineNanos);
            } else {
                synchronized (known) {
                    var _ =
                            change.hasSize()
                                    ? services.publisher().publishAlone(known)
                                    : services.publisher().publish(known);
                    writesBefore = known.own.count();
                    changesBefore = known.delegation.queued();
                    pending = services.meta().mutate(mutation, deadlineNanos);
                }
            }
            var _ =
                    pending.answer()
                            .whenComplete((result, thrown) -> answered(number, result, thrown));
            // Later writes wait for the MDS's answer; only the caller hears that it is late.
            var _ =
                    pending.reply()
                            .whenComplete((result, thrown) -> {
                                if (thrown != null && !pending.answer().isDone()) {
                                    future.completeExceptionally(Async.failure(thrown));
                                }
                            });
        }

        private void answered(
                int number, @Nullable MutationResult result, @Nullable Throwable thrown) {
            if (result != null && busy(result)) {
                long delay = BackOff.REQUESTS.delayNanos(number + 3);
                if (System.nanoTime() + delay - deadlineNanos < 0) {
                    CompletableFuture.delayedExecutor(delay, TimeUnit.NANOSECONDS, Runnable::run)
                            .execute(() -> attempt(number + 1));
                    return;
                }
            }
            InodeState known = state;
            if (known != null && result != null && result.getErrno() == 0) {
                settle(known, result);
            }
            if (known != null && change.hasSize()) {
                known.order().finish(this);
            }
            if (result == null) {
                future.completeExceptionally(
                        Async.failure(thrown == null ? new IllegalStateException() : thrown));
            } else if (result.getErrno() != 0) {
                future.completeExceptionally(Results.failed(result));
            } else if (result.getWaitTruncated() == 0) {
                future.complete(table.merge(result.getAttr()));
            } else {
                awaitCut(result);
            }
        }

        /** Not a mutation, which would hold up those behind it. Asked until the deadline. */
        private void awaitCut(MutationResult result) {
            var _ =
                    services.meta()
                            .query(
                                    Method.WAIT_TRUNCATED,
                                    session ->
                                            WaitTruncatedRequest.newBuilder()
                                                    .setSession(session)
                                                    .setInode(change.getInode())
                                                    .setSequence(result.getWaitTruncated())
                                                    .build(),
                                    WaitTruncatedReply.parser(),
                                    deadlineNanos)
                            .whenComplete((reply, thrown) -> {
                                if (thrown != null) {
                                    future.completeExceptionally(Async.failure(thrown));
                                } else if (reply.getApplied()) {
                                    future.complete(table.merge(result.getAttr()));
                                } else {
                                    awaitCut(result);
                                }
                            });
        }

        /** Too many truncations are not yet applied everywhere. */
        private boolean busy(MutationResult result) {
            return change.hasSize() && Errno.of(result.getErrno()) == Errno.EAGAIN;
        }

        private void settle(InodeState known, MutationResult result) {
            known.observe(result.getAttr());
            synchronized (known) {
                if (change.hasSize()) {
                    known.own.sizeSet();
                }
                known.own.set(change, writesBefore);
                known.delegation.executed(changesBefore);
            }
        }

        @Override
        protected void waitingAt(long nowNanos) {
            if (nowNanos - deadlineNanos >= 0) {
                future.completeExceptionally(
                        new FsException(
                                Errno.ETIMEDOUT,
                                "size of inode "
                                        + change.getInode()
                                        + " not set: writes before it are not done"));
            }
        }
    }
}
