package io.cairn.common.metrics;

import java.util.function.LongSupplier;

/** Number, sum and percentiles of sizes or counts. Recording is wait-free; any thread. */
public final class Distribution {
    private final RecentValues values;

    Distribution(LongSupplier nanoClock) {
        this.values = new RecentValues(nanoClock);
    }

    public void record(long value) {
        values.record(value);
    }

    public long count() {
        return values.number();
    }

    RecentValues values() {
        return values;
    }
}
