package io.cairn.client.meta;

import io.cairn.common.time.NanoClock;
import java.util.concurrent.TimeUnit;

/**
 * Until when the session cannot have been evicted: the MDS waits for the expiry after it has heard
 * of the client, the client counts from when it sent that, on a clock that goes on while the
 * machine sleeps, less what two clocks may differ by. Any thread.
 */
final class SessionLease {
    /** Of the term: 2 %. */
    private static final int DRIFT_DIVISOR = 50;

    private final NanoClock clock;
    private volatile long termNanos;
    private volatile long delegationNanos;
    private volatile long untilNanos;

    /**
     * @param clock CLOCK_BOOTTIME, except in tests
     */
    SessionLease(NanoClock clock) {
        this.clock = clock;
        untilNanos = clock.nanos();
    }

    long nowNanos() {
        return clock.nanos();
    }

    /**
     * A session was opened by a request sent at that time.
     *
     * @param delegationMillis how much of the term what is delegated to it counts
     */
    void opened(long sentNanos, int expiryMillis, int delegationMillis) {
        termNanos = certain(expiryMillis);
        delegationNanos = certain(Math.min(delegationMillis, expiryMillis));
        untilNanos = sentNanos + termNanos;
    }

    private static long certain(int millis) {
        long nanos = TimeUnit.MILLISECONDS.toNanos(millis);
        return nanos - nanos / DRIFT_DIVISOR;
    }

    /** The MDS heard of the client by a request sent at that time. */
    void renewed(long sentNanos) {
        untilNanos = sentNanos + termNanos;
    }

    void ended() {
        untilNanos = clock.nanos();
    }

    boolean holds() {
        return clock.nanos() - untilNanos < 0;
    }

    /** Whether what is delegated to the session certainly is. */
    boolean delegationsHold() {
        return clock.nanos() - (untilNanos - termNanos) < delegationNanos;
    }
}
