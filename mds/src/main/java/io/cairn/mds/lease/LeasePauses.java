package io.cairn.mds.lease;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Keys that are not lent for a while, because lending them was of no use: somebody else has changed
 * them. Who alone does that may have them, as nobody asks him to forget. Keys that share a slot
 * pause together. Any thread.
 */
final class LeasePauses {
    private static final int SLOTS = 1 << 15;

    /** Stands for several. */
    private static final long NOBODY = 0;

    /** Until then, for all but that session. */
    private record Pause(long untilNanos, long maker) {}

    private final AtomicReferenceArray<@Nullable Pause> pauses = new AtomicReferenceArray<>(SLOTS);

    /**
     * @param maker session that has changed it
     */
    void pause(long key, long until, long maker, long nowNanos) {
        pauses.accumulateAndGet(
                ChangedKeys.slot(key, SLOTS),
                new Pause(until, maker),
                (before, next) -> {
                    if (before == null || next == null || before.untilNanos - nowNanos <= 0) {
                        return next;
                    }
                    return new Pause(
                            before.untilNanos - next.untilNanos > 0
                                    ? before.untilNanos
                                    : next.untilNanos,
                            before.maker == next.maker ? next.maker : NOBODY);
                });
    }

    boolean paused(long key, long session, long nowNanos) {
        @Nullable Pause pause = pauses.get(ChangedKeys.slot(key, SLOTS));
        return pause != null && pause.untilNanos - nowNanos > 0 && pause.maker != session;
    }
}
