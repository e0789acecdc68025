package io.cairn.dataserver.pg;

import io.cairn.common.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * The right to serve, granted by the MDS. It lasts from when the heartbeat that renewed it was
 * <em>sent</em>, on a clock that goes on while the machine sleeps, and ends 2 % early because
 * clocks drift. Any thread.
 *
 * <p>A lease is given under a map: until every loop has applied that map or a newer one, the lease
 * does not count. A server that was taken for dead, and comes back, may still have loops that know
 * nothing of what the metadata service has decided meanwhile.
 */
public final class Lease {
    private final NanoClock clock;
    private volatile long validUntilNanos;
    private @Nullable Offer offer;

    /** A lease whose map is not applied by every loop yet. */
    private record Offer(long untilNanos, long mapEpoch) {}

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
     * A heartbeat was answered. The lease counts from when {@link #applied} says so.
     *
     * @param sentNanos when it was sent, on the clock of the lease
     * @param mapEpoch of the map that the answer names
     */
    public synchronized void renewed(long sentNanos, long leaseMillis, long mapEpoch) {
        offer = new Offer(sentNanos + leaseMillis * 980_000, mapEpoch);
    }

    /** Every loop serves by the map of this epoch now, or by a newer one. */
    public synchronized void applied(long epoch) {
        Offer offered = offer;
        if (offered != null && epoch >= offered.mapEpoch) {
            offer = null;
            if (offered.untilNanos - validUntilNanos > 0) {
                validUntilNanos = offered.untilNanos;
            }
        }
    }
}
