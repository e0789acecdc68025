package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.disk.DiskOpenException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The same work with the power cut during its first call to a device, its second, and so on: also
 * in the middle of formatting and of recovery. {@code -Dcairn.test.stride=1} tries every call; a
 * larger one tries others at each run. {@code -Dcairn.test.seed} repeats a run.
 */
class StorePowerCutTest {
    private static final int STRIDE = Integer.getInteger("cairn.test.stride", 7);
    private static final int CALLS = 160;

    private final long seed = TestSeed.of("StorePowerCutTest");

    @TempDir Path directory;

    @Test
    void atEveryDeviceCall() throws Exception {
        int first = 1 + Math.floorMod(seed, STRIDE);
        System.out.printf(
                "StorePowerCutTest: calls %d, %d, ..., -Dcairn.test.seed=%d%n",
                first, first + STRIDE, seed);
        for (int call = first; call < CALLS; call += STRIDE) {
            Path dir = Files.createDirectory(directory.resolve("call-" + call));
            try (StoreHarness h = new StoreHarness(dir, seed)) {
                h.devices.cutPowerIn(call);
                if (opens(h)) {
                    h.work(120);
                    h.crash(true);
                } else {
                    h.devices.restorePower();
                }
                h.devices.cutPowerIn(call / 8 + 1);
                if (opens(h)) {
                    h.crash(true);
                } else {
                    h.devices.restorePower();
                }
                h.open();
                assertThat(h.store().content().readBecause()).isNull();
                h.adoptRecovered();
                h.compareAll();
                DiskInvariants.check(h.store());
            } catch (AssertionError | Exception e) {
                throw new AssertionError(
                        "power cut at call %d; repeat with -Dcairn.test.seed=%d"
                                .formatted(call, seed),
                        e);
            }
        }
    }

    private static boolean opens(StoreHarness h) throws Exception {
        try {
            h.open();
            return true;
        } catch (DiskOpenException e) {
            if (h.devices.isCut()) {
                return false;
            }
            throw e;
        }
    }
}
