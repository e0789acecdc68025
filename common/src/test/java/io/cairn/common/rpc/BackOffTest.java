package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class BackOffTest {
    @Test
    void doublesUpToTheMaximumAndBeginsAnew() {
        var backOff = new BackOff(5, 1000, new Random(1));
        long full = 5_000_000;
        for (int i = 0; i < 20; i++) {
            assertThat(backOff.next()).isBetween(full / 2, full);
            full = Math.min(1_000_000_000, full * 2);
        }
        backOff.reset();
        assertThat(backOff.next()).isBetween(2_500_000L, 5_000_000L);
    }
}
