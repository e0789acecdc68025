package io.cairn.dataserver.store;

import io.cairn.dataserver.disk.DiskOpenException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The same work with the power cut during its first call to a device, its second, and so on: also
 * in the middle of formatting and of recovery. {@code -Dcairn.test.stride=1} tries every call.
 */
class StorePowerCutTest {
    private static final int STRIDE = Integer.getInteger("cairn.test.stride", 7);
    private static final int CALLS = 160;

    @TempDir Path directory;

    @Test
    void atEveryDeviceCall() throws Exception {
        for (int call = 1; call < CALLS; call += STRIDE) {
            Path dir = Files.createDirectory(directory.resolve("call-" + call));
            try (StoreHarness h = new StoreHarness(dir, 42)) {
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
                h.adoptRecovered();
                h.compareAll();
                DiskInvariants.check(h.store());
            } catch (AssertionError | Exception e) {
                throw new AssertionError("power cut at call " + call, e);
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
