package io.cairn.client.ahead;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Reads of a handle that go on where the last one ended, and the pieces ahead of them. Guarded by
 * the monitor of its {@link ReadAhead}.
 *
 * <p>As far as it has been read in order it is read ahead, which doubles the window as Linux does
 * ({@code mm/readahead.c}) and never fetches more in vain than was read; up to the maximum of the
 * configuration. Reads come a little out of order, as the kernel has several in flight: what lies
 * near goes on with the stream, but counts only where it continues it.
 */
final class Stream {
    /** How many reads must go on before anything is read ahead. */
    private static final int READS_BEFORE = 2;

    /** Two requests of the kernel's largest size. */
    static final long NEAR_BYTES = 2 << 20;

    private static final long FIRST_WINDOW_BYTES = 256 << 10;

    /** How often a window that was too large must be read until a larger one is tried. */
    private static final int PATIENCE = 16;

    final ArrayDeque<Piece> pieces = new ArrayDeque<>();

    /** The end of what was read. */
    private long next;

    private int readsInOrder;
    private long bytesInOrder;

    /** Bytes that were left out. */
    private long skipped;

    /** A window of which bytes grew old unread was too large. */
    private long limit = Long.MAX_VALUE;

    /** Begins anew, somewhere else; there are no pieces any more. */
    void restart(long offset) {
        next = offset;
        limit = Long.MAX_VALUE;
        collapse();
    }

    /** Begins with the smallest window again. */
    void collapse() {
        readsInOrder = 0;
        bytesInOrder = 0;
        skipped = 0;
    }

    /** Nobody came for bytes that were there in time. */
    void tooFar(long maxBytes) {
        limit = Math.max(FIRST_WINDOW_BYTES, windowBytes(maxBytes) / 2);
        collapse();
    }

    boolean isNear(long offset) {
        return Math.abs(offset - next) <= NEAR_BYTES;
    }

    void read(long from, long to) {
        if (from > next) {
            skipped += from - next;
            next = to;
            if (skipped > NEAR_BYTES + bytesInOrder / 4) {
                collapse();
            }
        } else if (to > next) {
            readsInOrder++;
            bytesInOrder += to - next;
            next = to;
        } else { // comes late
            skipped = Math.max(0, skipped - (to - from));
        }
    }

    long next() {
        return next;
    }

    boolean isInOrder() {
        return readsInOrder > READS_BEFORE;
    }

    /** How far beyond {@link #next} to read. */
    long windowBytes(long maxBytes) {
        long most = Math.min(maxBytes, Math.max(limit, bytesInOrder / PATIENCE));
        return Math.min(most, Math.max(FIRST_WINDOW_BYTES, bytesInOrder));
    }

    /** Where to go on reading ahead. */
    long end() {
        @Nullable Piece last = pieces.peekLast();
        return last == null ? next : Math.max(next, last.to());
    }
}
