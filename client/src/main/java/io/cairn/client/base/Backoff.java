package io.cairn.client.base;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * How long to wait before the n-th repetition of a request: doubling from 2 ms to half a second,
 * less up to a half at random so that clients cut off together do not return together.
 */
public final class Backoff {
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final int LAST_DOUBLING = 8;

    private Backoff() {}

    /** The delay before repetition number {@code attempt}, counted from 1. */
    public static long delayNanos(int attempt) {
        long full = FIRST_NANOS << Math.min(Math.max(attempt, 1) - 1, LAST_DOUBLING);
        return full - ThreadLocalRandom.current().nextLong(full / 2);
    }
}
