package io.cairn.common.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LogHistogramTest {
    @Test
    void bucketsFollowOneAnotherWithoutGapOrOverlap() {
        for (int bucket = 0; bucket < LogHistogram.newTotals().length - 1; bucket++) {
            long highest = LogHistogram.highestOf(bucket);
            assertThat(LogHistogram.bucketOf(highest)).isEqualTo(bucket);
            assertThat(LogHistogram.bucketOf(highest + 1)).isEqualTo(bucket + 1);
        }
        assertThat(LogHistogram.bucketOf(Long.MAX_VALUE))
                .isEqualTo(LogHistogram.newTotals().length - 1);
    }

    @Test
    void percentilesAreRightToASixteenth() {
        LogHistogram histogram = new LogHistogram();
        for (int i = 1; i <= 100_000; i++) {
            histogram.record(i);
        }
        long[] totals = LogHistogram.newTotals();
        histogram.addTo(totals);
        for (double fraction : new double[] {0.001, 0.5, 0.99, 0.999}) {
            long exact = Math.round(fraction * 100_000);
            assertThat(LogHistogram.percentile(totals, fraction))
                    .isBetween(exact, exact + exact / 16 + 1);
        }
        assertThat(LogHistogram.percentile(LogHistogram.newTotals(), 0.99)).isZero();
    }
}
