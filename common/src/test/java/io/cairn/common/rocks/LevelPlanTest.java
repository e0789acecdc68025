package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class LevelPlanTest {
    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    /** The size that RocksDB is told has room for level 0 too, which it counts as one base. */
    private static LevelPlan plan(long baseMib, int levels, boolean exact, int pathUnits) {
        return new LevelPlan(baseMib * MIB, levels, exact, baseMib * pathUnits * MIB);
    }

    @Test
    void eightyGibWithMultiplierTenGive719Mib() {
        assertThat(LevelPlan.of(80 * GIB, 10, false)).isEqualTo(plan(719, 3, true, 112));
    }

    @Test
    void aFullManualCompactionNeedsFirstAndLastLevelTwice() {
        // 78 GiB / 212
        assertThat(LevelPlan.of(80 * GIB, 10, true)).isEqualTo(plan(376, 3, true, 112));
        // 1 GiB / 2, 18 GiB / 22, 2000 GiB / 2112
        assertThat(LevelPlan.of(3 * GIB, 10, true)).isEqualTo(plan(512, 1, true, 2));
        assertThat(LevelPlan.of(20 * GIB, 10, true)).isEqualTo(plan(837, 2, true, 12));
        assertThat(LevelPlan.of(2002 * GIB, 10, true)).isEqualTo(plan(969, 4, true, 1112));
    }

    @Test
    void theSeriesFollowsTheMultiplierInUse() {
        // 1 + 8 + 64 = 73
        assertThat(LevelPlan.of(52 * GIB, 8, false)).isEqualTo(plan(701, 3, true, 74));
    }

    @Test
    void withoutAFitTheLargestBaseWithTheMostLevelsIsUsed() {
        // 78 GiB: 73 units give 1094 MiB, 585 units give 136 MiB
        assertThat(LevelPlan.of(80 * GIB, 8, false)).isEqualTo(plan(1024, 3, false, 74));
    }

    @Test
    void aBaseThatIsGivenGetsTheLevelsThatFitBesideLevelZero() {
        // Of 78 GiB: 1 + 1 + 8 + 64 GiB, and 0.7 x 112 = 78.6 GiB.
        assertThat(LevelPlan.fixed(80 * GIB, GIB, 8).levels()).isEqualTo(3);
        assertThat(LevelPlan.fixed(80 * GIB, 719 * MIB, 10).levels()).isEqualTo(2);
        assertThat(LevelPlan.fixed(80 * GIB, 713 * MIB, 10).levels()).isEqualTo(3);
        assertThat(LevelPlan.fixed(3 * GIB, GIB, 8).levels()).isZero();
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
                // RocksDB itself counts the same levels into what it is told of the device.
                long path = plan.pathBytes();
                assertThat(path).isLessThanOrEqualTo(fast - GIB);
                assertThat(
                                LevelPlan.fixed(
                                                path + LevelPlan.LOG_BYTES,
                                                plan.baseBytes(),
                                                multiplier)
                                        .levels())
                        .isEqualTo(plan.levels());
            }
        }
        assertThatThrownBy(() -> LevelPlan.of(2 * GIB, 10, false))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
