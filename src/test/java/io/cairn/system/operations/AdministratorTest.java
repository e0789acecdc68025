package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What an administrator asks a cluster, beside {@code cairn status}. */
@Tag("part-4")
@ExtendWith(SharedCluster.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AdministratorTest {
    private static final int MIB = 1 << 20;
    private static final int FAILURE = 1;
    private static final int USAGE = 2;

    private final Cluster cluster;
    private final Path work;

    AdministratorTest(Cluster cluster) {
        this.cluster = cluster;
        this.work = cluster.work("administrator");
    }

    private Shell.Result ask(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--mds", cluster.mds()));
        return Cluster.cairn(all);
    }

    private JsonNode json(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--json");
        return JsonMapper.shared().readTree(ask(all.toArray(String[]::new)).ok().out());
    }

    private static JsonNode sessionOf(JsonNode sessions, Path mnt) {
        return StreamSupport.stream(sessions.spliterator(), false)
                .filter(s -> s.path("description").asString().contains(":" + mnt + ", process "))
                .findFirst()
                .orElseThrow(() -> new AssertionError(mnt + " in " + sessions));
    }

    @Test
    void aSessionIsListedAndEvicted() throws IOException {
        try (Mount second = cluster.mount("evicted")) {
            Path file = second.mnt().resolve("administrator/held");
            Files.writeString(file, "before");
            JsonNode before = sessionOf(json("session", "ls"), second.mnt());
            long session = before.path("session").asLong();
            assertThat(before.path("state").asString()).isEqualTo("open");
            assertThat(ask("session", "ls").ok().out())
                    .contains("SESSION")
                    .contains(second.mnt().toString());

            assertThat(ask("session", "evict", Long.toString(session)).ok().out())
                    .isEqualToIgnoringNewLines("session " + session + " has ended");
            assertThat(json("session", "ls").findValuesAsString("session"))
                    .doesNotContain(Long.toString(session));
            // The client lives, and goes on.
            Awaitility.await()
                    .untilAsserted(() ->
                            assertThat(
                                            sessionOf(json("session", "ls"), second.mnt())
                                                    .path("session")
                                                    .asLong())
                                    .isGreaterThan(session));
            Files.writeString(file, "after");
            assertThat(work.resolve("held")).hasContent("after");
        }
    }

    @Test
    void nothingIsEvictedWhereOneNumberIsWrong() {
        JsonNode mine = sessionOf(json("session", "ls"), cluster.mnt());
        String session = mine.path("session").asString();
        ask("session", "evict", session, "999999").saysOneLine(FAILURE, "[999999]", "nothing was");
        assertThat(json("session", "ls").findValuesAsString("session")).contains(session);
        ask("session", "evict", "first").saysOneLine(USAGE, "first");
        Cluster.cairn("session").saysOneLine(USAGE, "ls or evict");
    }

    @Test
    void statusNamesTheReleaseOfEveryPart() {
        String release =
                JsonMapper.shared()
                        .readTree(Cluster.cairn("version", "--json").ok().out())
                        .path("version")
                        .asString();
        // A leader that has just begun has not heard of all.
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> {
                    JsonNode releases = cluster.status().path("releases");
                    assertThat(releases.propertyNames()).containsExactly(release);
                    assertThat(releases.path(release).valueStream().map(JsonNode::asString))
                            .contains("mds-1", "data-1", "data-2", "data-3")
                            .anyMatch(part -> part.matches("mount-\\d+"));
                });
        JsonNode status = cluster.status();
        for (String kind : List.of("mds", "data_servers", "mounts")) {
            assertThat(status.path(kind).findValuesAsString("release"))
                    .as(kind)
                    .isNotEmpty()
                    .containsOnly(release);
        }
        assertThat(cluster.statusCommand().out()).contains("release   " + release + "  all parts");
    }

    @Test
    void theReaperIsSlowedDownWithoutARestart() throws IOException {
        JsonNode before = json("set").get(0);
        assertThat(before.path("name").asString()).isEqualTo("reaper.rate");
        assertThat(before.path("from").asString()).isEqualTo("configuration");
        assertThat(ask("set").ok().out())
                .contains("reaper.rate", "0 to 1000000", "configuration", "files");
        ask("set", "reaper.rate", "fast").saysOneLine(USAGE, "fast", "0 to 1000000");
        ask("set", "reaper.rate", "-1").saysOneLine(USAGE, "-1");
        ask("set", "reaper.rate", "1000001").saysOneLine(USAGE, "0 to 1000000");
        ask("set", "reaper.speed", "1").saysOneLine(USAGE, "reaper.speed", "only reaper.rate");
        ask("set", "reaper.rate").saysOneLine(USAGE, "value is missing");
        try {
            assertThat(json("set", "reaper.rate", "1").get(0).path("value").asString())
                    .isEqualTo("1");
            List<Path> files = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                files.add(Files.write(work.resolve("slowly-" + i), new byte[5000]));
            }
            for (Path file : files) {
                Files.delete(file);
            }
            Awaitility.await("the rate of deletion")
                    .atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> {
                        JsonNode status = cluster.status();
                        assertThat(status.path("deletion_backlog_inodes").asLong()).isPositive();
                        assertThat(status.path("deletion_limit_inodes_per_second").asLong())
                                .isEqualTo(1);
                        assertThat(status.path("deletion_inodes_per_second").asDouble())
                                .isPositive();
                        assertThat(status.path("deletion_eta_seconds").asDouble()).isPositive();
                    });
            assertThat(cluster.statusCommand().out())
                    .contains("deleting  ", "done in about", "(reaper.rate: 1/s at most)");
        } finally {
            ask("set", "reaper.rate", "0").ok();
        }
        Awaitility.await("nothing is left to delete")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.status().path("deletion_backlog_inodes").asLong() == 0);
        assertThat(ask("set").ok().out()).contains("cairn set");
    }

    @Test
    void statusShowsHowFastDeletedFilesGo() throws IOException {
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            files.add(Files.write(work.resolve("deleted-" + i), new byte[5000]));
        }
        for (Path file : files) {
            Files.delete(file);
        }
        Awaitility.await("the rate of deletion")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.status().path("deletion_inodes_per_second").asDouble() > 0);
        Awaitility.await("nothing is left to delete")
                .atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> {
                    JsonNode status = cluster.status();
                    assertThat(status.path("deletion_backlog_inodes").asLong()).isZero();
                    assertThat(status.path("deletion_eta_seconds").asDouble(-1)).isZero();
                });
    }

    @Test
    void infoSaysWhereAFileIsKept() throws IOException {
        Path file = Files.write(work.resolve("large"), new byte[9 * MIB]);
        String inode = Files.getAttribute(file, "unix:ino").toString();
        JsonNode info = json("info", file.toString());
        assertThat(info.path("inode").asString()).isEqualTo(inode);
        assertThat(info.path("size_bytes").asLong()).isEqualTo(9 * MIB);
        assertThat(info.path("layout").path("chunk_size_bytes").asInt()).isEqualTo(4 * MIB);
        assertThat(info.path("chunks").size()).isEqualTo(3);
        for (JsonNode chunk : info.path("chunks")) {
            assertThat(chunk.path("replicas").size()).isEqualTo(3);
            assertThat(chunk.path("replicas").findValuesAsString("in_sync")).containsOnly("true");
            assertThat(chunk.path("replicas").findValuesAsString("server")).doesNotHaveDuplicates();
        }
        assertThat(json("info", "--inode", inode, "--from", "2").path("chunks").size())
                .isEqualTo(1);
        assertThat(ask("info", file.toString(), "--chunks", "1").ok().out())
                .contains("chunks    3")
                .contains("... and 2 more");
        assertThat(ask("info", work.toString()).ok().out()).contains("mode      40755");
        Path link = Files.createSymbolicLink(work.resolve("link"), Path.of("/nowhere"));
        assertThat(ask("info", link.toString()).ok().out()).contains("mode      120777");
    }

    @Test
    void infoRefusesWhatIsNotOfTheCluster() {
        ask("info", "/proc/version").saysOneLine(FAILURE, "type proc");
        ask("info", work + "/nothing").saysOneLine(FAILURE, "no such file");
        ask("info", "--inode", "123456789012").saysOneLine(FAILURE, "no inode 123456789012");
        Cluster.cairn("info").saysOneLine(USAGE, "either PATH or --inode");
    }
}
