package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Pools are made, used, changed and removed while the cluster serves; one server has an SSD. */
@Tag("slow")
@Tag("part-3")
class DevicePoolsTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int FILES = 20;

    private static Shell.Result pool(Cluster cluster, String... words) {
        List<String> all = new ArrayList<>(List.of("pool"));
        all.addAll(List.of(words));
        all.addAll(List.of("--mds", cluster.mds()));
        return Cluster.cairn(all);
    }

    private static JsonNode json(Cluster cluster, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--json", "--mds", cluster.mds()));
        return JsonMapper.shared().readTree(Cluster.cairn(all).ok().out());
    }

    private static byte[] content(int file) {
        byte[] bytes = new byte[300_000];
        Arrays.fill(bytes, (byte) (file + 1));
        return bytes;
    }

    private static void check(Path directory) throws IOException {
        for (int i = 0; i < FILES; i++) {
            assertThat(Files.readAllBytes(directory.resolve("f" + i))).isEqualTo(content(i));
        }
    }

    private static void awaitWhole(Cluster cluster) {
        Awaitility.await("all placement groups are whole")
                .atMost(PATIENCE)
                .until(() -> {
                    JsonNode pgs = cluster.status().path("pgs");
                    return pgs.path("degraded").asInt() == 0
                            && pgs.path("moving").asInt() == 0
                            && pgs.path("recovering").asInt() == 0;
                });
    }

    private static String layout(Path path) {
        return Shell.run(
                        "getfattr",
                        "--only-values",
                        "--absolute-names",
                        "-n",
                        "cairn.layout",
                        path.toString())
                .ok()
                .out();
    }

    @Test
    void poolsAreMadeUsedChangedAndRemoved() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes").layOut()) {
            for (int i = 1; i <= 3; i++) {
                String deviceClass = i == 1 ? "ssd" : "hdd";
                cluster.configure(
                        "data-" + i,
                        c ->
                                c.replace(
                                        "[[disk]]",
                                        "[[disk]]\ndevice_class = \"" + deviceClass + "\""));
            }
            cluster.up();
            pool(cluster, "create", "fast", "--size", "2", "--device-class", "ssd")
                    .saysOneLine(1, "pool fast needs disks in 2 failure domains");
            pool(
                            cluster,
                            "create",
                            "fast",
                            "--size",
                            "2",
                            "--pgs",
                            "16",
                            "--device-class",
                            "ssd,hdd")
                    .ok();
            Path directory = Files.createDirectory(cluster.mnt().resolve("d"));
            Shell.run("setfattr", "-n", "cairn.layout", "-v", "pool=fast", directory.toString())
                    .ok();
            for (int i = 0; i < FILES; i++) {
                Files.write(directory.resolve("f" + i), content(i));
            }
            check(directory);
            JsonNode fast = json(cluster, "pool", "ls").get(1);
            assertThat(fast.path("placed").asInt()).isEqualTo(16);
            assertThat(fast.path("users").asInt()).isEqualTo(FILES + 1);
            pool(cluster, "remove", "fast")
                    .saysOneLine(1, "named by the layouts of " + (FILES + 1) + " files");
            pool(cluster, "remove", "default").saysOneLine(1, "stays");

            pool(cluster, "rename", "fast", "tiered").ok();
            assertThat(layout(directory)).startsWith("pool=tiered ");
            pool(cluster, "set", "tiered", "--size", "3", "--device-class", "ssd,hdd,hdd").ok();
            awaitWhole(cluster);
            check(directory);
            JsonNode disks = json(cluster, "disk", "ls");
            int replicas = 0;
            for (JsonNode disk : disks) {
                replicas += disk.path("replicas").asInt();
            }
            int others = 3 * json(cluster, "pool", "ls").get(0).path("pg_count").asInt();
            assertThat(replicas).isEqualTo(others + 3 * 16);
            pool(
                            cluster,
                            "set",
                            "tiered",
                            "--size",
                            "1",
                            "--min-size",
                            "1",
                            "--device-class",
                            "hdd")
                    .ok();
            awaitWhole(cluster);
            check(directory);

            Shell.run("rm", "-r", directory.toString()).ok();
            Awaitility.await("the data is gone, and the pool with it")
                    .atMost(PATIENCE)
                    .until(() -> pool(cluster, "remove", "tiered").exitCode() == 0);
            assertThat(json(cluster, "pool", "ls")).hasSize(1);
            Path other = Files.createDirectory(cluster.mnt().resolve("e"));
            assertThat(
                            Shell.run(
                                            "setfattr",
                                            "-n",
                                            "cairn.layout",
                                            "-v",
                                            "pool=tiered",
                                            other.toString())
                                    .exitCode())
                    .isNotZero();
            Files.write(other.resolve("f"), content(1));
            awaitWhole(cluster);
            assertThat(Files.readAllBytes(other.resolve("f"))).isEqualTo(content(1));
        }
    }
}
