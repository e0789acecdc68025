package io.cairn.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.store.SteppedStore;
import io.cairn.sim.ClusterSim.Fault;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs {@link ClusterSim} over seeds. {@code -Dcairn.test.seed=S} runs one, {@code
 * -Dcairn.test.seeds=N} that many from a random start.
 */
final class ClusterSimTest {
    private static final int SEEDS = Integer.getInteger("cairn.test.seeds", 300);
    private static final int STORE_SEEDS = Integer.getInteger("cairn.test.store.seeds", 4);

    /**
     * Where the search for a planted fault begins, if not at 1: with the seed that found it when it
     * was last looked. After a change of what is simulated it may be another one, further on.
     */
    private static final Map<Fault, Integer> FOUND_BY =
            Map.ofEntries(
                    Map.entry(Fault.READ_UNCOMMITTED, 480),
                    Map.entry(Fault.LEASE_UNDER_AN_OLD_MAP, 53),
                    Map.entry(Fault.LEASE_WHILE_MARKED_DOWN, 59),
                    Map.entry(Fault.COPY_OUT_OF_ORDER, 15),
                    Map.entry(Fault.INCOMPLETE_FORGOTTEN, 46),
                    Map.entry(Fault.SPLIT_FORGETS_ANSWERS, 56),
                    Map.entry(Fault.SPLIT_UNCOMMITTED, 78),
                    Map.entry(Fault.SPLIT_MEMBER_STAYS, 17),
                    Map.entry(Fault.MERGE_FORGETS_ANSWERS, 136),
                    Map.entry(Fault.MERGE_UNCOMMITTED, 1513),
                    Map.entry(Fault.MERGE_BEFORE_THE_END, 24),
                    Map.entry(Fault.MERGE_UNNOTICED, 33),
                    Map.entry(Fault.MERGE_NOT_AWAITED, 9),
                    Map.entry(Fault.MERGE_MEMBER_STAYS, 14),
                    Map.entry(Fault.MERGE_CUT_NOT_REPEATED, 44));

    @Test
    void everySeedKeepsThePromises() {
        for (long seed : TestSeed.several("ClusterSimTest", SEEDS).toArray()) {
            try (ClusterSim sim = new ClusterSim(seed, Fault.NONE)) {
                sim.run();
            } catch (AssertionError | RuntimeException e) {
                fail("-Dcairn.test.seed=" + seed + ": " + e.getMessage(), e);
            }
        }
    }

    /** The same on the stores and logs of data servers. */
    @Test
    void everySeedKeepsThePromisesOnStores(@TempDir Path directory) {
        for (long seed : TestSeed.several("ClusterSimTest", STORE_SEEDS).toArray()) {
            try {
                runOnStores(seed, Fault.NONE, directory);
            } catch (AssertionError | RuntimeException e) {
                fail("-Dcairn.test.seed=" + seed + " on stores: " + e.getMessage(), e);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"DURABLE_AT_APPEND", "COPY_LOST"})
    void aBrokenStoreIsDetected(Fault fault, @TempDir Path directory) {
        int detected = 0;
        for (long seed = 1; seed <= 30 && detected == 0; seed++) {
            try {
                runOnStores(seed, fault, directory);
            } catch (AssertionError e) {
                detected++;
            }
        }
        assertThat(detected).as("runs that failed under %s", fault).isPositive();
    }

    private static void runOnStores(long seed, Fault fault, Path directory) {
        Path home = directory.resolve("" + seed);
        IndexDatabases databases = SteppedStore.databases();
        Random random = new Random(seed);
        try (ClusterSim sim =
                new ClusterSim(
                        seed, fault, id -> storeDisk(id, home, random.nextLong(), databases))) {
            sim.run();
        } finally {
            databases.memory().close();
        }
    }

    private static StoreDisk storeDisk(int id, Path home, long seed, IndexDatabases databases) {
        Path directory = home.resolve("disk-" + id);
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new StoreDisk(id, new SteppedStore(directory, seed, databases));
    }

    @ParameterizedTest
    @EnumSource(value = Fault.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void aBrokenRuleIsDetected(Fault fault) {
        int detected = 0;
        int first = FOUND_BY.getOrDefault(fault, 1);
        for (long seed = first; seed < first + 3000 && detected == 0; seed++) {
            try (ClusterSim sim = new ClusterSim(seed, fault)) {
                sim.run();
            } catch (AssertionError e) {
                detected++;
            }
        }
        assertThat(detected).as("runs that failed under %s", fault).isPositive();
    }
}
