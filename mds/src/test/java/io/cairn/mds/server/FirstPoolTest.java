package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.Pool;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pool that a new cluster has: as {@code [pool]} says, or one that grows with its disks. */
class FirstPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir Path directory;

    private Pool pool(String settings) throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, settings)) {
            await().atMost(PATIENCE).until(() -> group.status().getMap().getPoolsCount() == 1);
            return group.status().getMap().getPools(0);
        }
    }

    @Test
    void growsWithItsDisks() throws Exception {
        Pool pool = pool("");
        assertThat(pool.getPgCount()).isEqualTo(128);
        assertThat(pool.getPgAuto()).isTrue();
    }

    @Test
    void keepsTheNumberThatIsConfigured() throws Exception {
        Pool pool = pool("[pool]\npg_count = 16\n");
        assertThat(pool.getPgCount()).isEqualTo(16);
        assertThat(pool.getPgAuto()).isFalse();
    }
}
