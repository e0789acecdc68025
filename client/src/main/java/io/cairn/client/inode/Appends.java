package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.inode.AppendLine.Step;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AcquireAppendOp;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.AwaitAppendReply;
import io.cairn.common.proto.AwaitAppendRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutationResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Appends to files that other clients may append to as well: drives each file's {@link AppendLine}.
 * For the right it first waits in line at the MDS, outside of the order of mutations, then acquires
 * it; asked to return it, it lets the append that runs finish, and returns the right in one
 * mutation with the size that its appends have made. Neither waits for anything else this client
 * has asked of the MDS. Any thread.
 */
public final class Appends {
    private final FileServices services;
    private final InodeTable table;
    private final LongFunction<CompletableFuture<Attr>> lentAttr;

    /**
     * @param lentAttr asks the MDS for the attributes of an inode, with a lease
     */
    public Appends(
            FileServices services,
            InodeTable table,
            LongFunction<CompletableFuture<Attr>> lentAttr) {
        this.services = services;
        this.table = table;
        this.lentAttr = lentAttr;
    }

    /** Takes over the operation; its future tells what became of it. */
    void submit(InodeState state, AppendOp op) {
        synchronized (state) {
            if (state.appends.add(op)) {
                state.handles++; // stays open until the line is empty
            }
        }
        advance(state);
    }

    /** Its caller no longer waits. */
    void givenUp(InodeState state, AppendOp op) {
        boolean waited;
        synchronized (state) {
            waited = state.appends.remove(op);
        }
        if (waited) {
            op.drop(op.givenUp());
            advance(state);
        } else {
            op.abandon();
        }
    }

    /** The MDS asks for the right: another client wants to append. */
    public void recalled(long inode) {
        InodeState state = table.find(inode);
        if (state == null) {
            return; // its release is on the way, or its open; in that case we are asked again
        }
        boolean unknown;
        synchronized (state) {
            unknown = state.appends.recall(System.nanoTime());
        }
        if (unknown) {
            giveBack(state);
        }
        advance(state);
    }

    /**
     * Other clients are about to publish sizes, perhaps. Completes when no append is on its way
     * whose offset was chosen before this.
     */
    public CompletableFuture<Void> sizesRecalled(List<Long> inodes) {
        List<CompletableFuture<Void>> landed = new ArrayList<>();
        for (long inode : inodes) {
            InodeState state = table.find(inode);
            if (state != null) {
                synchronized (state) {
                    state.sizeLease.recalled();
                    AppendOp running = state.appends.running();
                    if (running != null) {
                        landed.add(running.landed());
                    }
                }
            }
        }
        return Async.all(landed);
    }

    /**
     * Completes when the size is known that others have published by now; the right to append keeps
     * nobody from making the file longer by other writes.
     */
    private CompletableFuture<Void> sized(InodeState state) {
        long asked = System.nanoTime();
        int recalls;
        synchronized (state) {
            if (state.isDelegated() || state.sizeLease.holds(asked)) {
                return Async.done();
            }
            recalls = state.sizeLease.recalls();
        }
        return Async.ignoringValue(
                Async.map(
                        lentAttr.apply(state.inode()),
                        attr -> {
                            state.observe(attr);
                            synchronized (state) {
                                state.sizeLease.lent(recalls, asked, attr.getAttrLeaseMicros());
                            }
                            return attr;
                        }));
    }

    /** Fails appends whose time is over. */
    public void tick(long nowNanos) {
        for (InodeState state : table.all()) {
            List<AppendOp> late;
            AppendOp running;
            synchronized (state) {
                late = state.appends.late(nowNanos);
                running = state.appends.running();
            }
            late.forEach(op -> op.drop(op.late()));
            if (running != null && running.isLate(nowNanos)) {
                running.fail(running.late());
            }
            if (!late.isEmpty()) {
                advance(state);
            }
        }
    }

    /**
     * After {@link AppendLine#resume}: appends that wait ask for the right in the new session.
     *
     * @param hopeless those that cannot go on
     * @param gone why they cannot, or null
     */
    void resumed(InodeState state, List<AppendOp> hopeless, @Nullable FsException gone) {
        if (gone != null) {
            hopeless.forEach(op -> op.drop(gone));
        }
        advance(state);
    }

