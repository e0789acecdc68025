package io.cairn.client.meta;

import io.cairn.common.proto.IdRange;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The ranges of inode ids that a session has, and when to ask for another one: as soon as half of
 * the newest is used, so that the next one is there before they are needed. The first range is
 * small and each further one twice as large: the unused ids of a session that is evicted have to be
 * deleted. Not thread-safe.
 */
final class HeldIds {
    static final int FEWEST = 64;

    /** As the metadata service allows; so is the number of ranges. */
    static final int MOST = 1024;

    private static final int MAX_RANGES = 2;

    /** After a refusal: the service may be upgraded meanwhile, or its disk be cleared. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final class Range {
        private long next;
        private final long last;
        private final long half;

        Range(IdRange of) {
            next = of.getFirst();
            last = of.getLast();
            half = next + (last - next + 1) / 2;
        }
    }

    /** With ids left, in the order in which they were granted, which is that of the ids. */
    private final ArrayDeque<Range> ranges = new ArrayDeque<>();

    private int nextCount = FEWEST;
    private boolean asked;
    private boolean paused;
    private long notBeforeNanos;

    /** The next id, 0 if none is at hand. Each one once and ascending. */
    long take() {
        @Nullable Range range = ranges.peek();
        if (range == null) {
            return 0;
        }
        long id = range.next++;
        if (range.next > range.last) {
            ranges.remove();
        }
        return id;
    }

    /**
     * How many ids to ask for now, 0: none. Whoever is told of some asks for them, and says what
     * came of it: {@link #granted}, {@link #refused}, or {@link #ended}.
     */
    int toAskFor(long nowNanos) {
        if (asked || ranges.size() >= MAX_RANGES || (paused && nowNanos - notBeforeNanos < 0)) {
            return 0;
        }
        @Nullable Range newest = ranges.peekLast();
        if (newest != null && newest.next < newest.half) {
            return 0;
        }
        asked = true;
        return nextCount;
    }

    void granted(IdRange range) {
        asked = false;
        paused = false;
        nextCount = Math.min(2 * nextCount, MOST);
        ranges.add(new Range(range));
    }

    void refused(long nowNanos) {
        asked = false;
        paused = true;
        notBeforeNanos = nowNanos + PAUSE_NANOS;
    }

    /** With its session ends whatever it had; the next one begins anew. */
    void ended() {
        ranges.clear();
        nextCount = FEWEST;
        asked = false;
        paused = false;
    }
}
