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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
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
                    Map.entry(Fault.READ_UNCOMMITTED, 281),
                    Map.entry(Fault.READ_IN_PARTS, 23),
                    Map.entry(Fault.LEASE_UNDER_AN_OLD_MAP, 101),
                    Map.entry(Fault.LEASE_WHILE_MARKED_DOWN, 47),
                    Map.entry(Fault.INCOMPLETE_FORGOTTEN, 26),
                    Map.entry(Fault.UNCOMMITTED_APPLIED, 764),
                    Map.entry(Fault.COPIED_TAKEN_FOR_ALL, 445),
                    Map.entry(Fault.COPIED_TOLD_EARLY, 11),
                    Map.entry(Fault.SPLIT_UNCOMMITTED, 150),
                    Map.entry(Fault.SPLIT_MEMBER_STAYS, 41),
                    Map.entry(Fault.MERGE_FORGETS_ANSWERS, 45),
                    Map.entry(Fault.MERGE_UNCOMMITTED, 220),
                    Map.entry(Fault.MERGE_BEFORE_THE_END, 73),
                    Map.entry(Fault.MERGE_UNNOTICED, 27),
                    Map.entry(Fault.MERGE_NOT_AWAITED, 24),
                    Map.entry(Fault.MERGE_MEMBER_STAYS, 18),
                    Map.entry(Fault.MERGE_CUT_NOT_REPEATED, 172));

    /** Of the length of other runs. */
    private static final int LONG = 6;

    /** Elements of one kind that come and go. */
    private static final long NOISE = 64;

    /**
     * They have bounds that no run comes to: 64 epochs of a replica, 12,288 sessions, and room for
     * the operations that may be in flight, which once made stays.
     */
    private static final Set<String> BOUNDED =
            Set.of(
                    "InFlightRing.slots",
                    "PgLog.starts",
                    "PgHistory.epochStarts",
                    "SessionWindows.windows",
                    "Window.numbers",
                    "Window.sequences");

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
            names = {
                "DURABLE_AT_APPEND",
                "COPY_LOST",
                "BLOCKS_LEFT_OUT",
                "REPAIR_OF_ANY_VERSION",
                "REPAIR_OMITTED"
            })
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
                        seed,
                        fault,
                        id -> storeDisk(id, home, random.nextLong(), databases, fault),
                        1)) {
            sim.run();
        } finally {
            databases.memory().close();
        }
    }

    @Test
    void aLongRunHoldsNoMoreThanAShortOne() {
        long seed = TestSeed.of("ClusterSimTest");
        assertThat(grown(seed, Fault.NONE)).as("-Dcairn.test.seed=" + seed).isEmpty();
    }

    @Test
    void whatGrowsIsDetected() {
        assertThat(grown(1, Fault.SESSIONS_NOT_FORGOTTEN)).containsKey("ClusterMap.refused");
    }

    /**
     * What servers hold more of at every moment of the last quarter of a long run than they ever
     * did in the first: what comes and goes goes at some moment.
     */
    private static Map<String, Long> grown(long seed, Fault fault) {
        List<Map<String, Long>> seconds = new ArrayList<>();
        try (ClusterSim sim = new ClusterSim(seed, fault, id -> new SimDisk(id, fault), LONG)) {
            sim.watch(seconds::add);
            sim.run();
        }
        int quarter = seconds.size() / 4;
        Map<String, Long> first = new TreeMap<>();
        seconds.subList(0, quarter)
                .forEach(held -> held.forEach((field, n) -> first.merge(field, n, Math::max)));
        List<Map<String, Long>> end = seconds.subList(seconds.size() - quarter, seconds.size());
        Map<String, Long> last = new TreeMap<>(end.getFirst());
        end.forEach(held -> last.replaceAll((f, n) -> Math.min(n, held.getOrDefault(f, 0L))));
        last.keySet().removeAll(BOUNDED);
        last.entrySet()
                .removeIf(e -> e.getValue() <= 1.5 * first.getOrDefault(e.getKey(), 0L) + NOISE);
        return last;
    }

    private static StoreDisk storeDisk(
            int id, Path home, long seed, IndexDatabases databases, Fault fault) {
        Path directory = home.resolve("disk-" + id);
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new StoreDisk(id, new SteppedStore(directory, seed, databases), fault);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {
                "NONE",
                "BLOCKS_LEFT_OUT",
                "REPAIR_OF_ANY_VERSION",
                "REPAIR_OMITTED",
                "SESSIONS_NOT_FORGOTTEN"
            })
    void aBrokenRuleIsDetected(Fault fault) {
        int detected = 0;
        int first = FOUND_BY.getOrDefault(fault, 1);
        for (long seed = first; seed < first + 3000 && detected == 0; seed++) {
            try (ClusterSim sim = new ClusterSim(seed, fault)) {
                sim.run();
            } catch (AssertionError | IllegalStateException e) {
                detected++;
            }
        }
        assertThat(detected).as("runs that failed under %s", fault).isPositive();
    }
}
