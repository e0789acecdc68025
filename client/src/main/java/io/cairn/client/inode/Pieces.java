package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataTarget;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A write on its way to the chunks it touches: one request each, in flight together. Reports once,
 * when all are answered, with the first failure. Any thread.
 *
 * <p>Another client may truncate the file meanwhile. The write is before that or after it as a
 * whole: pieces executed under an older truncation than others, which it may have cut, are written
 * again.
 */
final class Pieces {
    /** Told what became of a write. */
    @FunctionalInterface
    interface Outcome {
        /**
         * @param truncateSequence the truncation under which all of it was executed
         * @param some whether some of it may have been written
         */
        void done(@Nullable FsException problem, long truncateSequence, boolean some);
    }

    private final FileServices services;
    private final DataSession session;
    private final DataTarget target;
    private final long offset;
    private final ByteBuf data;
    private final long deadlineNanos;
    private final BooleanSupplier unwanted;
    private final Outcome outcome;
    private final List<Piece> pieces = new ArrayList<>(1);
    private int left;
    private @Nullable FsException failure;

    /**
     * Not only pieces that were refused for want of space, or not sent as nobody waited for them.
     */
    private boolean some;

    private Pieces(
            FileServices services,
            DataSession session,
            DataTarget target,
            long offset,
            ByteBuf data,
            long deadlineNanos,
            BooleanSupplier unwanted,
            Outcome outcome) {
        this.services = services;
        this.session = session;
        this.target = target;
        this.offset = offset;
        this.data = data;
        this.deadlineNanos = deadlineNanos;
        this.unwanted = unwanted;
        this.outcome = outcome;
    }

    /**
     * @param session all of it is written in this one, or fails
     * @param data stays the caller's, and unchanged until the outcome is told
     * @param unwanted whether nobody waits for it any more; once true it stays so
     */
    static void write(
            FileServices services,
            DataSession session,
            DataTarget target,
            long offset,
            ByteBuf data,
            long deadlineNanos,
            BooleanSupplier unwanted,
            Outcome outcome) {
        Pieces write =
                new Pieces(
                        services, session, target, offset, data, deadlineNanos, unwanted, outcome);
        DataView view = target.view();
        long end = offset + data.readableBytes();
        for (long at = offset; at < end; ) {
            Piece piece = write.new Piece(at, view.pieceLength(at, end - at));
            write.pieces.add(piece);
            at += piece.bytes;
        }
        write.send(write.pieces);
    }

    private void send(List<Piece> some) {
        synchronized (this) {
            left = some.size() + 1; // one for this loop: no early answer ends the write
        }
        some.forEach(Piece::send);
        ended(null);
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
            DataView view = target.view();
            try {
                services.data()
                        .write(
                                session,
                                target,
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
            boolean written = mayBeWritten(problem);
            synchronized (Pieces.this) {
                some |= written;
            }
            ended(problem);
        }

        @Override
        public boolean unwanted() {
            return unwanted.getAsBoolean();
        }
    }

    private static boolean mayBeWritten(@Nullable FsException problem) {
        return problem == null
                || (problem.errno() != Errno.ENOSPC && problem.errno() != Errno.EINTR);
    }

    /** One of those that {@link #left} counts. */
    private void ended(@Nullable FsException problem) {
        @Nullable FsException first;
        boolean written;
        synchronized (this) {
            failure = failure == null ? problem : failure;
            if (--left > 0) {
                return;
            }
            first = failure;
            written = some;
        }
        long newest = 0;
        for (Piece piece : pieces) {
            newest = Math.max(newest, piece.under);
        }
        List<Piece> older = first == null ? olderThan(newest) : List.of();
        if (older.isEmpty()) {
            outcome.done(first, newest, written);
        } else {
            send(older);
        }
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
}
