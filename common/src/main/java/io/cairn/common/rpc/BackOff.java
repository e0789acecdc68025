package io.cairn.common.rpc;

import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * Pauses between connection attempts: doubling from the minimum to the maximum, each shortened at
 * random by up to half so that many clients of a server that returns do not come at once.
 */
final class BackOff {
    private final long minNanos;
    private final long maxNanos;
    private final RandomGenerator random;
    private long nextNanos;

    BackOff(int minMillis, int maxMillis, RandomGenerator random) {
        this.minNanos = TimeUnit.MILLISECONDS.toNanos(minMillis);
        this.maxNanos = TimeUnit.MILLISECONDS.toNanos(maxMillis);
        this.random = random;
        this.nextNanos = minNanos;
    }

    long next() {
        long full = nextNanos;
        nextNanos = Math.min(maxNanos, full * 2);
        return full - random.nextLong(full / 2 + 1);
    }

    void reset() {
        nextNanos = minNanos;
    }
}
