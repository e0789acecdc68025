package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One write of a file, in these steps: its turn among overlapping operations, a session that lives,
 * the size ceiling, room in the budget of bytes in flight, the pieces, the note of size and mtime,
 * the answer.
 *
 * <p>Until its pieces are sent it may go over to the next session, with another turn behind the
 * barrier at which the file is opened there; from then on it ends with its session.
 */
final class WriteOp {
    /** Each in another session: more mean that there is none to come. */
    private static final int MAX_TURNS = 8;

    private final FileServices services;
    private final InodeState state;
    private final long offset;
    private final ByteBuf data;
    private final boolean killPrivileges;
    private final int losses;
    private final int length;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<Void> future = new CompletableFuture<>();
    private DataSession session;
    private Turn turn;
    private int turns;
    private @Nullable FsException failure;

    /**
     * Takes over the buffer.
     *
     * @param losses the handle knows of
     */
    WriteOp(
            FileServices services,
            InodeState state,
            long offset,
            ByteBuf data,
            boolean killPrivileges,
            int losses) {
        this.services = services;
        this.state = state;
        this.offset = offset;
        this.data = data;
        this.length = data.readableBytes();
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
    }

    private void begin() {
        if (future.isDone()) { // its time was over while it waited
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

    private void confirmed() {
        FsException refused = state.refusal(losses);
        FsException ended = session.ended();
        if (refused != null) {
            refuse(refused);
        } else if (ended == null) {
            Ceiling.reach(services, state, offset + length, this::belowCeiling);
        } else if (++turns < MAX_TURNS) {
            anotherTurn();
        } else {
            refuse(ended);
        }
    }

    /** The new one first: it stands before those that wait for this one, as they wait for it. */
    private void anotherTurn() {
        Turn over = turn;
        turn = new Turn();
        state.order().submit(turn);
        state.order().finish(over);
    }

    private void belowCeiling(@Nullable FsException refused) {
        if (refused == null) {
            services.budget().acquire(length, this::send);
        } else if (session.ended() != null) {
            confirmed();
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
        if (session.ended() != null) { // while it waited for room
            services.budget().release(length);
            confirmed();
            return;
        }
        Pieces.write(services, session, state, offset, data, deadlineNanos, this::written);
    }

    private void written(@Nullable FsException problem, long truncateSequence) {
        data.release();
        services.budget().release(length);
        failure = problem;
        if (problem == null) {
            note(truncateSequence);
        } else {
            state.failedIn(session);
        }
        finished();
    }

    private void note(long truncateSequence) {
        services.meters().written(length);
        Instant now = Instant.now();
        long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
        if (state.wrote(offset + length, truncateSequence, nanos, killPrivileges)) {
            services.publisher().list(state);
        }
    }

    private void finished() {
        state.order().finish(turn);
        FsException problem = failure;
        services.meters().finished(ClientMeters.Op.WRITE, startNanos, problem == null);
        if (problem != null) {
            future.completeExceptionally(problem);
        } else if (killPrivileges && state.hasPrivilegeBits()) {
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
