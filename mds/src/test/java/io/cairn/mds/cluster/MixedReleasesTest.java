package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class MixedReleasesTest {
    private final Map<String, String> servers = new LinkedHashMap<>();
    private long now = Long.MAX_VALUE - TimeUnit.HOURS.toNanos(30); // clocks wrap

    private final MixedReleases releases =
            new MixedReleases(() -> servers, () -> now, TimeUnit.HOURS.toNanos(24));

    @BeforeEach
    void begin() {
        releases.reset();
        run("0.1.0", "mds-1", "mds-2", "mds-3", "data-1", "data-2");
    }

    private void run(String release, String... parts) {
        for (String part : parts) {
            servers.put(part, release);
        }
    }

    private void after(long hours) {
        now += TimeUnit.HOURS.toNanos(hours);
        releases.tick();
    }

    @Test
    void oneReleaseIsNeverAWarning() {
        after(0);
        after(100);
        assertThat(releases.warnings()).isEmpty();
    }

    @Test
    void aServerLeftBehindIsNamedOnceTheTimeForAnUpgradeIsOver() {
        after(0);
        run("0.2.0", "mds-1", "mds-2", "mds-3", "data-1");
        after(100); // first seen now
        after(23);
        assertThat(releases.warnings()).isEmpty();
        after(1);
        assertThat(releases.warnings())
                .containsExactly(
                        "servers have run different releases for 24 h: 0.2.0 on mds-1, mds-2, mds-3,"
                                + " data-1; 0.1.0 on data-2: upgrade those that were left behind");
        after(12);
        assertThat(releases.warnings()).singleElement().asString().contains("for 36 h");
        run("0.2.0", "data-2");
        after(1);
        assertThat(releases.warnings()).isEmpty();
    }

    @Test
    void theNextUpgradeHasItsOwnTime() {
        run("0.2.0", "mds-1");
        after(0);
        after(23);
        run("0.1.0", "mds-1");
        after(1);
        run("0.2.0", "mds-1");
        after(1);
        after(23);
        assertThat(releases.warnings()).isEmpty();
        after(1);
        assertThat(releases.warnings()).hasSize(1);
    }

    @Test
    void aServerThatWasNotHeardOfIsOfNoRelease() {
        run("", "data-2");
        after(0);
        after(100);
        assertThat(releases.warnings()).isEmpty();
    }

    @Test
    void aNewLeaderCountsAnew() {
        run("0.2.0", "mds-1");
        after(0);
        after(24);
        assertThat(releases.warnings()).hasSize(1);
        releases.reset();
        assertThat(releases.warnings()).isEmpty();
        after(1);
        after(23);
        assertThat(releases.warnings()).isEmpty();
        after(1);
        assertThat(releases.warnings()).hasSize(1);
    }

    @Test
    void itLooksOnceASecond() {
        after(0);
        run("0.2.0", "mds-1");
        now += 1;
        releases.tick(); // too early to see it
        after(24); // first seen now
        assertThat(releases.warnings()).isEmpty();
        after(24);
        assertThat(releases.warnings()).hasSize(1);
    }
}
