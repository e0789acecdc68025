package io.cairn.common.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class BootClockTest {
    @Test
    void neverGoesBack() {
        long last = BootClock.INSTANCE.nanos();
        for (int i = 0; i < 100_000; i++) {
            long now = BootClock.INSTANCE.nanos();
            assertThat(now - last).isNotNegative();
            last = now;
        }
    }

    /** The kernel's own word for the same clock, in hundredths of a second. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void isTheUptimeIncludingSuspend() throws Exception {
        String uptime = Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0];
        double seconds = BootClock.INSTANCE.nanos() / 1e9;
        assertThat(seconds).isCloseTo(Double.parseDouble(uptime), within(60.0));
    }

    @Test
    void testsOwnTheTime() {
        var clock = new ManualClock();
        clock.advance(Duration.ofSeconds(2));
        assertThat(clock.nanos()).isEqualTo(2_000_000_000L);
    }
}
