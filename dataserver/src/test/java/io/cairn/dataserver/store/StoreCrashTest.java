package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.disk.DiskOpenException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random work, crashes, comparison with the model. {@code -Dcairn.test.seed} repeats one run,
 * {@code -Dcairn.test.runs} does more of them.
 */
class StoreCrashTest {
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 12);
    private static final int CRASHES = 8;

    @TempDir Path directory;

    @Test
    void survivesPowerCutsAndKills() throws Exception {
        for (long seed : TestSeed.several("StoreCrashTest", RUNS).toArray()) {
            runReporting(seed, false);
        }
    }

    /** The proof that these tests can fail: a device that forgets what it was told to sync. */
    @Test
    void noticesADeviceThatDoesNotSync() throws Exception {
        int noticed = 0;
        for (int run = 0; run < 3; run++) {
            try {
                run(Files.createDirectory(directory.resolve("lying-" + run)), 1000 + run, true);
            } catch (AssertionError | DiskOpenException e) {
                noticed++;
            }
        }
        assertThat(noticed).isEqualTo(3);
    }

    private void runReporting(long seed, boolean lying) throws IOException {
        try {
            run(Files.createDirectory(directory.resolve("run-" + seed)), seed, lying);
        } catch (AssertionError | Exception e) {
            throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
        }
    }

    private static void run(Path dir, long seed, boolean lying) throws Exception {
        try (StoreHarness h = new StoreHarness(dir, seed)) {
            h.open();
            if (lying) {
                h.devices.forceDoesNothing();
            }
            for (int crash = 0; crash < CRASHES; crash++) {
                h.holdBack(
                        IntStream.range(0, StoreHarness.PGS)
                                .filter(pg -> h.random.nextInt(3) == 0)
                                .boxed()
                                .toArray(Integer[]::new));
                boolean power = lying || h.random.nextInt(4) > 0;
                if (h.random.nextInt(3) > 0) {
                    h.devices.cutPowerIn(1 + h.random.nextInt(150));
                }
                h.work(30 + h.random.nextInt(200));
                h.crash(power);
                h.open();
                assertThat(h.store().content().readBecause()).isNull();
                h.adoptRecovered();
                h.compareAll();
                DiskInvariants.check(h.store());
            }
            h.holdBack();
            h.relieve();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }
}
