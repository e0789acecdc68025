package io.cairn.dataserver.pg;

import io.cairn.common.time.NanoClock;

/**
 * The right to serve, granted by the MDS. It lasts from when the heartbeat that renewed it was
 * <em>sent</em>, on a clock that goes on while the machine sleeps, and ends 2 % early because
 * clocks drift. Any thread.
 */
public final class Lease {
    private final NanoClock clock;
    private volatile long validUntilNanos;

    /**
     * @param clock CLOCK_BOOTTIME
     */
    public Lease(NanoClock clock) {
        this.clock = clock;
        validUntilNanos = clock.nanos();
    }

    public long now() {
        return clock.nanos();
    }

    public boolean valid() {
        return validUntilNanos - clock.nanos() > 0;
    }

    public long remainingNanos() {
        return Math.max(0, validUntilNanos - clock.nanos());
    }

    public void renewed(long sentNanos, long leaseMillis) {
        long until = sentNanos + leaseMillis * 980_000;
        if (until - validUntilNanos > 0) {
            validUntilNanos = until;
        }
    }
}
