package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.PendingReadOpen;
import io.cairn.client.meta.Results;
import io.cairn.client.name.Born;
import io.cairn.client.name.OwnNames;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
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
 *
 * <p>An open for reading is known to the leader only; one to write is counted by the replicated
 * state, and serves those that read as well. Locks need one of that kind.
 */
public final class Opens {
    private final FileServices services;
    private final InodeTable table;
    private final Appends appends;
    private final HeldDelegations delegations;
    private final OwnNames names;

    public Opens(
            FileServices services,
            InodeTable table,
            Appends appends,
            HeldDelegations delegations,
            OwnNames names) {
        this.delegations = delegations;
        this.names = names;
        this.services = services;
        this.table = table;
        this.appends = appends;
    }

    /** What a handle is made for. */
    private enum Use {
        READ,
        WRITE,
        /** Takes the right to append with it, if that is free. */
        APPEND
    }

    /**
     * @param append whether to take the right to append with it, if that is free
     */
    public CompletableFuture<OpenHandle> open(long inode, boolean append) {
        return open(inode, append ? Use.APPEND : Use.WRITE);
    }

    /** Where the session has it open in no other way, only the leader knows of it. */
    public CompletableFuture<OpenHandle> openForReading(long inode) {
        return open(inode, Use.READ);
    }

    private CompletableFuture<OpenHandle> open(long inode, Use use) {
        CompletableFuture<OpenHandle> future = new CompletableFuture<>();
        open(inode, use, future);
        return future;
    }

    private void open(long inode, Use use, CompletableFuture<OpenHandle> future) {
        InodeState state = table.acquire(inode);
        CompletableFuture<Void> reopening;
        boolean shared;
        synchronized (state) {
            reopening = state.tenure.awaited();
            shared = use == Use.READ ? state.isOpen() : state.mdsOpens > 0;
        }
        if (reopening != null) {
            var _ =
                    reopening
                            .copy()
                            .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                            .whenComplete((v, thrown) -> {
                                if (thrown == null) {
                                    openAgain(state, use, future);
                                } else {
                                    failed(future, state, Async.failure(thrown));
                                }
                            });
        } else if (shared && state.isDelegated()) {
            handOver(future, state, use);
        } else if (shared) {
            refreshed(future, state, use);
        } else if (use == Use.READ) {
            var _ =
                    names.ready(inode)
                            .whenComplete((nothing, failed) -> openAtLeader(state, future));
        } else {
            openAtMds(state, use, future);
        }
    }

    private void refreshed(CompletableFuture<OpenHandle> future, InodeState state, Use use) {
        var _ =
                state.refresh()
                        .whenComplete((v, thrown) -> {
                            if (thrown == null) {
                                handOver(future, state, use);
                            } else {
                                failed(future, state, Async.failure(thrown));
                            }
                        });
    }

    /** What was begun in a session that has ended. */
    private void openAgain(InodeState state, Use use, CompletableFuture<OpenHandle> future) {
        open(state.inode(), use, future);
        var _ = table.release(state);
    }

    private void openAtLeader(InodeState state, CompletableFuture<OpenHandle> future) {
        PendingReadOpen pending =
                services.meta()
                        .openForReading(
                                state.inode(), !state.unconfirmed(), services.metadataDeadline());
        var _ =
                pending.answer()
                        .whenComplete((attr, thrown) -> {
                            FsException failure = thrown == null ? null : Async.failure(thrown);
                            if (failure != null && failure.errno() == Errno.EOPNOTSUPP) {
                                openAtMds(state, Use.READ, future);
                            } else if (failure != null) {
                                failed(future, state, failure);
                            } else if (state.countedForReading(
                                    attr,
                                    services.data().session(),
                                    pending.session(),
                                    pending.number())) {
                                handOver(future, state, Use.READ);
                            } else {
                                openAgain(state, Use.READ, future);
                            }
                        });
        late(pending.answer(), pending.reply(), future);
    }

