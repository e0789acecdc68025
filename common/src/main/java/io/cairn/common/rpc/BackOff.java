package io.cairn.common.rpc;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;

/**
 * How long to wait before something that failed is tried again: doubling from the minimum to the
 * maximum, each wait shortened at random by up to half, so that many clients cut off together do
 * not return together. Immutable; any thread.
 */
public final class BackOff {
    /** Of requests that a server refused for now, or did not answer. */
    public static final BackOff REQUESTS =
            new BackOff(Duration.ofMillis(2), Duration.ofMillis(512), anyThread());

    /** Of rounds in search of a leader: an application waits for the end of this one. */
    public static final BackOff SEARCH =
            new BackOff(Duration.ofMillis(2), Duration.ofMillis(200), anyThread());

    private final long minNanos;
    private final long maxNanos;
    private final int doublings;
    private final RandomGenerator random;

    /**
     * @param min more than zero
     * @param max at least min
     * @param random used by every thread that asks
     */
    public BackOff(Duration min, Duration max, RandomGenerator random) {
        this.minNanos = min.toNanos();
        this.maxNanos = max.toNanos();
        this.random = random;
        doublings = Long.SIZE - Long.numberOfLeadingZeros(maxNanos / minNanos);
    }

    /** Randomness that every thread may use. */
    public static RandomGenerator anyThread() {
        return () -> ThreadLocalRandom.current().nextLong();
    }

    /**
     * The wait before a repetition.
     *
     * @param repetition counted from 1; less counts as 1
     */
    public long delayNanos(int repetition) {
        int doubled = Math.clamp(repetition - 1L, 0, doublings);
        long full = Math.min(maxNanos, minNanos << doubled);
        return full - random.nextLong(full / 2 + 1);
    }
}
