package io.cairn.client.inode;

import io.cairn.client.api.LockCall;
import io.cairn.client.base.Async;
import io.cairn.client.inode.HeldLocks.Claim;
import io.cairn.client.inode.HeldLocks.Owner;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.AwaitLockReply;
import io.cairn.common.proto.AwaitLockRequest;
import io.cairn.common.proto.CancelLockReply;
import io.cairn.common.proto.CancelLockRequest;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SetLockOp;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lock. The lock is taken by a mutation, which never waits; where another's is in
 * the way, the call waits in line at the leader, outside of the order of mutations, until it is its
 * turn to try again.
 *
 * <pre>
 *              refused              its turn
 *   TRYING ─────────────▶ WAITING ───────────▶ TRYING
 *     │ taken, refused for good   │ interrupted
 *     └────────────▶ OVER ◀───────┘
 * </pre>
 *
 * <p>Who waits has nothing, and so nothing to give back when it is interrupted. Who tries hears the
 * outcome, interrupted or not; only a caller that is gone does not wait for it, and then exactly
 * what was got is given back. Any thread.
 */
final class LockOp implements LockCall {
    private enum Phase {
        TRYING,
        WAITING,
        OVER
    }

    private final FileServices services;
    private final Opens opens;
    private final InodeState state;
    private final OpenHandle handle;
    private final int losses;
    private final FileLock wanted;
    private final Owner owner;
    private final boolean wait;
    private final BooleanSupplier ofOpenFile;
    private final long ticket;
    private final CallerFuture<Attr> had = new CallerFuture<>(this::givenUp);

    /** Under this object's monitor. */
    private Phase phase = Phase.TRYING;

    private boolean interrupted;
    private boolean inLine;
    private @Nullable CompletableFuture<AwaitLockReply> awaiting;
    private int turns;

    /**
     * @param wanted without a session
     * @param ofOpenFile whether the owner is an open file; asked only where the call is to wait
     * @param ticket no other call of this client has it
     */
    LockOp(
            FileServices services,
            Opens opens,
            InodeState state,
            OpenHandle handle,
            int losses,
            FileLock wanted,
            boolean wait,
            BooleanSupplier ofOpenFile,
            long ticket) {
        this.services = services;
        this.opens = opens;
        this.state = state;
        this.handle = handle;
        this.losses = losses;
        this.wanted = wanted;
        this.owner = new Owner(wanted.getFlock(), wanted.getOwner());
        this.wait = wait;
        this.ofOpenFile = ofOpenFile;
        this.ticket = ticket;
    }

    @Override
    public CompletableFuture<Attr> had() {
        return had;
    }

    // ---- trying

    void start() {
        CompletableFuture<Void> reopening;
        boolean counted;
        synchronized (state) {
            reopening = state.tenure.awaited();
            counted = state.mdsOpens > 0;
        }
        if (reopening == null && !counted) {
            openFirst();
        } else if (reopening == null) {
            attempt();
        } else {
            var _ = reopening.copy().whenComplete((v, thrown) -> attempt());
        }
    }

    /** The file was open for reading only: to lock it, the MDS has to count an open. */
    private void openFirst() {
        var _ =
                opens.open(state.inode(), false)
                        .whenComplete((counted, thrown) -> {
                            if (thrown != null) {
                                over(Async.failure(thrown));
                                return;
                            }
                            attempt();
                            var _ = counted.release(); // the open stays as long as there are
                            // handles
                        });
    }