    private void advance(InodeState state) {
        synchronized (state) {
            if (!state.appends.advance()) {
                return;
            }
        }
        while (true) {
            Step<AppendOp> step;
            DataSession session; // the one in which the right is held, if it runs
            synchronized (state) {
                step = state.appends.next(System.nanoTime());
                session = state.session();
            }
            if (step == null) {
                return;
            }
            switch (step) {
                case Step.Run<AppendOp>(AppendOp op) ->
                        op.run(session, () -> sized(state), ended -> over(state, ended));
                case Step.Ask<AppendOp>(int number) -> ask(state, number);
                case Step.GiveBack<AppendOp>() -> giveBack(state);
                case Step.LookAgain<AppendOp>(long nanos) ->
                        CompletableFuture.delayedExecutor(
                                        nanos, TimeUnit.NANOSECONDS, Runnable::run)
                                .execute(() -> lookAgain(state));
                case Step.Empty<AppendOp>() -> {
                    var _ = table.release(state);
                }
            }
        }
    }

    private void over(InodeState state, AppendOp op) {
        synchronized (state) {
            if (op.again()) {
                state.appends.again(op);
            } else {
                state.appends.over(op.goesOn(), System.nanoTime());
            }
        }
        advance(state);
    }

    private void lookAgain(InodeState state) {
        synchronized (state) {
            state.appends.looked();
        }
        advance(state);
    }

    private void giveBack(InodeState state) {
        CompletableFuture<Void> returned;
        synchronized (state) {
            state.appends.returning();
            returned = services.publisher().returnAppend(state);
        }
        services.meters().appendRightReturned();
        var _ =
                returned.whenComplete((v, thrown) -> {
                    synchronized (state) {
                        state.appends.returned();
                    }
                });
    }

    // ---- getting the right

    /** Waits in line at the MDS. */
    private void ask(InodeState state, int number) {
        int millis = (int) TimeUnit.NANOSECONDS.toMillis(services.awaitNanos());
        var _ =
                services.meta()
                        .query(
                                Method.AWAIT_APPEND,
                                session ->
                                        AwaitAppendRequest.newBuilder()
                                                .setSession(session)
                                                .setInode(state.inode())
                                                .setWaitMillis(millis)
                                                .build(),
                                AwaitAppendReply.parser(),
                                services.metadataDeadline())
                        .whenComplete((reply, thrown) -> {
                            if (thrown != null) {
                                refused(state, number, Async.failure(thrown));
                            } else if (reply.getTurn()) {
                                acquire(state, number);
                            } else {
                                askAgain(state, number);
                            }
                        });
    }

    private void askAgain(InodeState state, int number) {
        boolean wanted;
        synchronized (state) {
            wanted = state.appends.wants(number);
        }
        if (wanted) {
            ask(state, number);
        }
    }

    private void acquire(InodeState state, int number) {
        PendingMutation pending;
        int returns;
        synchronized (state) {
            if (!state.appends.wants(number)) {
                return;
            }
            returns = state.appends.granting();
            pending =
                    services.meta()
                            .mutate(
                                    NewMutation.stamped()
                                            .setAcquireAppend(
                                                    AcquireAppendOp.newBuilder()
                                                            .setInode(state.inode()))
                                            .build(),
                                    MetaClient.never(),
                                    state.session().id());
        }
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) ->
                                acquired(state, number, returns, result, thrown));
    }

    private void acquired(
            InodeState state,
            int number,
            int returns,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        FsException failure =
                result == null
                        ? Async.failure(thrown == null ? new IllegalStateException() : thrown)
                        : Results.failure(result);
        if (failure == null && result != null) {
            state.observe(result.getAttr());
            services.meters().appendRightTaken();
        }
        answered(state, returns, failure == null);
        if (failure != null) {
            refused(state, number, failure);
        }
    }

    /**
     * A mutation that might grant the right was answered.
     *
     * @param returns what {@link AppendLine#granting} said when it was queued
     */
    void answered(InodeState state, int returns, boolean granted) {
        synchronized (state) {
            if (granted) {
                state.appends.granted(returns, System.nanoTime());
            } else {
                state.appends.notGranted();
            }
        }
        if (granted) {
            advance(state);
        }
    }

    /**
     * What another has passes, and so does an MDS that is away; those that wait have a deadline.
     */
    private void refused(InodeState state, int number, FsException failure) {
        if (failure.errno() == Errno.EAGAIN || failure.errno() == Errno.ETIMEDOUT) {
            askAgain(state, number);
            return;
        }
        List<AppendOp> hopeless;
        synchronized (state) {
            if (!state.appends.asks(number)) {
                return;
            }
            hopeless = state.appends.refused();
        }
        hopeless.forEach(op -> op.drop(failure));
        advance(state);
    }
}
