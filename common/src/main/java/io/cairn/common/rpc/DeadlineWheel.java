package io.cairn.common.rpc;

import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Deadlines of the outstanding calls of one event loop: a hashed timing wheel (Varghese and Lauck,
 * 1987) with one scheduled task for all of them while there are any. Adding and removing are O(1)
 * and allocate nothing. A call expires at most {@link #TICK_NANOS} and one loop turn late. On its
 * event loop only.
 */
final class DeadlineWheel {
    static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** Deadlines further away than BUCKETS ticks are looked at once per round. */
    private static final int BUCKETS = 1024;

    private final EventLoop loop;
    private final @Nullable PendingCall[] buckets = new @Nullable PendingCall[BUCKETS];
    private final long originNanos;
    private final Runnable tick = this::tick;
    private long doneTick;
    private int size;
    private boolean scheduled;

    DeadlineWheel(EventLoop loop) {
        this(loop, System.nanoTime());
    }

    DeadlineWheel(EventLoop loop, long originNanos) {
        this.loop = loop;
        this.originNanos = originNanos;
    }

    int size() {
        return size;
    }

    void add(PendingCall call) {
        if (size++ == 0) {
            // Nothing was kept while the wheel stood still: go on from the present.
            doneTick = Math.max(doneTick, tickOf(System.nanoTime()) - 1);
        }
        // In the tick after its deadline, so that it has passed when the bucket is looked at.
        long due = Math.max(tickOf(call.deadlineNanos) + 1, doneTick + 1);
        int bucket = (int) (due & (BUCKETS - 1));
        call.bucket = bucket;
        @Nullable PendingCall first = buckets[bucket];
        call.wheelNext = first;
        call.wheelPrevious = null;
        if (first != null) {
            first.wheelPrevious = call;
        }
        buckets[bucket] = call;
        if (!scheduled) {
            schedule();
        }
    }

    /** Does nothing when the call is not in the wheel. */
    void remove(PendingCall call) {
        if (call.bucket < 0) {
            return;
        }
        @Nullable PendingCall previous = call.wheelPrevious;
        @Nullable PendingCall next = call.wheelNext;
        if (previous == null) {
            buckets[call.bucket] = next;
        } else {
            previous.wheelNext = next;
        }
        if (next != null) {
            next.wheelPrevious = previous;
        }
        call.bucket = -1;
        call.wheelNext = null;
        call.wheelPrevious = null;
        size--;
    }

    /** Expires every call whose deadline has passed. */
    void advance(long nowNanos) {
        long last = tickOf(nowNanos);
        long first = Math.max(doneTick + 1, last - BUCKETS + 1);
        @Nullable PendingCall expired = null;
        for (long t = first; t <= last && size > 0; t++) {
            @Nullable PendingCall call = buckets[(int) (t & (BUCKETS - 1))];
            while (call != null) {
                @Nullable PendingCall next = call.wheelNext;
                if (call.deadlineNanos - nowNanos <= 0) {
                    remove(call);
                    call.wheelNext = expired;
                    expired = call;
                }
                call = next;
            }
        }
        doneTick = Math.max(doneTick, last);
        // Only now: callbacks may add and remove.
        while (expired != null) {
            @Nullable PendingCall next = expired.wheelNext;
            expired.wheelNext = null;
            expired.expired();
            expired = next;
        }
    }

    private long tickOf(long nanos) {
        return Math.floorDiv(nanos - originNanos, TICK_NANOS);
    }

    private void schedule() {
        scheduled = true;
        var _ = loop.schedule(tick, TICK_NANOS, TimeUnit.NANOSECONDS);
    }

    private void tick() {
        scheduled = false;
        advance(System.nanoTime());
        if (size > 0 && !scheduled) {
            schedule();
        }
    }
}
