package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataTarget;
import io.cairn.client.data.DataView;
import io.cairn.client.data.HeldData;
import io.cairn.client.meta.MetaClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.time.WallClock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One append, once this client has the right and its turn in line has come. Each attempt goes
 * through: its turn among all changes of the file, the offset, the size ceiling, the pieces, the
 * note of the new size. The size is noted only when all of it is durable: an append that fails
 * leaves it as it was, and the next one begins at the same offset. What it has written is cut.
 *
 * <p>The offset stands only for the truncations known when it was chosen. Where the file turns out
 * to be cut, by a refusal of a data server or by news from the MDS, it is chosen anew: what was
 * written at the old one lies behind the cut.
 *
 * <p>A write whose outcome is unknown might still land on what is appended after it, so it is
 * repeated until the outcome is known; only the caller is told at its deadline.
 */
final class AppendOp implements AppendLine.Waiting {
    private final FileServices services;
    private final InodeState state;
    private final HeldData data;
    private final int length;
    private final boolean killPrivileges;
    private final boolean goesOn;
    private final int losses;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<Long> future;
    private DataSession session;
    private Supplier<CompletableFuture<Void>> sized = Async::done;
    private @Nullable Consumer<AppendOp> over;

    /** Until the attempt is over that is being sent. Under the state's monitor. */
    private CompletableFuture<Void> landed = Async.done();

    private int attempts;

    /** Some of it may have been written: it cannot go over to another session. */
    private boolean sent;

    /** Its session ended before that: back into the line, for the right in the next one. */
    private boolean again;

    /** The caller knows, or will know, what became of it. Set under the state's monitor. */
    private volatile boolean settled;

    /** The caller was gone before that: it counts if it is executed. Under the state's monitor. */
    private boolean abandoned;

    /** An attempt needs the data. Under the state's monitor. */
    private boolean begun;

    /**
     * Takes over the data.
     *
     * @param goesOn whether the next append is the rest of this record
     * @param losses the handle knows of
     * @param givenUp told when the caller no longer waits
     */
    AppendOp(
            FileServices services,
            InodeState state,
            HeldData data,
            boolean killPrivileges,
            boolean goesOn,
            int losses,
            Consumer<AppendOp> givenUp) {
        this.services = services;
        this.state = state;
        this.data = data;
        this.length = data.data().readableBytes();
        this.killPrivileges = killPrivileges;
        this.goesOn = goesOn;
        this.losses = losses;
        this.session = state.session();
        this.deadlineNanos = startNanos + services.ioNanos();
        this.future = new CallerFuture<>(() -> givenUp.accept(this));
    }

    boolean goesOn() {
        return goesOn;
    }

    @Override
    public boolean isLate(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }

    /**
     * In the session in which the client has the right; without it, after its end, no offset is
     * chosen.
     *
     * @param upToDate asked before each offset is chosen; completes when the size is known
     * @param whenOver told once, whatever came of it
     */
    void run(
            DataSession in,
            Supplier<CompletableFuture<Void>> upToDate,
            Consumer<AppendOp> whenOver) {
        session = in;
        sized = upToDate;
        over = whenOver;
        again = false;
        attempt();
    }

    private void attempt() {
        attempts++;
        state.order().submit(new Attempt());
    }

    /** Whether it is over for this session only. */
    boolean again() {
        return again;
    }

    /** Completes when nothing of it is on its way. Under the state's monitor. */
    CompletableFuture<Void> landed() {
        return landed;
    }

    /** It will not be run. */
    void drop(FsException why) {
        data.release();
        fail(why);
    }

    /**
     * The caller no longer waits, and it has had its turn in line: it counts if it was sent and is
     * executed as a whole.
     */
    void abandon() {
        synchronized (state) {
            abandoned = !settled;
        }
        fail(givenUp());
        boolean waits;
        synchronized (state) {
            waits = !begun;
        }
        if (waits) {
            data.release();
        } else {
            services.data().dropUnwanted();
        }
    }

    FsException givenUp() {
        return new FsException(Errno.EINTR, "append to inode " + state.inode() + " given up");
    }

    /** The caller's time is over, while it waits or while its data is sent. */
    FsException late() {
        return new FsException(
                Errno.EIO,
                "append of "
                        + length
                        + " bytes to inode "
                        + state.inode()
                        + " was not possible in time; another client has the right to append, or"
                        + " the data servers do not answer");
    }

    /** Unless it is known already what became of it. */
    void fail(FsException why) {
        synchronized (state) {
            if (settled) {
                return;
            }
            settled = true;
        }
        services.meters().finished(ClientMeters.Op.APPEND, startNanos, false);
        future.completeExceptionally(why);
    }

    private void succeed(long offset) {
        services.meters().written(length);
        services.meters().finished(ClientMeters.Op.APPEND, startNanos, true);
        if (killPrivileges && state.hasPrivilegeBits()) {
            var _ =
                    services.publisher()
                            .publish(state, true)
                            .whenComplete((v, thrown) -> Async.settle(future, offset, thrown));
        } else {
            future.complete(offset);
        }
    }

    private void ended() {
        if (!again) {
            data.release();
        }
        Consumer<AppendOp> then = over;
        if (then != null) {
            then.accept(this);
        }
    }

