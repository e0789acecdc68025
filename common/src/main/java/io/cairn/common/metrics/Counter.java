package io.cairn.common.metrics;

import java.util.concurrent.atomic.LongAdder;

/** A number of events that only grows. Recording is wait-free and without garbage; any thread. */
public final class Counter {
    private final LongAdder number = new LongAdder();

    Counter() {}

    public void increment() {
        number.increment();
    }

    /**
     * @param by not negative
     */
    public void increment(long by) {
        number.add(by);
    }

    public long count() {
        return number.sum();
    }
}
