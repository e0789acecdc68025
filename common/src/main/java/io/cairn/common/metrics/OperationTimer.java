package io.cairn.common.metrics;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Number, errors and latency of one kind of operation. Recording is wait-free; any thread. */
public final class OperationTimer {
    private final RecentValues nanos;
    private final LongAdder errors = new LongAdder();

    OperationTimer(LongSupplier nanoClock) {
        this.nanos = new RecentValues(nanoClock);
    }

    /** An operation that succeeded after {@code durationNanos}. */
    public void record(long durationNanos) {
        nanos.record(durationNanos);
    }

    /** An operation that failed after {@code durationNanos}; counted as an operation too. */
    public void recordError(long durationNanos) {
        errors.increment();
        nanos.record(durationNanos);
    }

    /** An operation that began at {@code startNanos} ({@link System#nanoTime}) and ends now. */
    public void recordSince(long startNanos, boolean succeeded) {
        long duration = System.nanoTime() - startNanos;
        if (succeeded) {
            record(duration);
        } else {
            recordError(duration);
        }
    }

    public long count() {
        return nanos.number();
    }

    /** What all of them took together. */
    public long totalNanos() {
        return nanos.sum();
    }

    public long errors() {
        return errors.sum();
    }

    RecentValues values() {
        return nanos;
    }
}
