package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes handles. An inode this client has open already is not opened at the MDS again; its
 * attributes are fetched, so that every open sees what other clients wrote and closed before. An
 * open that succeeds after its caller gave up is given back.
 */
public final class Opens {
    private final FileServices services;
    private final InodeTable table;
    private final Appends appends;

    public Opens(FileServices services, InodeTable table, Appends appends) {
        this.services = services;
        this.table = table;
        this.appends = appends;
    }

    /**
     * @param append whether to take the right to append with it, if that is free
     */
    public CompletableFuture<OpenHandle> open(long inode, boolean append) {
        CompletableFuture<OpenHandle> future = new CompletableFuture<>();
        open(inode, append, future);
        return future;
    }

    private void open(long inode, boolean append, CompletableFuture<OpenHandle> future) {
        InodeState state = table.acquire(inode);
        CompletableFuture<Void> reopening;
        boolean shared;
        synchronized (state) {
            reopening = state.tenure.awaited();
            shared = state.mdsOpens > 0;
        }
        if (reopening != null) {
            var _ =
                    reopening
                            .copy()
                            .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                            .whenComplete((v, thrown) -> {
                                if (thrown == null) {
                                    openAgain(state, append, future);
                                } else {
                                    handOver(future, state, Async.failure(thrown));
                                }
                            });
        } else if (shared) {
            var _ =
                    state.refresh()
                            .whenComplete((v, thrown) -> {
                                if (thrown == null) {
                                    handOver(future, state);
                                } else {
                                    handOver(future, state, Async.failure(thrown));
                                }
                            });
        } else {
            openAtMds(state, append, future);
        }
    }

    /** What was begun in a session that has ended. */
    private void openAgain(InodeState state, boolean append, CompletableFuture<OpenHandle> future) {
        open(state.inode(), append, future);
        var _ = table.release(state);
    }

    private void openAtMds(InodeState state, boolean append, CompletableFuture<OpenHandle> future) {
        Mutation mutation =
                NewMutation.stamped()
                        .setOpen(OpenOp.newBuilder().setInode(state.inode()).setAppend(append))
                        .build();
        int returns;
        PendingMutation pending;
        synchronized (state) {
            returns = append ? state.appends.granting() : 0;
            pending = mutate(mutation);
        }
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            FsException failure = failure(result, thrown);
                            boolean counted =
                                    failure == null
                                            && result != null
                                            && counted(state, pending, result);
                            if (append) {
                                appends.answered(
                                        state,
                                        returns,
                                        counted && result != null && result.getAppendRight());
                            }
                            boolean again =
                                    failure == null ? !counted : result == null && ended(failure);
                            if (again) {
                                openAgain(state, append, future);
                            } else if (failure != null) {
                                handOver(future, state, failure);
                            } else {
                                handOver(future, state);
                            }
                        });
        late(pending, future);
    }

    /**
     * Whether an open was not answered because its session has ended; it may be repeated, for what
     * it opened has ended too.
     */
    private boolean ended(FsException noAnswer) {
        return noAnswer.errno() == Errno.EIO && !services.meta().isClosed();
    }

    /**
     * @param mutation a CreateOp that opens
     */
    public CompletableFuture<OpenHandle> create(Mutation mutation) {
        CompletableFuture<OpenHandle> future = new CompletableFuture<>();
        PendingMutation pending = mutate(mutation);
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            FsException failure = failure(result, thrown);
                            if (failure != null || result == null) {
                                future.completeExceptionally(
                                        failure == null ? new IllegalStateException() : failure);
                                return;
                            }
                            InodeState state = table.acquire(result.getAttr().getInode());
                            if (!counted(state, pending, result)) {
                                openAgain(state, mutation.getCreate().getAppend(), future);
                                return;
                            }
                            if (result.getAppendRight()) {
                                synchronized (state) {
                                    state.appends.created(System.nanoTime());
                                }
                            }
                            handOver(future, state, result.getAttr());
                        });
        late(pending, future);
        return future;
    }

    private PendingMutation mutate(Mutation mutation) {
        return services.meta().mutate(mutation, System.nanoTime() + services.metadataNanos());
    }

    private static @Nullable FsException failure(
            @Nullable MutationResult result, @Nullable Throwable thrown) {
        if (thrown != null || result == null) {
            return Async.failure(thrown == null ? new IllegalStateException() : thrown);
        }
        return Results.failure(result);
    }

    private boolean counted(InodeState state, PendingMutation pending, MutationResult result) {
        return state.counted(result.getAttr(), services.data().session(), pending.session());
    }

    /** Not while writes that were lost before are still being counted: they are not this one's. */
    private void handOver(CompletableFuture<OpenHandle> future, InodeState state) {
        handOver(future, state, Attr.getDefaultInstance());
    }

    /**
     * @param made the attributes of a file that was made just now, with their leases
     */
    private void handOver(CompletableFuture<OpenHandle> future, InodeState state, Attr made) {
        CompletableFuture<Void> reopening;
        synchronized (state) {
            reopening = state.tenure.awaited();
        }
        if (reopening == null) {
            handOver(future, state, made, null);
        } else {
            var _ =
                    reopening.whenComplete(
                            (v, thrown) -> handOver(future, state, made, state.whyGone()));
        }
    }

    private void handOver(
            CompletableFuture<OpenHandle> future, InodeState state, FsException failure) {
        handOver(future, state, Attr.getDefaultInstance(), failure);
    }

    private void handOver(
            CompletableFuture<OpenHandle> future,
            InodeState state,
            Attr made,
            @Nullable FsException failure) {
        if (failure != null) {
            var _ = table.release(state);
            future.completeExceptionally(failure);
            return;
        }
        if (!state.hasView()) {
            var _ = table.release(state);
            future.completeExceptionally(
                    new FsException(Errno.EINVAL, "inode " + state.inode() + " is no file"));
            return;
        }
        OpenHandle handle = new OpenHandle(services, table, appends, state, made);
        if (!future.complete(handle)) {
            var _ = handle.release();
        }
    }

    /**
     * Without an answer yet: what becomes of an answer, or of its loss, is said by its receiver.
     */
    private static void late(PendingMutation pending, CompletableFuture<OpenHandle> future) {
        var _ =
                pending.reply()
                        .whenComplete((result, thrown) -> {
                            if (thrown != null && !pending.answer().isDone()) {
                                future.completeExceptionally(Async.failure(thrown));
                            }
                        });
    }
}
