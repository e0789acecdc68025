package io.cairn.client.ahead;

import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataView;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What one handle reads ahead, for a caller that caches what it reads: {@link #read} for each read,
 * {@link #fill} after it. Any thread.
 *
 * <p>Bytes are handed out only while they may be, and each once:
 *
 * <ul>
 *   <li>What lies in a range that this client changes is dropped, in flight or not, when the change
 *       takes its place among the operations of the file ({@link #drop}). What is begun later waits
 *       for the change. So nobody who was told of the change reads what was there before.
 *   <li>All is dropped when newer attributes are seen, before anybody acts on them: whoever opens
 *       the file, gets a lock or learns of a size reads what was fetched after that.
 *   <li>Bytes belong to the session in which they were fetched.
 *   <li>They are dropped a second after they came, wanted or not; so a reader that stops holds no
 *       memory, and a foreign change that nobody told of shows as if it had been read then.
 * </ul>
 */
public final class ReadAhead {
    private static final int STREAMS = 4;
    private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** At most that much is asked for at a time where more could be: a whole request. */
    private static final long STEP_BYTES = 1 << 20;

    private final AheadMemory memory;
    private final ClientMeters meters;
    private final long maxBytes;
    private final LongSupplier clock;

    /** The one that was read last stands last. */
    private final List<Stream> streams = new ArrayList<>(1);

    private boolean closed;

    /**
     * @param maxBytes of a stream
     * @param clock as {@link System#nanoTime}
     */
    public ReadAhead(AheadMemory memory, ClientMeters meters, long maxBytes, LongSupplier clock) {
        this.memory = memory;
        this.meters = meters;
        this.maxBytes = maxBytes;
        this.clock = clock;
    }

    /**
     * A range is read: notes it, and gives what there is of it.
     *
     * @param length above 0; none of it beyond the end of the file
     * @param session the present one of the file
     */
    public synchronized Found read(long offset, int length, DataSession session) {
        Stream stream = stream(offset);
        if (discard(stream, this::isOld)) {
            stream.tooFar(maxBytes);
        }
        stream.read(offset, offset + length);
        discard(stream, piece -> piece.to() <= stream.next() - Stream.NEAR_BYTES);
        return find(offset, length, session);
    }

    /** {@link #read} once more, after a piece has settled. */
    public synchronized Found find(long offset, int length, DataSession session) {
        for (Stream stream : streams) {
            Found found = find(stream, offset, offset + length, session);
            if (!(found instanceof Found.Nothing)) {
                return found;
            }
        }
        return Found.NOTHING;
    }

    private Found find(Stream stream, long from, long to, DataSession session) {
        long at = from;
        @Nullable Piece inFlight = null;
        for (Piece piece : stream.pieces) {
            if (piece.to() <= at) {
                continue;
            }
            if (piece.from() > at || piece.session() != session || session.isEnding()) {
                return Found.NOTHING;
            }
            if (piece.state == Piece.State.IN_FLIGHT) {
                inFlight = inFlight == null ? piece : inFlight;
            } else if (isOld(piece)) {
                return Found.NOTHING;
            }
            at = piece.to();
            if (at >= to) {
                return inFlight == null ? bytes(stream, from, to) : new Found.InFlight(inFlight);
            }
        }
        return Found.NOTHING;
    }

    private boolean isOld(Piece piece) {
        return piece.state == Piece.State.HERE
                && clock.getAsLong() - piece.arrivedNanos > MAX_AGE_NANOS;
    }

    /** Of pieces that are all here, one behind the other. */
    private Found bytes(Stream stream, long from, long to) {
        int length = (int) (to - from);
        @Nullable ByteBuf bytes = null;
        for (Piece piece : stream.pieces) {
            ByteBuf slice = slice(piece, from, to);
            if (slice == null) {
                continue;
            }
            piece.unread -= slice.readableBytes();
            if (slice.readableBytes() == length) {
                bytes = slice.retain();
                break;
            }
            bytes = bytes == null ? memoryFor(length) : bytes;
            if (bytes == null) {
                return Found.NOTHING;
            }
            bytes.writeBytes(slice);
        }
        if (bytes == null) {
            return Found.NOTHING;
        }
        meters.readAheadServed(length);
        discard(stream, piece -> piece.state == Piece.State.HERE && piece.unread <= 0);
        return new Found.Bytes(bytes);
    }

    /** What a piece has of the range, not retained; null for nothing. */
    private static @Nullable ByteBuf slice(Piece piece, long from, long to) {
        long begin = Math.max(from, piece.from());
        long end = Math.min(to, piece.to());
        ByteBuf data = piece.data;
        return data == null || begin >= end
                ? null
                : data.slice(
                        data.readerIndex() + (int) (begin - piece.from()), (int) (end - begin));
    }

    /** Null where there is none: its reader may be luckier. */
    private static @Nullable ByteBuf memoryFor(int bytes) {
        try {
            return PooledByteBufAllocator.DEFAULT.directBuffer(bytes);
        } catch (OutOfMemoryError e) {
            return null;
        }
    }

    /** The stream that a read goes on with, or the one that was read longest ago, begun anew. */
    private Stream stream(long offset) {
        for (int i = streams.size() - 1; i >= 0; i--) {
            if (streams.get(i).isNear(offset)) {
                return last(streams.remove(i));
            }
        }
        Stream stream = streams.size() < STREAMS ? new Stream() : streams.removeFirst();
        discard(stream, piece -> true);
        stream.restart(offset);
        return last(stream);
    }

    private Stream last(Stream stream) {
        streams.addLast(stream);
        return stream;
    }

    // ---- fetching

    /**
     * Reads further ahead of the stream that was read last, if it is time.
     *
     * @param size of the file: nothing is read beyond
     * @param session the present one of the file
     * @param fetch begins to read a piece, and tells it of the outcome
     */
    public void fill(DataView view, long size, DataSession session, Consumer<Piece> fetch) {
        for (Piece piece = begin(view, size, session);
                piece != null;
                piece = begin(view, size, session)) {
            fetch.accept(piece);
            if (!piece.isWanted()) { // there is no room
                return;
            }
        }
    }

    private synchronized @Nullable Piece begin(DataView view, long size, DataSession session) {
        if (closed || streams.isEmpty() || session.isEnding()) {
            return null;
        }
        Stream stream = streams.getLast();
        long window = stream.windowBytes(maxBytes);
        long at = stream.end();
        long until = Math.min(size, stream.next() + window);
        boolean enough = until - at >= Math.min(window / 2, STEP_BYTES) || until == size;
        if (!stream.isInOrder() || at >= until || !enough) {
            return null;
        }
        int whole = view.pieceLength(at, size - at);
        int length = (int) Math.min(whole, until - at);
        boolean soon = at - stream.next() < window / 2;
        if ((length < whole && !soon) || !memory.take(length, at - stream.next())) {
            return null;
        }
        Piece piece = new Piece(this, at, length, session);
        stream.pieces.addLast(piece);
        return piece;
    }

    /**
     * @param data taken over; null where it is not wanted, or there was no memory for it
     */
    synchronized void arrived(Piece piece, @Nullable ByteBuf data) {
        meters.readAheadFetched(piece.length());
        if (data != null && piece.isWanted()) {
            piece.data = data;
            piece.arrivedNanos = clock.getAsLong();
            piece.state = Piece.State.HERE;
            return;
        }
        if (data != null) {
            data.release();
        }
        meters.readAheadDropped(piece.length());
        failed(piece);
    }

    synchronized void failed(Piece piece) {
        memory.giveBack(piece.length());
        piece.state = Piece.State.GONE;
        streams.forEach(stream -> stream.pieces.remove(piece));
    }

    // ---- dropping

    /**
     * Nothing of this range that was begun before counts any more. Brief, and calls nothing: the
     * caller may hold monitors.
     *
     * @param to byte after the last
     */
    public synchronized void drop(long from, long to) {
        for (Stream stream : streams) {
            if (discard(stream, piece -> piece.from() < to && from < piece.to())) {
                stream.collapse();
            }
        }
    }

    /** Drops what has become old unread. */
    public synchronized void tick() {
        for (Stream stream : streams) {
            if (discard(stream, this::isOld)) {
                stream.tooFar(maxBytes);
            }
        }
    }

    /** Nothing is read ahead any more, and nothing held. */
    public synchronized void close() {
        closed = true;
        drop(0, Long.MAX_VALUE);
    }

    /** Whether there were such pieces. */
    private boolean discard(Stream stream, Predicate<Piece> which) {
        return stream.pieces.removeIf(piece -> {
            boolean gone = which.test(piece);
            if (gone) {
                discard(piece);
            }
            return gone;
        });
    }

    /** What is in flight gives its memory back when it settles. */
    private void discard(Piece piece) {
        ByteBuf data = piece.data;
        piece.state = Piece.State.GONE;
        piece.data = null;
        if (data != null) {
            data.release();
            memory.giveBack(piece.length());
            meters.readAheadDropped(Math.max(0, piece.unread));
        }
    }
}