    /** From the offset to the data being durable there. */
    private final class Attempt extends RangeOrder.Entry implements DataTarget {
        private long offset;
        private DataView view = state.view();
        private volatile boolean cut;
        private final CompletableFuture<Void> landing = new CompletableFuture<>();

        /** Of the size, when the offset was chosen. */
        private int recalls;

        Attempt() {
            super(0, Long.MAX_VALUE, true);
        }

        @Override
        protected boolean isAbandoned() {
            return future.isDone();
        }

        @Override
        protected void start() {
            if (session.ended() != null) {
                begin(null);
            } else if (services.meta().leaseHolds()) {
                size();
            } else {
                var _ = services.meta().confirmed().whenComplete((v, thrown) -> size());
            }
        }

        private void size() {
            var _ = sized.get().whenComplete((v, thrown) -> begin(thrown));
        }

        /**
         * @param unknown why the size is not known, or null
         */
        private void begin(@Nullable Throwable unknown) {
            boolean dropped;
            synchronized (state) {
                dropped = settled;
                begun = !dropped;
                offset = state.size();
                view = state.view();
                recalls = state.sizeLease.recalls();
            }
            if (dropped) {
                finish();
                return;
            }
            FsException refused = state.refusal(losses);
            if (refused != null) {
                failed(refused);
                return;
            }
            FsException ended = session.ended();
            if (ended != null) {
                unsent(ended);
                return;
            }
            if (unknown != null) {
                failed(Async.failure(unknown));
                return;
            }
            if (offset > view.maxFileBytes() - length) {
                failed(
                        new FsException(
                                Errno.EFBIG, "append at " + offset + " of inode " + state.inode()));
                return;
            }
            state.order().narrow(this, offset, offset + length);
            Ceiling.reach(services, state, offset + length, this::belowCeiling);
        }

        private void belowCeiling(@Nullable FsException refused) {
            if (refused != null) {
                unsent(refused);
            } else {
                send();
            }
        }

        private void send() {
            FsException ended = session.ended();
            if (ended != null) { // while the ceiling was raised
                unsent(ended);
                return;
            }
            boolean stands;
            synchronized (state) {
                stands =
                        !cutSince()
                                && state.size() == offset
                                && state.sizeLease.recalls() == recalls;
                view = stands ? state.view() : view;
                landed = stands ? landing : landed;
            }
            if (stands) {
                sent = true;
                Pieces.write(
                        services,
                        session,
                        this,
                        offset,
                        data.data(),
                        MetaClient.never(),
                        () -> settled,
                        this::written);
            } else {
                again();
            }
        }

        private boolean cutSince() {
            return state.view().truncateSequence() != view.truncateSequence();
        }

        private void written(@Nullable FsException problem, long truncateSequence, boolean some) {
            Async.finish(landing);
            services.contents().written(state.inode(), !settled, problem != null && some);
            if (cut) {
                again();
                return;
            }
            if (problem != null) {
                if (some) {
                    LeftoversCut.behind(services, state, session, offset + length);
                }
                failed(problem);
                return;
            }
            boolean anew;
            boolean counts;
            boolean told;
            boolean list = false;
            synchronized (state) {
                anew = cutSince();
                told = settled;
                counts = !anew && (!told || abandoned);
                if (counts) {
                    settled = true;
                    list =
                            state.wrote(
                                    offset + length,
                                    truncateSequence,
                                    WallClock.nowNanos(),
                                    killPrivileges);
                }
            }
            if (anew) {
                again();
                return;
            }
            if (list) {
                services.publisher().list(state);
            }
            if (!counts) {
                LeftoversCut.behind(services, state, session, offset + length);
            }
            finish();
            if (!told) {
                succeed(offset);
            }
        }

        private void again() {
            synchronized (state) {
                begun = false;
            }
            state.order().finish(this);
            if (attempts < 3) {
                attempt();
            } else {
                CompletableFuture.delayedExecutor(
                                BackOff.REQUESTS.delayNanos(attempts - 2),
                                TimeUnit.NANOSECONDS,
                                Runnable::run)
                        .execute(AppendOp.this::attempt);
            }
        }

        /** This attempt was not sent. */
        private void unsent(FsException why) {
            again = !sent && session.ended() != null;
            if (again) {
                synchronized (state) {
                    begun = false;
                }
                finish();
            } else {
                failed(why);
            }
        }

        private void failed(FsException why) {
            if (sent) {
                state.failedIn(session);
            }
            finish();
            fail(why);
        }

        private void finish() {
            state.order().finish(this);
            ended();
        }

        // ---- where the pieces go: to the file as it was when the offset was chosen

        @Override
        public long inode() {
            return state.inode();
        }

        @Override
        public DataView view() {
            return view;
        }

        /** A data server knows of a newer truncation: it has refused the piece. */
        @Override
        public CompletableFuture<Void> refresh() {
            Async.finish(landing); // who has truncated it waits for that before we are answered
            return Async.then(
                    state.refresh(),
                    nothing -> {
                        cut = true;
                        return Async.failed(
                                Errno.ESTALE, "inode " + state.inode() + " was truncated");
                    });
        }
    }
}
