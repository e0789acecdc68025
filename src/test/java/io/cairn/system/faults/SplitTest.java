package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A pool of few placement groups gets more of them, and fewer again, while two mounts write and
 * append and a data server is killed each time: every file is what it should be, and what was
 * appended is there once.
 */
@Tag("part-7")
class SplitTest {
    private static final int FILES = 12;
    private static final int BEFORE = 3;
    private static final int AFTER = 10;
    private static final int FEWER = 5;
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private static Shell.Result ask(Cluster cluster, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--mds", cluster.mds()));
        return Cluster.cairn(all);
    }

    private static JsonNode pool(Cluster cluster) {
        return cluster.status().path("pools").path(0);
    }

    private static void awaitGroups(Cluster cluster, int least) {
        Awaitility.await(least + " placement groups")
                .atMost(PATIENCE)
                .until(() -> pool(cluster).path("placed_pgs").asInt() >= least);
    }

    private static void awaitAtMost(Cluster cluster, int most) {
        Awaitility.await("at most " + most + " placement groups")
                .atMost(PATIENCE)
                .until(() -> pool(cluster).path("pg_count").asInt() <= most);
    }

    /** Appends numbered lines until it is closed. One thread. */
    private static final class Appender implements AutoCloseable {
        private final String name;
        private final Path file;
        private final Path stop;
        private final Process job;

        Appender(String name, Path file, Path stop) throws IOException {
            this.name = name;
            this.file = file;
            this.stop = stop;
            String loop =
                    "i=0; while [ ! -e '%s' ]; do i=$((i+1)); echo %s $i >> '%s' || exit 1; done"
                            .formatted(stop, name, file);
            job =
                    new ProcessBuilder("bash", "-c", loop)
                            .redirectErrorStream(true)
                            .redirectOutput(file.getFileSystem().getPath("/dev/null").toFile())
                            .start();
        }

        void awaitEnd() throws Exception {
            if (!Files.exists(stop)) {
                Files.createFile(stop);
            }
            assertThat(job.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(job.exitValue()).isZero();
        }

        /** Each of its lines is there once, in their order. */
        void check(List<String> lines) {
            List<String> mine = lines.stream().filter(l -> l.startsWith(name + " ")).toList();
            Set<String> different = new HashSet<>(mine);
            assertThat(different).as("lines of %s in %s", name, file).hasSameSizeAs(mine);
            for (int i = 0; i < mine.size(); i++) {
                assertThat(mine.get(i)).isEqualTo(name + " " + (i + 1));
            }
            assertThat(mine).isNotEmpty();
        }

        @Override
        public void close() {
            job.destroyForcibly();
        }
    }

    @Test
    void aPoolGetsMoreGroupsAndFewerUnderLoadWhileServersDie() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes").layOut()) {
            cluster.configure("mds-1", c -> c.replace("[pool]", "[pool]\npg_count = " + BEFORE));
            cluster.up();
            List<MarkedFile> files = new ArrayList<>();
            for (int i = 0; i < FILES; i++) {
                files.add(new MarkedFile(cluster, cluster.mnt().resolve("f" + i)));
            }
            Path stop = cluster.base().resolve("stop");
            try (Mount second = cluster.mount("second");
                    Appender a = new Appender("a", cluster.mnt().resolve("log"), stop);
                    Appender b = new Appender("b", second.mnt().resolve("log"), stop)) {
                ask(cluster, "pool", "set", "default", "--pgs", "2")
                        .saysOneLine(1, "it cannot have fewer");
                ask(cluster, "pool", "set", "default", "--pgs", "" + AFTER).ok();
                awaitGroups(cluster, BEFORE + 3);
                writeAll(files);
                Cluster.kill9(List.of(cluster.process("data-2").orElseThrow()));
                writeAll(files);
                cluster.start("data-2", "dataserver");
                awaitGroups(cluster, AFTER);
                checkAll(files);
                writeAll(files);
                Awaitility.await("all replicas are there").atMost(PATIENCE).until(cluster::isWhole);
                ask(cluster, "pool", "set", "default", "--pgs", "" + FEWER).ok();
                awaitAtMost(cluster, AFTER - 2);
                writeAll(files);
                Cluster.kill9(List.of(cluster.process("data-1").orElseThrow()));
                writeAll(files);
                cluster.start("data-1", "dataserver");
                awaitAtMost(cluster, FEWER);
                checkAll(files);
                writeAll(files);
                Awaitility.await("all replicas are there").atMost(PATIENCE).until(cluster::isWhole);
                a.awaitEnd();
                b.awaitEnd();
                List<String> lines = Files.readAllLines(second.mnt().resolve("log"));
                a.check(lines);
                b.check(lines);
                assertThat(Files.readAllLines(cluster.mnt().resolve("log"))).isEqualTo(lines);
            }
            checkAll(files);
            assertThat(pool(cluster).path("pg_count").asInt()).isEqualTo(FEWER);
            JsonNode scrub =
                    JsonMapper.shared()
                            .readTree(
                                    ask(cluster, "scrub", "--json", "--all", "--deep").ok().out());
            assertThat(scrub.path("bad_blocks").asInt()).isZero();
        }
    }

    private static void writeAll(List<MarkedFile> files) {
        files.stream().map(MarkedFile::beginWrite).toList().forEach(files.getFirst()::awaitEnd);
    }

    private static void checkAll(List<MarkedFile> files) {
        files.stream().map(MarkedFile::beginCheck).toList().forEach(files.getFirst()::awaitEnd);
    }
}
