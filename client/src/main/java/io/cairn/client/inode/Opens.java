package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import java.util.concurrent.CompletableFuture;
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
        InodeState state = table.acquire(inode);
        boolean shared;
        synchronized (state) {
            shared = state.mdsOpens > 0;
        }
        if (shared) {
            var _ =
                    state.refresh()
                            .whenComplete((v, thrown) ->
                                    handOver(
                                            future,
                                            state,
                                            thrown == null ? null : Async.failure(thrown)));
            return future;
        }
        Mutation mutation =
                NewMutation.stamped()
                        .setOpen(OpenOp.newBuilder().setInode(inode).setAppend(append))
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
                            if (failure == null && result != null) {
                                counted(state, result);
                            }
                            if (append) {
                                appends.answered(
                                        state, returns, result != null && result.getAppendRight());
                            }
                            handOver(future, state, failure);
                        });
        late(pending, future);
        return future;
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
                            counted(state, result);
                            if (result.getAppendRight()) {
                                synchronized (state) {
                                    state.appends.created(System.nanoTime());
                                }
                            }
                            handOver(future, state, null);
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

    private static void counted(InodeState state, MutationResult result) {
        state.observe(result.getAttr());
        synchronized (state) {
            state.mdsOpens++;
        }
    }

    private void handOver(
            CompletableFuture<OpenHandle> future, InodeState state, @Nullable FsException failure) {
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
        OpenHandle handle = new OpenHandle(services, table, appends, state);
        if (!future.complete(handle)) {
            var _ = handle.release();
        }
    }

    private static void late(PendingMutation pending, CompletableFuture<OpenHandle> future) {
        var _ =
                pending.reply()
                        .whenComplete((result, thrown) -> {
                            if (thrown != null) {
                                future.completeExceptionally(Async.failure(thrown));
                            }
                        });
    }
}
