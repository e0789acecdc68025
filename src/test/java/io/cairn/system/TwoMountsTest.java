package io.cairn.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Two clients of one cluster, each a mount: what one does is seen and respected by the other. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TwoMountsTest {
    private final Cluster cluster = Cluster.temporary();

    @BeforeAll
    void up() {
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void eachSeesWhatTheOtherClosedAndAnUnmountedOneIsGoneAtOnce() throws IOException {
        try (Mount second = cluster.mount("second")) {
            Path here = cluster.mnt().resolve("seen");
            Path there = second.mnt().resolve("seen");
            Files.writeString(here, "from the first");
            assertThat(there).hasContent("from the first");
            Files.writeString(there, "from the second mount");
            assertThat(here).hasContent("from the second mount");
            assertThat(cluster.status().path("mounts").findValuesAsString("description"))
                    .hasSize(2)
                    .anyMatch(d -> d.contains(":" + second.mnt() + ", process "));
        }
        assertThat(cluster.status().path("mounts").size()).as("mounts").isEqualTo(1);
    }
}
