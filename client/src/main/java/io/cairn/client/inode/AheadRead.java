package io.cairn.client.inode;

import io.cairn.client.ahead.Found;
import io.cairn.client.ahead.Piece;
import io.cairn.client.ahead.ReadAhead;
import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A read of a range that is read ahead: waits for the pieces that are in flight, and asks the data
 * servers itself where one of them does not come or does not count any more. It needs no turn among
 * the changes of the file: what was begun before one of them is not handed out, and what is begun
 * later waits for it. Any thread.
 */
final class AheadRead {
    private final FileServices services;
    private final InodeState state;
    private final ReadAhead ahead;
    private final long offset;
    private final int length;
    private final long startNanos = System.nanoTime();
    final CompletableFuture<ByteBuf> future = new CallerFuture<>(this::givenUp);

    /** In place of the pieces. */
    private volatile @Nullable ReadOp asked;

    /**
     * @param length none of it beyond the end of the file
     */
    AheadRead(FileServices services, InodeState state, ReadAhead ahead, long offset, int length) {
        this.services = services;
        this.state = state;
        this.ahead = ahead;
        this.offset = offset;
        this.length = length;
    }

    void go(Found found) {
        switch (found) {
            case Found.Bytes(ByteBuf data) -> answer(data);
            case Found.InFlight(Piece piece) -> {
                var _ = piece.settled().thenRun(this::again);
            }
            case Found.Nothing _ -> ask();
        }
    }

    private void again() {
        if (!future.isDone()) {
            go(ahead.find(offset, length, state.session()));
        }
    }

    private void answer(ByteBuf data) {
        services.meters().finished(ClientMeters.Op.READ, startNanos, true);
        services.meters().read(length);
        if (!future.complete(data)) {
            data.release();
        }
    }

    private void ask() {
        ReadOp op = new ReadOp(services, state, offset, length);
        asked = op;
        if (future.isDone()) { // given up before it could be told
            return;
        }
        state.order().submit(op);
        var _ =
                op.future.whenComplete((data, thrown) -> {
                    if (thrown != null) {
                        future.completeExceptionally(Async.failure(thrown));
                    } else if (!future.complete(data)) {
                        data.release();
                    }
                });
    }

    private void givenUp() {
        ReadOp op = asked;
        if (op != null) {
            op.future.cancel(false);
        }
    }
}
