package io.cairn.mds.background;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class PaceTest {
    private final Pace pace = new Pace();
    private long millis = 5_000;

    @BeforeEach
    void begin() {
        pace.begin(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private int after(long pause, long perSecond) {
        millis += pause;
        return pace.allowed(perSecond, TimeUnit.MILLISECONDS.toNanos(millis));
    }

    @Test
    void noMoreThanTheLimitIsAllowedInASecond() {
        int done = 0;
        for (int i = 0; i < 20; i++) {
            int allowed = after(50, 30);
            pace.took(allowed);
            done += allowed;
        }
        assertThat(done).isBetween(29, 30);
    }

    @Test
    void onlyOneSecondIsSavedUp() {
        assertThat(after(60_000, 30)).isEqualTo(30);
    }

    @Test
    void whatWasDoneWithoutALimitIsNotOwedUnderOne() {
        assertThat(after(50, 0)).isEqualTo(Integer.MAX_VALUE);
        pace.took(4096);
        assertThat(after(1_000, 10)).isEqualTo(10);
        pace.took(10);
        assertThat(after(0, 0)).isEqualTo(Integer.MAX_VALUE);
        pace.took(4096);
        assertThat(after(500, 10)).isEqualTo(5);
    }

    @Test
    void aLowerLimitCountsAtOnce() {
        assertThat(after(1_000, 1_000)).isEqualTo(1_000);
        assertThat(after(0, 2)).isEqualTo(2);
    }
}
