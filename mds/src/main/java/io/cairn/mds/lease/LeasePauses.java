package io.cairn.mds.lease;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Keys that are not lent for a while, because lending them was of no use: somebody else has changed
 * them. Keys that share a slot pause together. Any thread.
 */
final class LeasePauses {
    private static final int SLOTS = 1 << 15;

    private final AtomicLongArray untilNanos = new AtomicLongArray(SLOTS);

    LeasePauses(long nowNanos) {
        for (int i = 0; i < SLOTS; i++) {
            untilNanos.set(i, nowNanos);
        }
    }

    void pause(long key, long until) {
        untilNanos.accumulateAndGet(
                ChangedKeys.slot(key, SLOTS), until, (a, b) -> b - a > 0 ? b : a);
    }

    boolean paused(long key, long nowNanos) {
        return untilNanos.get(ChangedKeys.slot(key, SLOTS)) - nowNanos > 0;
    }
}
