package io.cairn.client.ahead;

import io.cairn.client.data.DataSession;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A range of a file that is read ahead in one request. Whoever fetches it tells once what became of
 * it, by {@link #arrived} or {@link #failed}. Any thread.
 *
 * <pre>
 *   IN_FLIGHT ──arrived──▶ HERE
 *       │ failed, dropped    │ read, dropped
 *       └──────▶ GONE ◀──────┘
 * </pre>
 *
 * <p>Its memory counts until it is GONE and no longer in flight.
 */
public final class Piece {
    /** See the class; changed under the monitor of the {@link ReadAhead} only. */
    enum State {
        IN_FLIGHT,
        HERE,
        GONE
    }

    private final ReadAhead owner;
    private final long from;
    private final int length;
    private final DataSession session;
    private final CompletableFuture<Void> settled = new CompletableFuture<>();

    volatile State state = State.IN_FLIGHT;

    // Under the monitor of the owner.
    @Nullable ByteBuf data;
    long arrivedNanos;
    int unread;

    Piece(ReadAhead owner, long from, int length, DataSession session) {
        this.owner = owner;
        this.from = from;
        this.length = length;
        this.session = session;
        this.unread = length;
    }

    /** Offset of the file. */
    public long from() {
        return from;
    }

    /** In bytes, below the size of the file when it was asked for. */
    public int length() {
        return length;
    }

    /** Offset of the byte after the last. */
    public long to() {
        return from + length;
    }

    /** In which it is read; when that has begun to end it counts no more. */
    public DataSession session() {
        return session;
    }

    /** Whether anybody will take it when it arrives; once false it stays so. */
    public boolean isWanted() {
        return state != State.GONE;
    }

    /** Completes when it has arrived or failed, dropped or not. */
    public CompletableFuture<Void> settled() {
        return settled;
    }

    /**
     * It was read.
     *
     * @param received at most {@link #length}, what is missing is zeros; stays the caller's
     */
    public void arrived(ByteBuf received) {
        @Nullable ByteBuf whole = null;
        try {
            whole = isWanted() ? whole(received) : null;
        } catch (OutOfMemoryError e) {
            // As if it had not been read.
        }
        owner.arrived(this, whole);
        settled.complete(null);
    }

    /** It was not read, for whatever reason: who wants it asks for it again. */
    public void failed() {
        owner.failed(this);
        settled.complete(null);
    }

    private ByteBuf whole(ByteBuf received) {
        int there = received.readableBytes();
        if (there == length) {
            return received.retainedSlice();
        }
        return PooledByteBufAllocator.DEFAULT
                .directBuffer(length)
                .writeBytes(received, received.readerIndex(), there)
                .writeZero(length - there);
    }
}
