package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CopyProgressTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final CopyProgress progress = new CopyProgress();

    @Test
    void howLongItTakesIsSaidOnceSomeWereCopied() {
        progress.left(100, 100_000L, 5 * SECOND);
        progress.copied(4, 6 * SECOND);
        progress.left(96, 96_000L, 7 * SECOND);
        assertThat(progress.latest()).as("too early").isEqualTo(new Copies(96, 96_000L, 0, -1));
        progress.copied(16, 20 * SECOND);
        progress.left(80, 80_000L, 25 * SECOND);
        assertThat(progress.latest()).isEqualTo(new Copies(80, 80_000L, 1.0, 80.0));
        progress.left(80, 80_000L, 25 * SECOND + CopyProgress.WINDOW_NANOS);
        assertThat(progress.latest()).as("none lately").isEqualTo(new Copies(80, 80_000L, 0, -1));
    }

    @Test
    void onlyTheLastMinutesCount() {
        progress.left(1000, 1000_000L, 0);
        progress.copied(500, SECOND);
        progress.copied(30, CopyProgress.WINDOW_NANOS);
        progress.left(470, 470_000L, CopyProgress.WINDOW_NANOS + 2 * SECOND);
        assertThat(progress.latest().perSecond()).isCloseTo(0.1, within(1e-9));
        assertThat(progress.latest().etaSeconds()).isCloseTo(4700, within(1e-6));
    }

    @Test
    void whatFollowsAPauseIsCountedAnew() {
        progress.copied(7, 0);
        progress.left(10, 10_000L, SECOND);
        progress.copied(10, 20 * SECOND);
        progress.left(0, 0_000L, 21 * SECOND);
        assertThat(progress.latest()).isEqualTo(new Copies(0, 0, 0, -1));
        progress.left(5, 5_000L, 100 * SECOND);
        progress.left(5, 5_000L, 120 * SECOND);
        assertThat(progress.latest()).isEqualTo(new Copies(5, 5_000L, 0, -1));
    }
}
