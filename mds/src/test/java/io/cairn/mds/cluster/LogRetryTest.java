package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LogRetryTest {
    private static final long MOST = TimeUnit.SECONDS.toNanos(30);

    private final LogRetry retry = new LogRetry("a test", Duration.ofNanos(MOST));

    @Test
    void whatFailsAgainAndAgainIsTriedAtGrowingIntervals() {
        long now = Long.MAX_VALUE - 5; // clocks wrap
        assertThat(retry.isDue(now)).isTrue();
        int tries = 0;
        for (long end = 60 * 60 * 10; end > 0; end--) { // an hour of tenths of a second
            if (retry.isDue(now)) {
                retry.failed(new IllegalStateException("refused"), now);
                assertThat(retry.isDue(now)).isFalse();
                tries++;
            }
            now += TimeUnit.MILLISECONDS.toNanos(100);
        }
        assertThat(tries).isBetween(100, 140);
    }

    @Test
    void aSuccessEndsThat() {
        for (int i = 0; i < 20; i++) {
            retry.failed(new IllegalStateException("refused"), 0);
        }
        assertThat(retry.isDue(MOST - 1)).isFalse();
        assertThat(retry.isDue(MOST)).isTrue();
        retry.succeeded();
        assertThat(retry.isDue(0)).isTrue();
        retry.failed(new IllegalStateException("refused"), 0);
        assertThat(retry.isDue(TimeUnit.MILLISECONDS.toNanos(250))).isTrue();
    }
}
