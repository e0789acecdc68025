package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.HeldData;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.time.WallClock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One write of a file, in these steps: its turn among overlapping operations, a session that lives,
 * the size ceiling, the pieces, the note of size and mtime, the answer. Cancelled by its caller, it
 * ends at the next step but for pieces that were sent.
 *
 * <p>Until its pieces are sent it may go over to the next session, with another turn behind the
 * barrier at which the file is opened there; from then on it ends with its session.
 */
final class WriteOp {
    private static final Logger LOG = LoggerFactory.getLogger(WriteOp.class);

    private final FileServices services;
    private final InodeState state;
    private final long offset;
    private final HeldData data;
    private final boolean killPrivileges;
    private final int losses;
    private final int length;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<Void> future = new CallerFuture<>(this::givenUp);

    /** It was answered before it is durable; under the state's monitor. */
    private OwnWrites.@Nullable Promise promise;

    /** What it did is noted, or it has failed; under the state's monitor. */
    private boolean over;

    /** Its turn has come; until then the data of what was given up can go. Under the monitor. */
    private boolean begun;

    private DataSession session;
    private Turn turn;
    private int turns;
    private @Nullable FsException failure;

    /**
     * Takes over the data.
     *
     * @param losses the handle knows of
     */
    WriteOp(
            FileServices services,
            InodeState state,
            long offset,
            HeldData data,
            boolean killPrivileges,
            int losses) {
        this.services = services;
        this.state = state;
        this.offset = offset;
        this.data = data;
        this.length = data.data().readableBytes();
        this.killPrivileges = killPrivileges;
        this.losses = losses;
        this.session = state.session();
        this.deadlineNanos = startNanos + services.ioNanos();
        this.turn = new Turn();
    }

    /** Once. */
    void submit() {
        state.order().submit(turn);
    }

    /**
     * Answers it before it is durable, if that may be; after {@link #submit}, so that whoever waits
     * for what the file was told to hold waits for it. What it fails with later is the file's to
     * report.
     *
     * @return false where the caller has to wait
     */
    boolean promise() {
        if (!services.writeBehind().take(length)) {
            return false;
        }
        synchronized (state) {
            if (!over && state.refusal(losses) == null) {
                promise = state.promise(offset + length, WallClock.nowNanos(), killPrivileges);
            }
            if (promise != null) {
                return true;
            }
        }
        services.writeBehind().give(length);
        return false;
    }

    private boolean isPromised() {
        synchronized (state) {
            return promise != null;
        }
    }

    private final class Turn extends RangeOrder.Entry {
        Turn() {
            super(offset, offset + length, true);
        }

        @Override
        protected void start() {
            begin();
        }

        @Override
        protected void waitingAt(long nowNanos) {
            if (nowNanos - deadlineNanos >= 0) {
                future.completeExceptionally(late("an earlier operation"));
            }
        }

        @Override
        protected boolean isAbandoned() {
            return future.isDone();
        }
    }

    private void begin() {
        boolean gone;
        synchronized (this) {
            gone = future.isDone(); // given up, or late, while it waited
            begun = !gone;
        }
        if (gone) {
            data.release();
            finished();
            return;
        }
        session = state.session();
        if (session.ended() != null || services.meta().leaseHolds()) {
            confirmed();
        } else {
            var _ =
                    services.meta()
                            .confirmed()
                            .orTimeout(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS)
                            .whenComplete((v, thrown) -> {
                                if (thrown == null) {
                                    confirmed();
                                } else {
                                    refuse(late("news of its session"));
                                }
                            });
        }
    }

    private void givenUp() {
        boolean waits;
        synchronized (this) {
            waits = !begun;
        }
        if (waits) {
            data.release();
        } else {
            services.data().dropUnwanted();
        }
    }

    private void confirmed() {
        FsException refused = state.refusal(losses);
        FsException ended = session.ended();
        if (refused != null) {
            refuse(refused);
        } else if (ended == null) {
            Ceiling.reach(services, state, offset + length, this::belowCeiling);
        } else if (!isPromised() && ++turns < FileServices.MAX_TURNS) {
            anotherTurn();
        } else {
            refuse(ended);
        }
    }

    /** The new one first: it stands before those that wait for this one, as they wait for it. */
    private void anotherTurn() {
        Turn over = turn;
        synchronized (this) {
            begun = false;
        }
        turn = new Turn();
        state.order().submit(turn);
        state.order().finish(over);
    }

    private void belowCeiling(@Nullable FsException refused) {
        if (future.isDone()) { // given up
            data.release();
            finished();
        } else if (session.ended() != null) {
            confirmed();
        } else if (refused == null) {
            send();
        } else {
            refuse(refused);
        }
    }

    private void refuse(FsException why) {
        data.release();
        failure = why;
        finished();
    }

    private void send() {
        Pieces.write(
                services,
                session,
                state,
                offset,
                data.data(),
                deadlineNanos,
                future::isDone,
                this::written);
    }

    private void written(@Nullable FsException problem, long truncateSequence, boolean some) {
        data.release();
        failure = problem;
        boolean awaited = !future.isDone() && (problem == null || !isPromised());
        services.contents().written(state.inode(), awaited, problem != null && some);
        if (problem == null) {
            note(truncateSequence);
        } else {
            state.failedIn(session);
            ended();
            if (some) {
                LeftoversCut.behind(services, state, session, offset + length);
            }
        }
        finished();
    }

    private void note(long truncateSequence) {
        services.meters().written(length);
        boolean list;
        synchronized (state) {
            if (promise == null) {
                over = true;
                list =
                        state.wrote(
                                offset + length,
                                truncateSequence,
                                WallClock.nowNanos(),
                                killPrivileges);
            } else {
                list = state.landed(promise, offset + length, truncateSequence);
                kept();
            }
        }
        if (list) {
            services.publisher().list(state);
        }
    }

    /** The promise is. Under the state's monitor. */
    private void kept() {
        over = true;
        services.writeBehind().give(length);
    }

    /** It is over; where it was answered and nothing became of it, that is the file's to report. */
    private void ended() {
        FsException problem;
        boolean list;
        synchronized (state) {
            if (over || promise == null) {
                over = true;
                return;
            }
            problem = failure == null ? late("an earlier operation") : failure;
            list = state.broken(promise, problem);
            kept();
        }
        if (list) {
            services.publisher().list(state);
        }
        services.contents().written(state.inode(), false, false); // the kernel has pages of it
        LOG.warn(
                "Write of {} bytes at {} of inode {} was lost: {}",
                length,
                offset,
                state.inode(),
                problem.getMessage());
    }

    private void finished() {
        ended();
        state.order().finish(turn);
        FsException problem = failure;
        services.meters().finished(ClientMeters.Op.WRITE, startNanos, problem == null);
        if (problem != null) {
            future.completeExceptionally(problem);
        } else if (killPrivileges && state.hasPrivilegeBits() && !isPromised()) {
            var _ =
                    services.publisher()
                            .publish(state, true)
                            .whenComplete((v, thrown) -> Async.settle(future, null, thrown));
        } else {
            Async.finish(future);
        }
    }

    private FsException late(String what) {
        return new FsException(
                Errno.EIO,
                "write at "
                        + offset
                        + " of inode "
                        + state.inode()
                        + " waited too long for "
                        + what);
    }
}