    private void attempt() {
        PendingMutation pending;
        Claim claim;
        FsException refused;
        CompletableFuture<Void> unlocking;
        synchronized (state) {
            refused = state.tenure.refusal(losses);
            unlocking = refused == null ? state.locks.unlocking(owner) : null;
            if (refused != null || unlocking != null) {
                claim = null;
                pending = null;
            } else {
                claim = state.locks.asked(owner, handle);
                pending =
                        services.meta()
                                .mutate(
                                        NewMutation.stamped()
                                                .setSetLock(
                                                        SetLockOp.newBuilder()
                                                                .setLock(wanted)
                                                                .setWaits(wait))
                                                .build(),
                                        services.metadataDeadline(),
                                        state.session().id());
            }
        }
        if (unlocking != null) {
            behind(unlocking);
            return;
        }
        if (claim == null || pending == null) {
            over(refused == null ? new FsException(Errno.EIO, "no session") : refused);
            return;
        }
        PendingMutation sent = pending;
        Claim claimed = claim;
        var _ =
                sent.answer()
                        .whenComplete((result, thrown) ->
                                answered(claimed, sent.session(), result, thrown));
        var _ =
                sent.reply()
                        .whenComplete((result, thrown) -> {
                            if (thrown != null && !sent.answer().isDone()) {
                                over(Async.failure(thrown)); // late: see answered()
                            }
                        });
    }

