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

    /** A session was opened by a request sent at that time. */
    void opened(long sentNanos, int expiryMillis) {
        long expiry = TimeUnit.MILLISECONDS.toNanos(expiryMillis);
        termNanos = expiry - expiry / DRIFT_DIVISOR;
        untilNanos = sentNanos + termNanos;
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
}
