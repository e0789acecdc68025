package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One write of a file, in these steps: its turn among overlapping operations, the size ceiling,
 * room in the budget of bytes in flight, the pieces, the note of size and mtime, the answer.
 *
 * <p>Another client may truncate the file meanwhile. The write is before that or after it as a
 * whole: pieces executed under an older truncation than others, which it may have cut, are written
 * again.
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
    private final List<Piece> pieces = new ArrayList<>(1);
    private int piecesLeft;
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
        DataView view = state.view();
        long end = offset + length;
        for (long at = offset; at < end; ) {
            Piece piece = new Piece(at, view.pieceLength(at, end - at));
            pieces.add(piece);
            at += piece.bytes;
        }
        send(pieces);
    }

    private void send(List<Piece> some) {
        synchronized (this) {
            piecesLeft = some.size() + 1; // one for this loop: no early answer ends the operation
        }
        some.forEach(Piece::send);
        ended();
    }

    /** Bytes of one chunk that travel in one request. */
    private final class Piece implements DataClient.Outcome {
        private final long at;
        private final int bytes;

        /** The newest truncation known to the request that wrote it. */
        private long under;

        Piece(long at, int bytes) {
            this.at = at;
            this.bytes = bytes;
        }

        void send() {
            DataView view = state.view();
            try {
                services.data()
                        .write(
                                state,
                                view.chunk(at),
                                view.offsetInChunk(at),
                                data.retainedSlice(data.readerIndex() + (int) (at - offset), bytes),
                                deadlineNanos,
                                this);
            } catch (RuntimeException | OutOfMemoryError e) {
                done(Async.notStarted(e), data, 0);
            }
        }

        @Override
        public void done(@Nullable FsException problem, ByteBuf unused, long truncateSequence) {
            under = truncateSequence;
            if (problem != null) {
                synchronized (WriteOp.this) {
                    failure = failure == null ? problem : failure;
                }
            }
            ended();
        }
    }

    /** One of those that {@link #piecesLeft} counts. */
    private void ended() {
        synchronized (this) {
            if (--piecesLeft > 0) {
                return;
            }
        }
        long newest = 0;
        for (Piece piece : pieces) {
            newest = Math.max(newest, piece.under);
        }
        List<Piece> older = failure == null ? olderThan(newest) : List.of();
        if (!older.isEmpty()) {
            send(older);
            return;
        }
        data.release();
        services.budget().release(length);
        if (failure == null) {
            note(newest);
        }
        finished();
    }

    /** Those executed under a truncation older than this one. */
    private List<Piece> olderThan(long truncateSequence) {
        if (pieces.size() == 1) {
            return List.of();
        }
        List<Piece> older = new ArrayList<>(0);
        for (Piece piece : pieces) {
            if (piece.under < truncateSequence) {
                older.add(piece);
            }
        }
        return older;
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
