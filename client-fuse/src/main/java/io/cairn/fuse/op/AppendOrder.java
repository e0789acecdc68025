package io.cairn.fuse.op;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Puts the pieces of an asynchronous O_DIRECT append (io_submit, io_uring) into their order. The
 * kernel sends all of them at once, at offsets that follow each other from what it takes for the
 * size, and several readers take them up. Until all are answered it sends no other append to the
 * file, so what is in flight belongs to one write.
 *
 * <p>A piece whose offset lies beyond the end of the piece before it, or of the file as the kernel
 * knows it, waits for the ones between. Where that is a mistake, because the kernel got its size in
 * another way, it goes on after a while. Once a piece has failed, those behind it fail too.
 *
 * <p>Any thread; appends start without a lock held.
 */
final class AppendOrder {
    /** Far longer than a reader takes from one request to the next. */
    private static final long PATIENCE_MILLIS = 1000;

    private final KernelCache cache;
    private final int smallestPieceBytes;
    private final Map<Long, Write> writes = new HashMap<>();

    private static final class Piece {
        final long offset;
        final int size;
        final Function<@Nullable Throwable, CompletableFuture<Long>> start;
        final CompletableFuture<Long> done = new CompletableFuture<>();

        Piece(long offset, int size, Function<@Nullable Throwable, CompletableFuture<Long>> start) {
            this.offset = offset;
            this.size = size;
            this.start = start;
        }
    }

    /** One write(2), as far as its pieces have come. */
    private static final class Write {
        final TreeMap<Long, Piece> waiting = new TreeMap<>();
        long next;
        boolean running;
        @Nullable Throwable failure;

        Write(long next) {
            this.next = next;
        }
    }

    /**
     * @param smallestPieceBytes of a write that is cut: what is missing before a piece is this much
     */
    AppendOrder(KernelCache cache, int smallestPieceBytes) {
        this.cache = cache;
        this.smallestPieceBytes = smallestPieceBytes;
    }

    /**
     * @param offset as the kernel sees it
     * @param start begins the append, or with a failure gives up what it has; its outcome is the
     *     result's
     */
    CompletableFuture<Long> append(
            long inode,
            long offset,
            int size,
            Function<@Nullable Throwable, CompletableFuture<Long>> start) {
        Piece piece = new Piece(offset, size, start);
        boolean early;
        synchronized (this) {
            Write write = writes.computeIfAbsent(inode, i -> new Write(firstOf(inode, offset)));
            write.waiting.put(offset, piece);
            early = offset > write.next;
        }
        if (early) {
            lookLater(inode, piece);
        }
        advance(inode);
        return piece.done;
    }

    /** Where the write begins whose first piece to arrive has this offset. */
    private long firstOf(long inode, long offset) {
        long size = cache.sizeInKernel(inode);
        return size >= 0 && offset - size >= smallestPieceBytes ? size : offset;
    }

    private void lookLater(long inode, Piece piece) {
        CompletableFuture.delayedExecutor(PATIENCE_MILLIS, TimeUnit.MILLISECONDS, Runnable::run)
                .execute(() -> outOfPatience(inode, piece));
    }

    /** What is missing was withdrawn, or never was. */
    private void outOfPatience(long inode, Piece piece) {
        boolean again;
        synchronized (this) {
            Write write = writes.get(inode);
            if (write == null || write.waiting.get(piece.offset) != piece) {
                return;
            }
            again = write.running;
            if (!again) {
                write.next = write.waiting.firstKey();
            }
        }
        if (again) {
            lookLater(inode, piece);
        } else {
            advance(inode);
        }
    }

    private void advance(long inode) {
        List<Piece> lost = new ArrayList<>();
        Piece first = null;
        Throwable failure;
        synchronized (this) {
            Write write = writes.get(inode);
            if (write == null || write.running) {
                return;
            }
            failure = write.failure;
            if (failure != null || write.waiting.isEmpty()) {
                lost.addAll(write.waiting.values());
                writes.remove(inode);
            } else if (write.waiting.firstKey() <= write.next) {
                first = write.waiting.pollFirstEntry().getValue();
                write.running = true;
            }
        }
        for (Piece piece : lost) {
            var _ = piece.start.apply(failure).whenComplete((at, thrown) -> end(piece, at, thrown));
        }
        if (first != null) {
            Piece piece = first;
            var _ =
                    piece.start
                            .apply(null)
                            .whenComplete((at, thrown) -> {
                                // First: what the kernel sends when it is answered is another
                                // write.
                                over(inode, piece, thrown);
                                end(piece, at, thrown);
                            });
        }
    }

    private void over(long inode, Piece piece, @Nullable Throwable thrown) {
        synchronized (this) {
            Write write = writes.get(inode);
            if (write != null) {
                write.running = false;
                write.next = Math.max(write.next, piece.offset + piece.size);
                write.failure = thrown;
            }
        }
        advance(inode);
    }

    private static void end(Piece piece, Long at, @Nullable Throwable thrown) {
        if (thrown == null) {
            piece.done.complete(at);
        } else {
            piece.done.completeExceptionally(thrown);
        }
    }
}
