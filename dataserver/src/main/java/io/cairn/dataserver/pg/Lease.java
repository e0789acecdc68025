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

    /** Now on the clock of the lease. */
    public long now() {
        return clock.nanos();
    }

    /** Whether this server may serve now. */
    public boolean valid() {
        return validUntilNanos - clock.nanos() > 0;
    }

    /** 0 when it has ended. */
    public long remainingNanos() {
        return Math.max(0, validUntilNanos - clock.nanos());
    }

    /**
     * A heartbeat was answered.
     *
     * @param sentNanos when it was sent, on the clock of the lease
     */
    public void renewed(long sentNanos, long leaseMillis) {
        long until = sentNanos + leaseMillis * 980_000;
        if (until - validUntilNanos > 0) {
            validUntilNanos = until;
        }
    }
}