    private void openAtMds(InodeState state, Use use, CompletableFuture<OpenHandle> future) {
        boolean append = use == Use.APPEND;
        Mutation mutation =
                NewMutation.stamped()
                        .setOpen(OpenOp.newBuilder().setInode(state.inode()).setAppend(append))
                        .build();
        long asked = System.nanoTime();
        int recalls;
        int returns;
        PendingMutation pending;
        synchronized (state) {
            recalls = state.sizeLease.recalls();
            returns = append ? state.appends.granting() : 0;
            pending = mutate(mutation);
        }
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            FsException failure = Results.failure(result, thrown);
                            boolean counted =
                                    failure == null
                                            && result != null
                                            && counted(state, pending, result);
                            if (counted && result != null) {
                                lent(state, recalls, asked, result);
                            }
                            if (append) {
                                appends.answered(
                                        state,
                                        returns,
                                        counted && result != null && result.getAppendRight());
                            }
                            boolean again =
                                    failure == null ? !counted : result == null && ended(failure);
                            if (again) {
                                openAgain(state, use, future);
                            } else if (failure != null) {
                                failed(future, state, failure);
                            } else {
                                handOver(future, state, use);
                            }
                        });
        late(pending.answer(), pending.reply(), future);
    }

    /** Its size is the newest for a while: the first append need not ask. */
    private static void lent(InodeState state, int recalls, long asked, MutationResult opened) {
        synchronized (state) {
            state.sizeLease.lent(recalls, asked, opened.getAttr().getAttrLeaseMicros());
        }
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
        CreateOp create = mutation.getCreate();
        InodeTable.Name name = new InodeTable.Name(create.getParent(), create.getName());
        long ticket = delegations.creating();
        if (names.make(mutation, born -> opened(future, born, name, ticket)) != null) {
            return future;
        }
        OwnNames.Change change = names.change().of(create.getParent(), create.getName());
        PendingMutation pending = change.queue(mutation, services.metadataDeadline());
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            FsException failure = Results.failure(result, thrown);
                            if (failure != null || result == null) {
                                change.ended();
                                delegations.created(ticket, 0, 0, () -> {});
                                future.completeExceptionally(
                                        failure == null ? new IllegalStateException() : failure);
                                return;
                            }
                            change.named(
                                    create.getParent(),
                                    create.getName(),
                                    result.getAttr(),
                                    result.getCreated());
                            InodeState state = table.acquire(result.getAttr().getInode());
                            Use use = create.getAppend() ? Use.APPEND : Use.WRITE;
                            boolean counted = counted(state, pending, result);
                            delegations.created(
                                    ticket,
                                    state.inode(),
                                    counted ? result.getDelegation() : 0,
                                    () -> table.delegated(state, name, result.getDelegation()));
                            if (!counted) {
                                openAgain(state, use, future);
                                return;
                            }
                            if (!result.getCreated()) {
                                // Who made it may know better what it is by now.
                                refreshed(future, state, use);
                                return;
                            }
                            if (result.getAppendRight()) {
                                synchronized (state) {
                                    state.appends.created(System.nanoTime());
                                }
                            }
                            handOver(future, state, use, result.getAttr());
                        });
        late(pending.answer(), pending.reply(), future);
        return future;
    }

    /** A file that is made, before the MDS has made it. */
    private void opened(
            CompletableFuture<OpenHandle> future, Born born, InodeTable.Name name, long ticket) {
        @Nullable InodeState state = table.born(born);
        if (state == null) {
            delegations.created(ticket, 0, 0, () -> {});
            future.completeExceptionally(
                    new FsException(Errno.EIO, "the session has ended in which it was made"));
        } else {
            delegations.created(
                    ticket,
                    state.inode(),
                    born.round(),
                    () -> table.delegated(state, name, born.round()));
            handOver(future, state, Use.WRITE, born.attr());
        }
    }

    private PendingMutation mutate(Mutation mutation) {
        return services.meta().mutate(mutation, services.metadataDeadline());
    }

    private boolean counted(InodeState state, PendingMutation pending, MutationResult result) {
        return state.counted(result.getAttr(), services.data().session(), pending.session());
    }

    /** Not while writes that were lost before are still being counted: they are not this one's. */
    private void handOver(CompletableFuture<OpenHandle> future, InodeState state, Use use) {
        handOver(future, state, use, Attr.getDefaultInstance());
    }

    /**
     * @param made the attributes of a file that was made just now, with their leases
     */
    private void handOver(
            CompletableFuture<OpenHandle> future, InodeState state, Use use, Attr made) {
        CompletableFuture<Void> reopening;
        synchronized (state) {
            reopening = state.tenure.awaited();
        }
        if (reopening == null) {
            opened(future, state, use, made);
        } else {
            var _ =
                    reopening.whenComplete((v, thrown) -> {
                        FsException gone = state.whyGone();
                        if (gone == null) {
                            opened(future, state, use, made);
                        } else {
                            failed(future, state, gone);
                        }
                    });
        }
    }

    private void failed(
            CompletableFuture<OpenHandle> future, InodeState state, FsException failure) {
        var _ = table.release(state);
        future.completeExceptionally(failure);
    }

    private void opened(
            CompletableFuture<OpenHandle> future, InodeState state, Use use, Attr made) {
        if (!state.hasView()) {
            String what = "inode " + state.inode() + " is no file";
            failed(future, state, new FsException(Errno.EINVAL, what));
            return;
        }
        OpenHandle handle =
                new OpenHandle(services, table, appends, this, state, use != Use.READ, made);
        if (!future.complete(handle)) {
            var _ = handle.release();
        }
    }

    /**
     * Without an answer yet: what becomes of an answer, or of its loss, is said by its receiver.
     */
    private static void late(
            CompletableFuture<?> answer,
            CompletableFuture<?> reply,
            CompletableFuture<OpenHandle> future) {
        var _ =
                reply.whenComplete((result, thrown) -> {
                    if (thrown != null && !answer.isDone()) {
                        future.completeExceptionally(Async.failure(thrown));
                    }
                });
    }
}
