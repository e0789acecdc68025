package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.dataserver.ground.DataServerMeter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClientLatencyTest {
    private static final long MILLI = 1_000_000L;

    private final Meters meters = Meters.unpublished();
    private final OperationTimer reads = meters.timer(DataServerMeter.PREPARE);
    private final OperationTimer backups = meters.timer(DataServerMeter.BACKUP);
    private long now = 77;
    private final ClientLatency latency =
            new ClientLatency(Duration.ofMillis(20), List.of(reads, backups), now);

    private boolean afterAWindow() {
        now += ClientLatency.WINDOW_NANOS;
        return latency.isTooLong(now);
    }

    @Test
    void isTheAverageOfOneWindow() {
        assertThat(afterAWindow()).as("nobody waits").isFalse();
        reads.record(10 * MILLI);
        reads.record(40 * MILLI);
        assertThat(latency.isTooLong(now + 1)).as("the window is not over").isFalse();
        assertThat(afterAWindow()).isTrue();
        assertThat(latency.isTooLong(now + 1)).as("up to the end of the next one").isTrue();
        reads.record(20 * MILLI);
        assertThat(afterAWindow()).isFalse();
    }

    @Test
    void isOverWhenNobodyWaitsAnyMore() {
        reads.record(40 * MILLI);
        assertThat(afterAWindow()).isTrue();
        assertThat(afterAWindow()).isFalse();
    }

    @Test
    void oneKindIsEnough() {
        for (int i = 0; i < 100; i++) {
            reads.record(MILLI);
        }
        backups.record(40 * MILLI);
        assertThat(afterAWindow()).isTrue();
    }

    /** Who copies slowly asks seldom. */
    @Test
    void isTheAverageSinceItWasAskedLast() {
        for (int i = 0; i < 100; i++) {
            now += ClientLatency.WINDOW_NANOS;
            reads.record(30 * MILLI);
        }
        assertThat(latency.isTooLong(now)).isTrue();
    }
}
