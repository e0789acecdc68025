package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.replication.ReplicationSim.Fault;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs {@link ReplicationSim} over seeds. {@code -Dcairn.test.seed=S} runs one, {@code
 * -Dcairn.test.seeds=N} that many from a random start.
 */
class ReplicationSimTest {
    private static final int SEEDS = Integer.getInteger("cairn.test.seeds", 250);

    @Test
    void everySeedKeepsThePromises() {
        TestSeed.several("ReplicationSimTest", SEEDS)
                .forEach(seed -> {
                    try {
                        new ReplicationSim(seed, Fault.NONE).run();
                    } catch (AssertionError | RuntimeException e) {
                        fail("-Dcairn.test.seed=" + seed + ": " + e.getMessage(), e);
                    }
                });
    }

    @ParameterizedTest
    @EnumSource(value = Fault.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void aBrokenEnvironmentIsDetected(Fault fault) {
        int detected = 0;
        for (long seed = 1; seed <= 3000 && detected == 0; seed++) {
            try {
                new ReplicationSim(seed, fault).run();
            } catch (AssertionError e) {
                detected++;
            }
        }
        assertThat(detected).as("runs that failed under %s", fault).isPositive();
    }
}
