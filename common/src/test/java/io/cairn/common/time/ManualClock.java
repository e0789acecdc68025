package io.cairn.common.time;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that stands still until a test moves it. Any thread. */
public final class ManualClock implements NanoClock {
    private final AtomicLong now = new AtomicLong();

    @Override
    public long nanos() {
        return now.get();
    }

    public void advance(Duration time) {
        now.addAndGet(time.toNanos());
    }
}
