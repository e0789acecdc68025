package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** A mount is killed after writes that nobody synced: what it wrote shows in no hole. */
class DeadClientTest {
    private static final int MIB = 1 << 20;
    private static final String MDS = "mds-1";

    @Test
    void whatADeadMountWroteBeyondTheSizeReadsAsZeros() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up().down();
            cluster.configure(
                    MDS, c -> c + "\n[sessions]\nrenew_interval = \"500ms\"\nexpiry = \"5s\"\n");
            cluster.up();
            FileChannel grown;
            FileChannel holed;
            try (Mount victim = publishingLate(cluster)) {
                grown = write(victim.mnt().resolve("grown"));
                holed = write(victim.mnt().resolve("holed"));
                victim.kill();
            }
            abandon(grown);
            abandon(holed);
            Path first = cluster.mnt().resolve("grown");
            Path second = cluster.mnt().resolve("holed");
            assertThat(Files.size(first)).as("nothing was published").isZero();
            assertThat(Files.size(second)).as("nothing was published").isZero();
            Awaitility.await("the dead mount's session is over")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> sessions(cluster) == 1);

            Shell.run("truncate", "-s", "" + MIB, first.toString()).ok();
            assertThat(nonZeros(Files.readAllBytes(first))).as("grown by truncate").isZero();
            try (FileChannel channel =
                    FileChannel.open(
                            second,
                            StandardOpenOption.WRITE,
                            StandardOpenOption.TRUNCATE_EXISTING)) {
                channel.write(ByteBuffer.wrap(new byte[] {'x'}), 2 * MIB);
            }
            byte[] content = Files.readAllBytes(second);
            assertThat(content).hasSize(2 * MIB + 1).endsWith('x');
            assertThat(nonZeros(content)).as("but for the byte at the end").isEqualTo(1);
        }
    }

    private static int sessions(Cluster cluster) {
        return cluster.status().path("mounts").size();
    }

    /** A mount that publishes sizes only when it must. */
    private static Mount publishingLate(Cluster cluster) throws IOException {
        Path config =
                Files.writeString(
                        cluster.base().resolve("victim.toml"),
                        "[client]\nmds = [\"%s\"]\npublish_interval = \"1min\"\n"
                                .formatted(cluster.mds()));
        return cluster.mount("victim", "--config", config.toString());
    }

    /** Written, and neither synced nor closed. */
    private static FileChannel write(Path file) throws IOException {
        FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        byte[] bytes = new byte[MIB];
        Arrays.fill(bytes, (byte) 'd');
        ByteBuffer data = ByteBuffer.wrap(bytes);
        while (data.hasRemaining()) {
            channel.write(data);
        }
        return channel;
    }

    private static void abandon(FileChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            // Its mount is gone.
        }
    }

    private static int nonZeros(byte[] bytes) {
        int count = 0;
        for (byte b : bytes) {
            count += b == 0 ? 0 : 1;
        }
        return count;
    }
}
