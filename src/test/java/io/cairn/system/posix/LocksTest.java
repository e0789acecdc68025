package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Locks of flock, of processes and of open files, in two mounts: {@code locks.py} tries the same
 * there and in a directory of the local file system. {@code -Dcairn.test.steps} sets how many
 * random calls are compared.
 */
@Tag("part-4")
@ExtendWith(SharedCluster.class)
@Tag("native-binding")
class LocksTest {
    private static final int STEPS = Integer.getInteger("cairn.test.steps", 200);
    static final Path SCRIPT = Cluster.REPOSITORY.resolve("src/test/resources/locks.py");

    private final Cluster cluster;
    private final long seed = TestSeed.of("LocksTest");

    LocksTest(Cluster cluster) {
        this.cluster = cluster;
    }

    private void run(String name, String... what) throws IOException {
        Path work = cluster.work(name);
        Path local = Files.createDirectory(cluster.base().resolve("local-" + name));
        try (Mount second = cluster.mount("second-" + name)) {
            List<String> command =
                    List.of(
                            "python3",
                            SCRIPT.toString(),
                            local.toString(),
                            work.toString(),
                            second.mnt().resolve(work.getFileName()).toString());
            String[] all = new String[command.size() + what.length];
            for (int i = 0; i < all.length; i++) {
                all[i] = i < command.size() ? command.get(i) : what[i - command.size()];
            }
            Shell.run(all).ok();
        }
    }

    @Test
    void locksOfTwoMountsAreThoseOfALocalFileSystem() throws IOException {
        run("locks", "all");
    }

    @Test
    void randomCallsHaveTheSameResults() throws IOException {
        run("random-locks", "randomly", Long.toString(seed), Integer.toString(STEPS));
    }

    @Test
    void locksAreListed() throws IOException {
        Path file = cluster.mnt().resolve("listed");
        try (FileChannel channel =
                        FileChannel.open(
                                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.lock(10, 90, false)) {
            assertThat(lock.isValid()).isTrue();
            JsonNode listed = listed(file);
            assertThat(listed.size()).isEqualTo(1);
            JsonNode only = listed.get(0);
            assertThat(only.path("state").asString()).isEqualTo("held");
            assertThat(only.path("mode").asString()).isEqualTo("exclusive");
            assertThat(only.path("first_byte").asLong()).isEqualTo(10);
            assertThat(only.path("last_byte").asLong()).isEqualTo(99);
            assertThat(only.path("process").asLong()).isEqualTo(ProcessHandle.current().pid());
        }
        assertThat(listed(file).size()).isZero();
    }

    private JsonNode listed(Path file) {
        return new JsonMapper()
                .readTree(
                        Cluster.cairn(
                                        "locks",
                                        file.toString(),
                                        "--dir",
                                        cluster.state().toString(),
                                        "--json")
                                .ok()
                                .out());
    }
}
