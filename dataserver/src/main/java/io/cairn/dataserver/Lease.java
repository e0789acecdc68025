package io.cairn.dataserver;

import io.cairn.common.time.NanoClock;

/**
 * The right to serve, from the MDS. It counts from when the heartbeat that renewed it was
 * <em>sent</em>, on a clock that goes on while the machine sleeps, and ends 2 % early for drift.
 * Any thread.
 */
final class Lease {
    private final NanoClock clock;
    private volatile long validUntilNanos;

    /**
     * @param clock CLOCK_BOOTTIME
     */
    Lease(NanoClock clock) {
        this.clock = clock;
        validUntilNanos = clock.nanos();
    }

    long now() {
        return clock.nanos();
    }

    boolean valid() {
        return validUntilNanos - clock.nanos() > 0;
    }

    long remainingNanos() {
        return Math.max(0, validUntilNanos - clock.nanos());
    }

    void renewed(long sentNanos, long leaseMillis) {
        long until = sentNanos + leaseMillis * 980_000;
        if (until - validUntilNanos > 0) {
            validUntilNanos = until;
        }
    }
}
