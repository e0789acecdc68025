package io.cairn.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Disks that fill up: ENOSPC before the acknowledgement, nothing lost, deleting makes space. */
class FullDiskTest {
    @Test
    void fullDataServersRefuseWritesAndRecoverBySpaceFromDeletes() throws IOException {
        try (Cluster cluster = Cluster.temporary("--capacity", "512MiB")) {
            cluster.up();
            Path kept = cluster.mnt().resolve("kept");
            Shell.bash("head -c 20M /dev/urandom >'%s' && sync '%s'".formatted(kept, kept)).ok();
            String sum = sum(kept);
            Path big = cluster.mnt().resolve("big");
            Shell.Result fill =
                    Shell.run(
                            "dd", "if=/dev/zero", "of=" + big, "bs=1M", "count=2000", "conv=fsync");
            assertThat(fill.exitCode()).isNotZero();
            assertThat(fill.err()).contains("No space left on device");
            assertThat(sum(kept)).isEqualTo(sum);
            Files.delete(big);
            Path again = cluster.mnt().resolve("again");
            Awaitility.await("space after the delete")
                    .atMost(Duration.ofMinutes(1))
                    .until(() ->
                            Shell.run(
                                                    "dd",
                                                    "if=/dev/urandom",
                                                    "of=" + again,
                                                    "bs=1M",
                                                    "count=100",
                                                    "conv=fsync")
                                            .exitCode()
                                    == 0);
            String sumAgain = sum(again);
            cluster.kill9();
            cluster.up();
            assertThat(sum(kept)).isEqualTo(sum);
            assertThat(sum(again)).isEqualTo(sumAgain);
        }
    }

    private static String sum(Path file) {
        return Shell.run("sha256sum", file.toString()).ok().out();
    }
}
