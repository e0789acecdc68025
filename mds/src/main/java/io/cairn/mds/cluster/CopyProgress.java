package io.cairn.mds.cluster;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/**
 * How many replicas are still to be copied, how fast that went over the last minutes, and how long
 * it will take. Without a clock. The control thread, except for {@link #latest}.
 */
final class CopyProgress {
    static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(5);

    /** Too little is known before to say how long it takes. */
    static final long LEAST_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Deque<Copied> window = new ArrayDeque<>();
    private long sinceNanos;
    private volatile Copies latest = Copies.NONE;

    private record Copied(long nanos, int replicas) {}

    /** On becoming leader. */
    void begin() {
        window.clear();
        latest = Copies.NONE;
    }

    /** Replicas have been brought up to date. */
    void copied(int replicas, long nowNanos) {
        if (latest.replicasLeft() > 0 && replicas > 0) {
            window.add(new Copied(nowNanos, replicas));
        }
    }

    /**
     * So many replicas are left.
     *
     * @param bytes that they have, about
     */
    void left(int replicas, long bytes, long nowNanos) {
        if (replicas == 0) {
            begin();
            return;
        }
        if (latest.replicasLeft() == 0) {
            sinceNanos = nowNanos;
        }
        while (!window.isEmpty() && nowNanos - window.getFirst().nanos > WINDOW_NANOS) {
            window.removeFirst();
        }
        long span = Math.min(nowNanos - sinceNanos, WINDOW_NANOS);
        int copied = window.stream().mapToInt(Copied::replicas).sum();
        double perSecond = span < LEAST_NANOS ? 0 : copied * 1e9 / span;
        latest = new Copies(replicas, bytes, perSecond, perSecond == 0 ? -1 : replicas / perSecond);
    }

    /** Any thread. */
    Copies latest() {
        return latest;
    }
}
