package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One write of a file, in these steps: its turn among overlapping operations, the size ceiling,
 * room in the budget of bytes in flight, the pieces, the note of size and mtime, the answer.
 */
final class WriteOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final long offset;
    private final ByteBuf data;
    private final boolean killPrivileges;
    private final int length;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<Void> future = new CompletableFuture<>();
    private @Nullable FsException failure;

    /** Takes over the buffer. */
    WriteOp(
            FileServices services,
            InodeState state,
            long offset,
            ByteBuf data,
            boolean killPrivileges) {
        super(offset, offset + data.readableBytes(), true);
        this.services = services;
        this.state = state;
        this.offset = offset;
        this.data = data;
        this.length = data.readableBytes();
        this.killPrivileges = killPrivileges;
        this.deadlineNanos = startNanos + services.ioNanos();
    }

    @Override
    protected void start() {
        if (future.isDone()) { // its time was over while it waited
            data.release();
            finished();
            return;
        }
        Ceiling.reach(services, state, offset + length, this::belowCeiling);
    }

    private void belowCeiling(@Nullable FsException refused) {
        if (refused != null) {
            data.release();
            failure = refused;
            finished();
        } else {
            services.budget().acquire(length, this::send);
        }
    }

    private void send() {
        Pieces.write(services, state, offset, data, deadlineNanos, this::written);
    }

    private void written(@Nullable FsException problem, long truncateSequence) {
        data.release();
        services.budget().release(length);
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
