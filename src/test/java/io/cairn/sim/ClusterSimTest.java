package io.cairn.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.cairn.sim.ClusterSim.Fault;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs {@link ClusterSim} over seeds. {@code -Dcairn.test.seed=S} runs one, {@code
 * -Dcairn.test.seeds=N} that many from a random start.
 */
final class ClusterSimTest {
    private static final int SEEDS = Integer.getInteger("cairn.test.seeds", 300);

    @Test
    void everySeedKeepsThePromises() {
        Long only = Long.getLong("cairn.test.seed");
        long first = only != null ? only : System.nanoTime();
        int count = only != null ? 1 : SEEDS;
        System.out.println("cluster seeds " + first + " .. " + (first + count - 1));
        for (long seed = first; seed < first + count; seed++) {
            try {
                new ClusterSim(seed, Fault.NONE).run();
            } catch (AssertionError | RuntimeException e) {
                fail("-Dcairn.test.seed=" + seed + ": " + e.getMessage(), e);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Fault.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void aBrokenRuleIsDetected(Fault fault) {
        int detected = 0;
        for (long seed = 1; seed <= 3000 && detected == 0; seed++) {
            try {
                new ClusterSim(seed, fault).run();
            } catch (AssertionError e) {
                detected++;
            }
        }
        assertThat(detected).as("runs that failed under %s", fault).isPositive();
    }
}
