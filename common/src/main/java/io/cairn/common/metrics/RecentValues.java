package io.cairn.common.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * Number and sum of all values since the start, and percentiles of the recent ones. Recording is
 * wait-free; any thread.
 *
 * <p>Percentiles cover the time since the last reading that was at least {@link #WINDOW_NANOS} ago,
 * and the window before that one. They are computed at most once a second and kept, so JMX and
 * Prometheus show the same numbers; while nothing is recorded they stay as they are.
 */
final class RecentValues {
    static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Percentiles of one moment. */
    record Snapshot(long takenNanos, long p50, long p99, long p999, long max) {}

    private final LongSupplier nanoClock;
    private final LongAdder number = new LongAdder();
    private final LongAdder sum = new LongAdder();
    private final AtomicLong highest = new AtomicLong();
    private volatile LogHistogram current = new LogHistogram();
    private LogHistogram previous = new LogHistogram();
    private long windowStartNanos;
    private Snapshot snapshot;

    RecentValues(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
        this.windowStartNanos = nanoClock.getAsLong();
        this.snapshot = new Snapshot(windowStartNanos - KEEP_NANOS, 0, 0, 0, 0);
    }

    void record(long value) {
        number.increment();
        sum.add(value);
        current.record(value);
        if (value > highest.get()) {
            highest.accumulateAndGet(value, Math::max);
        }
    }

    long number() {
        return number.sum();
    }

    long sum() {
        return sum.sum();
    }

    synchronized Snapshot snapshot() {
        long now = nanoClock.getAsLong();
        if (now - snapshot.takenNanos >= KEEP_NANOS) {
            if (now - windowStartNanos >= WINDOW_NANOS && !current.isEmpty()) {
                previous = current;
                current = new LogHistogram();
                windowStartNanos = now;
            }
            long[] totals = LogHistogram.newTotals();
            previous.addTo(totals);
            current.addTo(totals);
            snapshot =
                    new Snapshot(
                            now,
                            LogHistogram.percentile(totals, 0.5),
                            LogHistogram.percentile(totals, 0.99),
                            LogHistogram.percentile(totals, 0.999),
                            highest.get());
        }
        return snapshot;
    }
}
