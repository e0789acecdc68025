package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Thresholds, which come long before a disk has no block left; low ones, so that it is quick. */
@Tag("part-3")
class NearFullTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final int FILE = 8 << 20;

    @Test
    void nearFullIsSaidFullRefusesNewDataAndBothEndByThemselves() throws IOException {
        try (Cluster cluster = Cluster.temporary("--capacity", "512MiB")) {
            cluster.up();
            set(cluster, "space.near_full", "10").ok();
            set(cluster, "space.full", "8").saysOneLine(2, "10 to 100");
            // Levels are looked at once a second: far enough apart that one is seen without the
            // other.
            set(cluster, "space.full", "40").ok();
            Path kept = cluster.mnt().resolve("kept");
            assertThat(write(kept)).isTrue();
            String sum = Shell.run("sha256sum", kept.toString()).ok().out();
            assertThat(warns(cluster, "full")).isFalse();

            int files = 0;
            while (!warns(cluster, "pool default is near full")) {
                assertThat(files).as("near full some time").isLessThan(24);
                assertThat(write(cluster.mnt().resolve("f" + files++))).isTrue();
            }
            assertThat(cluster.statusCommand().exitCode()).isEqualTo(Cluster.DEGRADED);
            boolean refused = false;
            while (!refused) {
                assertThat(files).as("full some time").isLessThan(48);
                refused = !write(cluster.mnt().resolve("f" + files++));
            }
            assertThat(warns(cluster, "pool default is full")).isTrue();
            assertThat(warns(cluster, "no further replicas are placed on it")).isTrue();
            FileStore store = Files.getFileStore(cluster.mnt());
            assertThat(store.getUsableSpace()).as("what df calls available").isZero();
            assertThat(store.getUnallocatedSpace()).as("free").isPositive();

            // What leaves the space as it is, or gives some back.
            Path first = cluster.mnt().resolve("f0");
            dd("if=/dev/urandom", "of=" + kept, "bs=1M", "count=2", "conv=fsync,notrunc").ok();
            String overwritten = Shell.run("sha256sum", kept.toString()).ok().out();
            assertThat(overwritten).isNotEqualTo(sum);
            Shell.run("truncate", "-s", "3M", first.toString()).ok();
            assertThat(Files.size(first)).isEqualTo(3 << 20);
            Shell.run("mv", first.toString(), cluster.mnt().resolve("g0").toString()).ok();

            assertThat(
                            poolSet(cluster, "--near-full", "60", "--full", "90")
                                    .path("full_percent")
                                    .asInt())
                    .isEqualTo(90);
            Awaitility.await("the pool's own threshold counts")
                    .atMost(PATIENCE)
                    .until(() -> write(cluster.mnt().resolve("taken")));
            poolSet(cluster, "--near-full", "0", "--full", "0");
            Awaitility.await("the cluster's counts again")
                    .atMost(PATIENCE)
                    .until(() -> warns(cluster, "pool default is full"));
            assertThat(write(cluster.mnt().resolve("refused"))).isFalse();

            for (int i = 1; i < files; i++) {
                Files.deleteIfExists(cluster.mnt().resolve("f" + i));
            }
            Files.delete(cluster.mnt().resolve("taken"));
            Files.delete(cluster.mnt().resolve("refused"));
            Path again = cluster.mnt().resolve("again");
            Awaitility.await("new data is taken").atMost(PATIENCE).until(() -> write(again));
            Awaitility.await("nothing is said any more")
                    .atMost(PATIENCE)
                    .until(() -> !warns(cluster, "full"));
            assertThat(store.getUsableSpace()).isPositive();

            assertThat(Shell.run("sha256sum", kept.toString()).ok().out()).isEqualTo(overwritten);
        }
    }

    private static Shell.Result set(Cluster cluster, String name, String value) {
        return Cluster.cairn("set", name, value, "--mds", cluster.mds());
    }

    private static JsonNode poolSet(Cluster cluster, String... options) {
        List<String> all = new ArrayList<>(List.of("pool", "set", "default", "--json"));
        all.addAll(List.of(options));
        all.addAll(List.of("--mds", cluster.mds()));
        return JsonMapper.shared().readTree(Cluster.cairn(all).ok().out());
    }

    private static boolean warns(Cluster cluster, String part) {
        return cluster.status()
                .path("warnings")
                .valueStream()
                .anyMatch(w -> w.stringValue().contains(part));
    }

    private static Shell.Result dd(String... words) {
        List<String> all = new ArrayList<>(List.of("dd"));
        all.addAll(List.of(words));
        return Shell.run(all.toArray(String[]::new));
    }

    /** False for ENOSPC, with nothing else that could have gone wrong. */
    private static boolean write(Path file) {
        Shell.Result written =
                dd("if=/dev/urandom", "of=" + file, "bs=1M", "count=" + (FILE >> 20), "conv=fsync");
        if (written.exitCode() != 0) {
            assertThat(written.err()).contains("No space left on device");
        }
        return written.exitCode() == 0;
    }
}
