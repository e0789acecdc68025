package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A file that nobody reads rots on its disks while the cluster runs; {@code cairn scrub} sees it.
 */
@Tag("part-1")
class ScrubbedFileTest {
    private static final int PAGE = 4096;
    private static final int SIZE = 8 << 20;

    private final Cluster cluster =
            Cluster.temporary("--processes", "--capacity", "256MiB", "--wal-size", "64MiB");

    private final byte[] content = new byte[SIZE];

    @BeforeEach
    void up() throws IOException {
        new Random(9).nextBytes(content);
        cluster.up();
        Files.write(cluster.mnt().resolve("cold"), content);
        Shell.run("sync", "-f", cluster.mnt().toString()).ok();
    }

    @AfterEach
    void down() {
        cluster.close();
    }

    @Test
    void damageIsFoundRepairedAndTold() throws Exception {
        JsonNode before = scrub(0, "--all", "--deep");
        assertThat(before.path("bad_blocks").asInt()).isZero();
        assertThat(before.path("bytes").asLong()).isGreaterThanOrEqualTo(SIZE);

        // Another block of the file on each of two servers: no read would see the backup's.
        for (int server = 1; server <= 2; server++) {
            flip("data-" + server, server * 100 * PAGE);
        }
        assertThat(scrub(0, "--all").path("bad_blocks").asInt()).as("light").isZero();
        JsonNode found = scrub(6, "--all", "--deep");
        assertThat(found.path("bad_blocks").asInt()).isEqualTo(2);
        assertThat(found.path("differences").size()).isZero();

        await().untilAsserted(() -> {
            JsonNode after = scrub(0, "--all", "--deep");
            assertThat(after.path("bad_blocks").asInt()).isZero();
        });
        await().untilAsserted(() -> {
            JsonNode status = cluster.status();
            assertThat(status.path("warnings").toString()).contains("1 of them repaired");
            assertThat(status.path("scrub").path("quarantined_blocks").asInt()).isZero();
            assertThat(status.path("scrub").path("pgs_never_deep").asInt()).isZero();
            assertThat(status.path("scrub").path("oldest_deep_seconds").asInt()).isLessThan(600);
        });
        assertThat(Files.readAllBytes(cluster.mnt().resolve("cold"))).isEqualTo(content);
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(1));
    }

    private JsonNode scrub(int exitCode, String... options) {
        List<String> command = new ArrayList<>(List.of("scrub", "--json", "--mds", cluster.mds()));
        command.addAll(List.of(options));
        Shell.Result result = Cluster.cairn(command);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(exitCode);
        return JsonMapper.shared().readTree(result.out());
    }

    /** Changes one bit where a server's disk has these bytes of the file, once it has them. */
    private void flip(String server, int offset) throws IOException {
        Path data = cluster.state().resolve(server).resolve("disk/data");
        byte[] wanted = new byte[PAGE];
        System.arraycopy(content, offset, wanted, 0, PAGE);
        long at = await().until(() -> find(data, wanted), place -> place >= 0);
        wanted[77] ^= 4;
        try (FileChannel file = FileChannel.open(data, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(wanted), at);
        }
    }

    private static long find(Path data, byte[] wanted) throws IOException {
        byte[] block = new byte[PAGE];
        try (FileChannel file = FileChannel.open(data)) {
            for (long at = PAGE; at + PAGE <= file.size(); at += PAGE) {
                file.read(ByteBuffer.wrap(block), at);
                if (Arrays.equals(block, wanted)) {
                    return at;
                }
            }
        }
        return -1;
    }
}
