package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.HeldData;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One write of a file, in these steps: its turn among overlapping operations, the size ceiling, the
 * pieces, the note of size and mtime, the answer. Cancelled by its caller, it ends at the next step
 * but for pieces that were sent.
 */
final class WriteOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final long offset;
    private final HeldData data;
    private final boolean killPrivileges;
    private final int length;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<Void> future = new CallerFuture<>(this::givenUp);

    /** Its turn has come; until then the data of what was given up can go. */
    private boolean begun;

    private @Nullable FsException failure;

    /** Takes over the data. */
    WriteOp(
            FileServices services,
            InodeState state,
            long offset,
            HeldData data,
            boolean killPrivileges) {
        super(offset, offset + data.data().readableBytes(), true);
        this.services = services;
        this.state = state;
        this.offset = offset;
        this.data = data;
        this.length = data.data().readableBytes();
        this.killPrivileges = killPrivileges;
        this.deadlineNanos = startNanos + services.ioNanos();
    }

    @Override
    protected void start() {
        boolean over;
        synchronized (this) {
            over = future.isDone(); // given up, or late, while it waited
            begun = !over;
        }
        if (over) {
            data.release();
            finished();
            return;
        }
        Ceiling.reach(services, state, offset + length, this::belowCeiling);
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

    private void belowCeiling(@Nullable FsException refused) {
        if (refused != null || future.isDone()) {
            data.release();
            failure = refused;
            finished();
        } else {
            Pieces.write(
                    services,
                    state,
                    offset,
                    data.data(),
                    deadlineNanos,
                    future::isDone,
                    this::written);
        }
    }

    private void written(@Nullable FsException problem, long truncateSequence) {
        data.release();
        failure = problem;
        if (problem == null) {
            note(truncateSequence);
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
        state.order().finish(this);
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

    @Override
    protected void waitingAt(long nowNanos) {
        if (nowNanos - deadlineNanos >= 0) {
            future.completeExceptionally(
                    new FsException(
                            Errno.EIO,
                            "write at "
                                    + offset
                                    + " of inode "
                                    + state.inode()
                                    + " waited too long for an earlier operation"));
        }
    }
}
