package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class BackOffTest {
    private static BackOff backOff(int minMillis, int maxMillis, RandomGenerator random) {
        return new BackOff(Duration.ofMillis(minMillis), Duration.ofMillis(maxMillis), random);
    }

    @Test
    void doublesUpToTheMaximum() {
        BackOff backOff = backOff(5, 1000, new Random(1));
        long full = 5_000_000;
        for (int i = 1; i <= 20; i++) {
            assertThat(backOff.delayNanos(i)).isBetween(full / 2, full);
            full = Math.min(1_000_000_000, full * 2);
        }
    }

    @Test
    void everyRepetitionHasAWait() {
        BackOff backOff = backOff(5, 1000, new Random(1));
        for (int i : new int[] {Integer.MIN_VALUE, -1, 0, 1}) {
            assertThat(backOff.delayNanos(i)).as("%d", i).isBetween(2_500_000L, 5_000_000L);
        }
        assertThat(backOff.delayNanos(Integer.MAX_VALUE)).isBetween(500_000_000L, 1_000_000_000L);
    }

    @Test
    void aMinimumThatIsTheMaximumStays() {
        BackOff backOff = backOff(7, 7, new Random(1));
        for (int i = 1; i < 100; i++) {
            assertThat(backOff.delayNanos(i)).isBetween(3_500_000L, 7_000_000L);
        }
    }
}