    /** What an owner had by the same number is yet to be given up. Nothing is asked for so far. */
    private void behind(CompletableFuture<Void> unlocking) {
        boolean stop;
        synchronized (this) {
            if (phase == Phase.OVER) {
                return;
            }
            phase = Phase.WAITING;
            stop = interrupted;
        }
        if (stop) {
            leave();
            return;
        }
        CompletableFuture<Void> queued = unlocking.copy();
        if (!wait) {
            queued.orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS);
        }
        var _ =
                queued.whenComplete((v, thrown) -> {
                    if (thrown == null) {
                        tryAgain();
                    } else {
                        over(Async.failure(thrown));
                    }
                });
    }

    /**
     * @param in the session it was executed in
     */
    private void answered(
            Claim claim, long in, @Nullable MutationResult result, @Nullable Throwable thrown) {
        FsException failure =
                result == null
                        ? Async.failure(thrown == null ? new IllegalStateException() : thrown)
                        : Results.failure(result);
        if (result != null && failure == null) {
            state.observe(result.getAttr());
        }
        boolean ended = result == null;
        synchronized (state) {
            if (failure == null && state.isOver(in)) {
                failure = new FsException(Errno.EIO, "the lock ended with its session");
                ended = true;
            }
            state.locks.answered(owner, claim, failure == null);
        }
        if (failure == null && result != null) {
            taken(claim, result);
        } else if (failure != null && failure.errno() == Errno.EAGAIN && wait) {
            await();
        } else if (ended && failure != null && sessionEnded(failure)) {
            start();
        } else {
            over(failure);
        }
    }

    /** The lock would have ended with its session: it is asked for in the next one. */
    private boolean sessionEnded(FsException failure) {
        synchronized (this) {
            return failure.errno() == Errno.EIO
                    && phase != Phase.OVER
                    && !services.meta().isClosed()
                    && ++turns < FileServices.MAX_TURNS;
        }
    }

    private void taken(Claim claim, MutationResult result) {
        boolean wanted;
        boolean waited;
        synchronized (this) {
            wanted = phase != Phase.OVER;
            phase = Phase.OVER;
            waited = inLine;
        }
        if (waited) {
            services.meters().lockWaited();
        }
        if (!wanted || !had.complete(state.merged())) {
            giveBack(claim, result);
        }
    }

    /** What the owner had of the range before it has again, unless it is unlocked already. */
    private void giveBack(Claim claim, MutationResult result) {
        synchronized (state) {
            if (!state.locks.stands(owner, claim)) {
                return;
            }
            long next = wanted.getStart();
            List<SetLockOp> steps = new ArrayList<>();
            for (FileLock before : result.getReplacedLocksList()) {
                if (before.getStart() > next) {
                    steps.add(unlock(next, before.getStart() - 1));
                }
                if (before.getExclusive() != wanted.getExclusive()) {
                    steps.add(SetLockOp.newBuilder().setLock(before).build());
                }
                next = before.getEnd() + 1;
            }
            if (next >= 0 && next <= wanted.getEnd()) {
                steps.add(unlock(next, wanted.getEnd()));
            }
            for (SetLockOp step : steps) {
                var _ =
                        services.meta()
                                .mutate(
                                        NewMutation.stamped().setSetLock(step).build(),
                                        MetaClient.never(),
                                        state.session().id());
            }
        }
    }

    private SetLockOp unlock(long start, long end) {
        return SetLockOp.newBuilder()
                .setLock(wanted.toBuilder().setStart(start).setEnd(end))
                .setUnlock(true)
                .build();
    }

    // ---- waiting

    private void await() {
        synchronized (this) {
            if (phase == Phase.OVER) {
                return;
            }
            if (!interrupted) {
                phase = Phase.WAITING;
                inLine = true;
            }
        }
        ask();
    }

    private void ask() {
        boolean unchecked = wanted.getFlock() || ofOpenFile.getAsBoolean();
        CompletableFuture<AwaitLockReply> asked;
        synchronized (this) {
            if (phase == Phase.OVER) {
                return;
            }
            // Before anything that ends it: the leader must not hear of the end first.
            asked = interrupted ? null : askLeader(unchecked);
            awaiting = asked;
        }
        if (asked == null) {
            leave();
            return;
        }
        var _ =
                asked.whenComplete((reply, thrown) -> {
                    if (asked.isCancelled()) {
                        return;
                    }
                    if (thrown != null) {
                        over(Async.failure(thrown));
                    } else if (reply.getTurn()) {
                        tryAgain();
                    } else {
                        ask();
                    }
                });
    }

    private CompletableFuture<AwaitLockReply> askLeader(boolean unchecked) {
        int millis = (int) TimeUnit.NANOSECONDS.toMillis(services.awaitNanos());
        return services.meta()
                .query(
                        Method.AWAIT_LOCK,
                        session ->
                                AwaitLockRequest.newBuilder()
                                        .setLock(wanted.toBuilder().setSession(session))
                                        .setTicket(ticket)
                                        .setNoDeadlockCheck(unchecked)
                                        .setWaitMillis(millis)
                                        .build(),
                        AwaitLockReply.parser(),
                        MetaClient.never());
    }

    private void tryAgain() {
        synchronized (this) {
            if (phase != Phase.WAITING || interrupted) {
                return; // leave() was told, or a caller that is gone has told it
            }
            phase = Phase.TRYING;
        }
        start();
    }

    // ---- the end

    @Override
    public void interrupt() {
        boolean waits;
        synchronized (this) {
            if (interrupted || phase == Phase.OVER) {
                return;
            }
            interrupted = true;
            waits = phase == Phase.WAITING;
        }
        if (waits) {
            leave();
        }
    }

    /**
     * The caller hears of it when the leader has forgotten it: nobody may be told of a deadlock
     * with a call that is over.
     */
    private void leave() {
        boolean known;
        synchronized (this) {
            known = inLine;
        }
        if (!known) {
            over(new FsException(Errno.EINTR, "interrupted"));
            return;
        }
        var _ =
                cancelled()
                        .whenComplete((reply, thrown) ->
                                over(new FsException(Errno.EINTR, "interrupted")));
    }

    /** The leader is told that nobody waits, and is not asked again. */
    private CompletableFuture<CancelLockReply> cancelled() {
        CompletableFuture<AwaitLockReply> asked;
        synchronized (this) {
            asked = awaiting;
        }
        if (asked != null) {
            asked.cancel(false);
        }
        return services.meta()
                .query(
                        Method.CANCEL_LOCK,
                        session ->
                                CancelLockRequest.newBuilder()
                                        .setSession(session)
                                        .setInode(wanted.getInode())
                                        .setTicket(ticket)
                                        .build(),
                        CancelLockReply.parser(),
                        MetaClient.never());
    }

    private void over(@Nullable FsException failure) {
        synchronized (this) {
            if (phase == Phase.OVER) {
                return;
            }
            phase = Phase.OVER;
        }
        had.completeExceptionally(
                failure == null ? new FsException(Errno.EIO, "no lock") : failure);
    }

    /** The caller is gone, and the future cancelled. */
    private void givenUp() {
        boolean waited;
        synchronized (this) {
            if (phase == Phase.OVER) {
                return;
            }
            waited = inLine;
            phase = Phase.OVER;
        }
        if (waited) {
            var _ = cancelled();
        }
    }
}
