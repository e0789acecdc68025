package io.cairn.client.inode;

import io.cairn.client.ahead.Piece;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Reads one piece ahead: waits for overlapping changes of this client before it, as a read does,
 * and is sent if there is room then. It fails without a word: whoever needs the bytes reads them
 * himself, and hears why he cannot.
 */
final class AheadFetch extends RangeOrder.Entry implements DataClient.Outcome {
    private final FileServices services;
    private final InodeState state;
    private final Piece piece;
    private final long deadlineNanos;

    AheadFetch(FileServices services, InodeState state, Piece piece) {
        super(piece.from(), piece.to(), false);
        this.services = services;
        this.state = state;
        this.piece = piece;
        this.deadlineNanos = System.nanoTime() + services.ioNanos();
    }

    @Override
    protected void start() {
        boolean sent = false;
        try {
            sent = piece.isWanted() && send();
        } catch (RuntimeException | OutOfMemoryError e) {
            // As if there were no room.
        }
        if (!sent) {
            piece.failed();
        }
    }

    private boolean send() {
        DataView view = state.view();
        return services.data()
                .readSpare(
                        piece.session(),
                        state,
                        view.chunk(piece.from()),
                        view.offsetInChunk(piece.from()),
                        piece.length(),
                        deadlineNanos,
                        this);
    }

    @Override
    public void done(@Nullable FsException problem, ByteBuf data, long truncateSequence) {
        if (problem == null) {
            piece.arrived(data);
        } else {
            piece.failed();
        }
    }

    @Override
    public boolean unwanted() {
        return !piece.isWanted();
    }
}
