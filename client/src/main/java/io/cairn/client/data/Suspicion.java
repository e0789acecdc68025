package io.cairn.client.data;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Asks for the newest map when a data server does not answer: the metadata service may have
 * replaced it. At most one question in an interval, whoever is silent and however many wait for it.
 * Any thread.
 */
final class Suspicion {
    private final long intervalNanos;
    private final Runnable refreshMap;
    private final AtomicLong askedNanos;

    Suspicion(long intervalNanos, Runnable refreshMap, long now) {
        this.intervalNanos = intervalNanos;
        this.refreshMap = refreshMap;
        askedNanos = new AtomicLong(now - intervalNanos);
    }

    void raise(long now) {
        long last = askedNanos.get();
        if (now - last >= intervalNanos && askedNanos.compareAndSet(last, now)) {
            refreshMap.run();
        }
    }
}
