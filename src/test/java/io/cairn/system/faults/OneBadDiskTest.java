package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * A server with a disk that does not open serves its other disk, and the status says what to do.
 */
class OneBadDiskTest {
    private static final String SECOND_DISK =
            """

            [[disk]]
            data = "disk-2/data"
            wal = "disk-2/wal"
            index = "disk-2/index"
            capacity = "64MiB"
            wal_size = "64MiB"
            wal_segment = "16MiB"
            """;

    @Test
    void aDiskThatIsNotMountedIsOutAndTheOtherServes() throws IOException {
        try (Cluster cluster = Cluster.temporary("--capacity", "1GiB", "--wal-size", "64MiB")) {
            cluster.up();
            cluster.down();
            cluster.configure("data-1", c -> c + SECOND_DISK);
            cluster.up();
            Path file = cluster.mnt().resolve("file");
            Shell.bash("head -c 5M /dev/urandom >'%s' && sync '%s'".formatted(file, file)).ok();
            String sum = Shell.run("sha256sum", file.toString()).ok().out();
            cluster.down();

            Path disk = cluster.state().resolve("data-1/disk-2");
            Path away = cluster.state().resolve("data-1/not-mounted");
            Files.move(disk, away);
            cluster.up();
            Awaitility.await("the status says so")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> saysOut(cluster));
            assertThat(cluster.status().path("health").asString()).isEqualTo("degraded");
            assertThat(Shell.run("sha256sum", file.toString()).ok().out()).isEqualTo(sum);
            Shell.bash("echo more >>'%s' && sync '%s'".formatted(file, file)).ok();
            assertThat(disk).as("no new disk in its place").doesNotExist();

            cluster.down();
            Files.move(away, disk);
            cluster.up();
            Awaitility.await("it serves again")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !saysOut(cluster));
        }
    }

    private static boolean saysOut(Cluster cluster) {
        String warnings = cluster.status().path("warnings").toString();
        return warnings.contains("disk-2/data) is out of service")
                && warnings.contains("mount its file system")
                && warnings.contains("restart this data server");
    }
}
