package io.cairn.client.move;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MovePaceTest {
    private static final long MIB = 1 << 20;

    @Test
    void piecesInFlightFitIntoTheMemoryOfTheProcess() {
        assertThat(new MovePace(0, 32, 192 * MIB).free()).isEqualTo(32);
        assertThat(new MovePace(0, 32, 32 * MIB).free()).isEqualTo(8);
        assertThat(new MovePace(0, 32, MIB).free()).as("one always").isEqualTo(1);
        assertThat(new MovePace(0, 256, Long.MAX_VALUE).free()).isEqualTo(256);
    }

    @Test
    void aPieceThatHasEndedLeavesRoom() {
        MovePace pace = new MovePace(0, 2, 32 * MIB);
        pace.begin(1);
        pace.begin(1);
        assertThat(pace.free()).isZero();
        pace.end();
        assertThat(pace.free()).isEqualTo(1);
    }
}
