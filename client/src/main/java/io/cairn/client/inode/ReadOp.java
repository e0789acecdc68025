package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One read of a file: waits for overlapping writes of this client, is cut at the size, and puts the
 * pieces together; what the data servers do not have is zeros. When its session ends it begins anew
 * in the next one, where the file is open again: it may have been deleted meanwhile, and read as
 * zeros.
 */
final class ReadOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final long offset;
    private final int wanted;
    private final long startNanos = System.nanoTime();
    private final long deadlineNanos;
    final CompletableFuture<ByteBuf> future;
    private DataSession session;
    private int attempts;
    private int length;
    private int piecesLeft;
    private @Nullable ByteBuf result;
    private @Nullable FsException failure;

    ReadOp(FileServices services, InodeState state, long offset, int length) {
        super(offset, offset + length, false);
        this.services = services;
        this.state = state;
        this.offset = offset;
        this.wanted = length;
        this.deadlineNanos = startNanos + services.ioNanos();
        this.future = new CallerFuture<>(services.data()::dropUnwanted);
        this.session = state.session();
    }

    @Override
    protected void start() {
        if (future.isDone()) {
            return;
        }
        attempts++;
        session = state.session();
        FsException refused = state.whyGone();
        failure = refused == null ? session.ended() : refused;
        if (failure != null) {
            finished();
            return;
        }
        if (offset + wanted > state.size()
                && state.mayHaveGrown(startNanos, services.attrFreshNanos())) {
            var _ =
                    state.refresh()
                            .whenComplete((v, thrown) -> {
                                if (thrown != null) {
                                    failure = Async.failure(thrown);
                                    finished();
                                } else {
                                    begin();
                                }
                            });
        } else {
            begin();
        }
    }

    private void begin() {
        length = Math.clamp(state.size() - offset, 0, wanted);
        if (length == 0) {
            result = Unpooled.EMPTY_BUFFER;
            finished();
        } else {
            send();
        }
    }

    private void send() {
        DataView view = state.view();
        long end = offset + length;
        synchronized (this) {
            piecesLeft = 1;
        }
        for (long at = offset; at < end; ) {
            int piece = view.pieceLength(at, end - at);
            int position = (int) (at - offset);
            synchronized (this) {
                piecesLeft++;
            }
            try {
                services.data()
                        .read(
                                session,
                                state,
                                view.chunk(at),
                                view.offsetInChunk(at),
                                piece,
                                deadlineNanos,
                                new Piece(position, piece));
            } catch (RuntimeException | OutOfMemoryError e) {
                pieceDone(position, piece, Async.notStarted(e), Unpooled.EMPTY_BUFFER);
            }
            at += piece;
        }
        pieceDone(0, 0, null, Unpooled.EMPTY_BUFFER);
    }

    private void pieceDone(int position, int piece, @Nullable FsException problem, ByteBuf data) {
        synchronized (this) {
            if (problem != null) {
                failure = failure == null ? problem : failure;
            } else if (piece > 0) {
                place(position, piece, data);
            }
            if (--piecesLeft > 0) {
                return;
            }
        }
        finished();
    }

    private final class Piece implements DataClient.Outcome {
        private final int position;
        private final int bytes;

        Piece(int position, int bytes) {
            this.position = position;
            this.bytes = bytes;
        }

        @Override
        public void done(@Nullable FsException problem, ByteBuf data, long truncateSequence) {
            pieceDone(position, bytes, problem, data);
        }

        @Override
        public boolean unwanted() {
            return future.isDone();
        }
    }

    /** Copies a piece to its place; a piece that is the whole answer is handed on as it is. */
    private void place(int position, int piece, ByteBuf data) {
        int received = data.readableBytes();
        if (piece == length && received == length) {
            result = data.retainedSlice();
            return;
        }
        ByteBuf whole = result;
        if (whole == null) {
            whole = PooledByteBufAllocator.DEFAULT.directBuffer(length).writerIndex(length);
            result = whole;
        }
        whole.setBytes(position, data, data.readerIndex(), received);
        whole.setZero(position + received, piece - received);
    }

    private void finished() {
        ByteBuf read = result;
        boolean ended = session.ended() != null;
        FsException gone = state.whyGone();
        if (failure != null && ended && gone != null) {
            failure = gone; // and not that the session ended, which is why it is
        } else if (failure != null && ended && attempts < FileServices.MAX_TURNS) {
            if (read != null) {
                read.release();
            }
            result = null;
            failure = null;
            state.order().submit(this);
            return;
        }
        services.meters().finished(ClientMeters.Op.READ, startNanos, failure == null);
        if (failure != null || read == null) {
            if (read != null) {
                read.release();
            }
            future.completeExceptionally(
                    failure != null ? failure : new FsException(Errno.EIO, "read without data"));
            return;
        }
        services.meters().read(length);
        cutToSize(read);
        if (!future.complete(read)) {
            read.release();
        }
    }

    /** Another client may have cut the file meanwhile: zeros stand for what is gone. */
    private void cutToSize(ByteBuf read) {
        long left = state.size() - offset;
        if (left < read.readableBytes()) {
            read.writerIndex(read.readerIndex() + (int) Math.max(0, left));
        }
    }

    @Override
    protected void waitingAt(long nowNanos) {
        if (nowNanos - deadlineNanos >= 0) {
            future.completeExceptionally(
                    new FsException(
                            Errno.EIO,
                            "read at "
                                    + offset
                                    + " of inode "
                                    + state.inode()
                                    + " waited too long for an earlier write"));
        }
    }
}
