package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import java.util.Objects;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What a leader has said its clients may believe is over before a later leader serves: in random
 * runs, and in each of the faults that are planted it is seen that it is not.
 */
final class LeaseSafetyTest {
    private static final long LENGTH = 60_000 * LeaseSim.MILLI;

    @Test
    void noLeaderServesWhileAnEarlierOnesLeaseRuns() {
        long terms = 0;
        long early = 0;
        for (long seed : TestSeed.several("LeaseSafetyTest", 100).toArray()) {
            LeaseSim sim = new LeaseSim(seed, LeaseSim.Fault.NONE).run(LENGTH);
            assertThat(sim.violation()).as("seed " + seed).isNull();
            terms += sim.served();
            early += sim.shortWaits();
        }
        assertThat(terms).isPositive();
        assertThat(early).as("of %d terms served early", terms).isPositive();
    }

    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void aPlantedFaultIsSeen(LeaseSim.Fault fault) {
        long first = TestSeed.of("LeaseSafetyTest");
        assertThat(
                        LongStream.range(first, first + 2000)
                                .mapToObj(seed -> new LeaseSim(seed, fault).run(LENGTH).violation())
                                .anyMatch(Objects::nonNull))
                .isTrue();
    }
}
