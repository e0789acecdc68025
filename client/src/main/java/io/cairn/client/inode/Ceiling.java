package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataView;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.RaiseCeilingOp;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Raises an inode's size ceiling ahead of the writes that need it: no chunk data may exist at or
 * beyond the ceiling the MDS has committed, because delete and truncate cover just that. Steps
 * double the ceiling, up to 1 GiB at a time, so that a growing file costs few commits. Stateless;
 * any thread.
 */
final class Ceiling {
    private static final long MAX_STEP = 1L << 30;

    /** When it is asked again for a file that is fenced. */
    private static final long MOVING_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** The ceiling may fall below again when another client truncates the file meanwhile. */
    private static final int MAX_TRIES = 4;

    private Ceiling() {}

    /** Calls {@code then} once data up to {@code end} may be written, or with why it may not. */
    static void reach(
            FileServices services,
            InodeState state,
            long end,
            Consumer<@Nullable FsException> then) {
        reach(services, state, end, MAX_TRIES, then);
    }

    private static void reach(
            FileServices services,
            InodeState state,
            long end,
            int tries,
            Consumer<@Nullable FsException> then) {
        if (end <= state.view().ceiling()) {
            then.accept(null);
            return;
        }
        if (tries == 0) {
            then.accept(
                    new FsException(
                            Errno.EIO, "the MDS does not raise the ceiling of " + state.inode()));
            return;
        }
        var _ =
                raise(services, state, end)
                        .whenComplete((v, thrown) -> {
                            FsException failure = thrown == null ? null : Async.failure(thrown);
                            if (failure != null && failure.errno() == Errno.EAGAIN) {
                                // The file is about to be in another pool, in a moment.
                                CompletableFuture.delayedExecutor(
                                                MOVING_NANOS, TimeUnit.NANOSECONDS, Runnable::run)
                                        .execute(() -> reach(services, state, end, tries, then));
                            } else if (failure != null) {
                                then.accept(failure);
                            } else {
                                reach(services, state, end, tries - 1, then);
                            }
                        });
    }

    private static CompletableFuture<Void> raise(
            FileServices services, InodeState state, long end) {
        CompletableFuture<Void> raised = new CompletableFuture<>();
        PendingMutation pending;
        long target;
        synchronized (state) {
            if (state.raising != null && state.raisingTo >= end) {
                return state.raising;
            }
            target = target(state.view(), end);
            state.raising = raised;
            state.raisingTo = target;
            pending =
                    services.meta()
                            .mutate(
                                    NewMutation.stamped()
                                            .setRaiseCeiling(
                                                    RaiseCeilingOp.newBuilder()
                                                            .setInode(state.inode())
                                                            .setSizeCeiling(target))
                                            .build(),
                                    System.nanoTime() + services.ioNanos(),
                                    state.session().id());
        }
        var _ =
                pending.reply()
                        .whenComplete((result, thrown) -> {
                            if (thrown == null && result.hasAttr()) {
                                state.observe(result.getAttr());
                            }
                            synchronized (state) {
                                if (state.raisingTo == target) {
                                    state.raising = null;
                                }
                            }
                            Async.settle(raised, null, thrown);
                        });
        return raised;
    }

    /** Twice the present ceiling, or what is needed, in whole stripes. */
    private static long target(DataView view, long end) {
        long now = view.ceiling();
        long target = Math.max(end, now + Math.min(Math.max(now, 1), MAX_STEP));
        long row = view.rowBytes();
        return target > Long.MAX_VALUE - row ? end : (target + row - 1) / row * row;
    }
}
