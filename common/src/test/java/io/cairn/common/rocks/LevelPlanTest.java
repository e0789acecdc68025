package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class LevelPlanTest {
    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    @Test
    void eightyGibWithMultiplierTenGive719Mib() {
        assertThat(LevelPlan.of(80 * GIB, 10, false)).isEqualTo(new LevelPlan(719 * MIB, 3, true));
    }

    @Test
    void aFullManualCompactionNeedsFirstAndLastLevelTwice() {
        // 78 GiB / 212
        assertThat(LevelPlan.of(80 * GIB, 10, true)).isEqualTo(new LevelPlan(376 * MIB, 3, true));
        // 1 GiB / 2, 18 GiB / 22, 2000 GiB / 2112
        assertThat(LevelPlan.of(3 * GIB, 10, true)).isEqualTo(new LevelPlan(512 * MIB, 1, true));
        assertThat(LevelPlan.of(20 * GIB, 10, true)).isEqualTo(new LevelPlan(837 * MIB, 2, true));
        assertThat(LevelPlan.of(2002 * GIB, 10, true)).isEqualTo(new LevelPlan(969 * MIB, 4, true));
    }

    @Test
    void theSeriesFollowsTheMultiplierInUse() {
        // 1 + 8 + 64 = 73
        assertThat(LevelPlan.of(52 * GIB, 8, false)).isEqualTo(new LevelPlan(701 * MIB, 3, true));
    }

    @Test
    void withoutAFitTheLargestBaseWithTheMostLevelsIsUsed() {
        // 78 GiB: 73 units give 1094 MiB, 585 units give 136 MiB
        assertThat(LevelPlan.of(80 * GIB, 8, false)).isEqualTo(new LevelPlan(1024 * MIB, 3, false));
    }

    @Test
    void everySizeFromTheSmallestHasAPlanThatFits() {
        for (long fast = LevelPlan.MIN_FAST_BYTES; fast < 4096 * GIB; fast += fast / 37) {
            for (int multiplier : new int[] {8, 10}) {
                LevelPlan plan = LevelPlan.of(fast, multiplier, false);
                double levels = (Math.pow(multiplier, plan.levels()) - 1) / (multiplier - 1);
                assertThat(plan.baseBytes()).isBetween(256 * MIB, 1024 * MIB);
                assertThat(plan.baseBytes() * levels)
                        .isLessThanOrEqualTo((double) (fast - LevelPlan.LOG_BYTES));
                assertThat(LevelPlan.of(fast, multiplier, true).levels()).isPositive();
            }
        }
        assertThatThrownBy(() -> LevelPlan.of(2 * GIB, 10, false))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
