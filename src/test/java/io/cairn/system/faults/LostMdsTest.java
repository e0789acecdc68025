package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One metadata server of three has lost its directory. */
@Tag("slow")
@Tag("part-8")
class LostMdsTest {
    private static final int CONFIGURATION = 3;

    @Test
    void itJoinsByAWordAndThenCanLead() throws Exception {
        try (Cluster cluster = Cluster.temporary("--mds", "3")) {
            cluster.up();
            Files.writeString(cluster.mnt().resolve("f"), "kept");
            cluster.down();
            Path state = cluster.state().resolve("mds-2/state");
            Shell.run("rm", "-r", state.toString()).ok();
            cluster.tryUp().saysOneLine(CONFIGURATION, "--join");
            Path config = cluster.state().resolve("mds-2/config.toml");
            Cluster.cairn("mds", "--config", config.toString())
                    .saysOneLine(CONFIGURATION, "--join");

            Cluster.cairn("mds", "--config", config.toString(), "--join", "--prepare").ok();
            cluster.up();
            assertThat(Files.readString(cluster.mnt().resolve("f"))).isEqualTo("kept");
            Awaitility.await("it votes again")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> !Files.readString(state.resolve("identity")).contains("word"));
        }
    }
}
