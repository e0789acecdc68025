package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LocalDiskTest {
    @Test
    void writersAreSlowedSmoothlyAsTheLogFills() {
        assertThat(LocalDisk.delayNanos(0)).isZero();
        assertThat(LocalDisk.delayNanos(0.6)).isZero();
        long before = 0;
        for (int percent = 61; percent <= 100; percent++) {
            long delay = LocalDisk.delayNanos(percent / 100.0);
            assertThat(delay).isGreaterThan(before);
            before = delay;
        }
    }
}
