package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.cli.Main;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.LateWriter;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes that come when their files are gone leave data that belongs to no file: scrubs find it and
 * nothing else, however busy the cluster is, and it goes when it is proven.
 */
@Tag("part-8")
class OrphanedDataTest {
    private static final int FAILURE = 1;
    private static final int FILES = 30;
    private static final int ORPHANS = 5;
    private static final byte[] LATE = new byte[10_000];

    private final Random random = new Random(3);

    @Test
    void itIsFoundUnderLoadNotRemovedEarlyAndThenRemoved() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes", "--capacity", "512MiB").up();
                LateWriter late = new LateWriter(cluster)) {
            Path work = cluster.work("files");
            Map<Path, byte[]> kept = files(work, "kept");
            int used = cluster.status().path("inodes_used").asInt();
            Set<Long> dead = inodes(files(work, "dead").keySet());
            for (int i = 0; i < FILES; i++) {
                Files.delete(work.resolve("dead" + i));
            }
            Cluster.sync(work); // else they may be to be deleted yet, and nothing waits for it
            await().until(() ->
                    cluster.status().path("inodes_used").asInt() == used
                            && cluster.status().path("deletion_backlog_inodes").asLong() == 0);
            Set<Long> orphans = new TreeSet<>(List.copyOf(dead).subList(0, ORPHANS));
            for (long inode : orphans) {
                late.write("default", inode, 0, LATE);
                late.write("default", inode, 7, LATE);
            }

            try (Churn _ = new Churn(cluster)) {
                // Not before the mount has used up the range of ids that they are of.
                await().until(() -> {
                    scrub(cluster);
                    assertThat(orphans).containsAll(listed(cluster).keySet());
                    return listed(cluster).size() == ORPHANS;
                });
                for (int round = 0; round < 2; round++) {
                    scrub(cluster);
                    assertThat(listed(cluster).keySet()).isEqualTo(orphans);
                }
                cairn(cluster, "orphans", "remove", "--pool", "default", "--all").ok();
                String first = Long.toString(orphans.iterator().next());
                cairn(cluster, "orphans", "remove", first)
                        .saysOneLine(FAILURE, "not proven yet", "604800 s");
            }
            for (JsonNode orphan : listed(cluster).values()) {
                assertThat(orphan.path("state").asString()).isEqualTo("suspected");
                assertThat(orphan.path("bytes").asLong()).isEqualTo(2 * LATE.length);
                assertThat(orphan.path("chunks").asLong()).isEqualTo(2);
                assertThat(orphan.path("pool").asString()).isEqualTo("default");
                assertThat(orphan.path("pgs").size()).isPositive();
            }
            cairn(cluster, "set", "orphans.age", "1s").ok();
            await().until(() -> {
                scrub(cluster);
                return listed(cluster).values().stream()
                        .allMatch(o -> o.path("state").asString().equals("proven"));
            });
            await().untilAsserted(() -> {
                JsonNode proven = cluster.status().at("/orphans/proven");
                assertThat(proven.path("inodes").asInt()).isEqualTo(ORPHANS);
                assertThat(proven.path("bytes").asLong()).isEqualTo(2L * ORPHANS * LATE.length);
            });
            assertThat(cluster.statusCommand().out()).contains("orphans   5 inodes proven (");

            // As if the files of the newest ids had been lost with the newest metadata.
            long future = highest(cluster) + 1000;
            late.write("default", future, 0, LATE);
            scrub(cluster);
            cairn(cluster, "orphans", "remove", "0x" + Long.toHexString(future))
                    .saysOneLine(FAILURE, "never gave out");
            assertThat(highest(cluster)).as("of new files").isGreaterThan(future);

            cairn(cluster, "orphans", "remove", "--pool", "default", "--all").ok();
            await().until(() -> listed(cluster).keySet().equals(Set.of(future)));
            await().until(() -> cluster.status().path("deletion_backlog_inodes").asLong() == 0);
            assertThat(scrub(cluster).path("orphans").asInt()).as("the one that stays").isOne();
            JsonNode stays = Objects.requireNonNull(listed(cluster).get(future));
            assertThat(stays.path("state").asString()).isEqualTo("never_given_out");
            for (Map.Entry<Path, byte[]> file : kept.entrySet()) {
                assertThat(Files.readAllBytes(file.getKey())).isEqualTo(file.getValue());
            }
        }
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofMinutes(2));
    }

    private Map<Path, byte[]> files(Path directory, String name) throws IOException {
        Map<Path, byte[]> files = new HashMap<>();
        for (int i = 0; i < FILES; i++) {
            byte[] content = new byte[20_000];
            random.nextBytes(content);
            files.put(synced(directory.resolve(name + i), content), content);
        }
        return files;
    }

    private static Path synced(Path file, byte[] content) throws IOException {
        return Files.write(file, content, StandardOpenOption.CREATE_NEW, StandardOpenOption.DSYNC);
    }

    private static Set<Long> inodes(Set<Path> files) throws IOException {
        Set<Long> inodes = new TreeSet<>();
        for (Path file : files) {
            inodes.add((Long) Files.getAttribute(file, "unix:ino"));
        }
        return inodes;
    }

    /** Given out by now: that of a new file. */
    private static long highest(Cluster cluster) throws IOException {
        Path file = Files.createTempFile(cluster.mnt(), "newest", "");
        return (Long) Files.getAttribute(file, "unix:ino");
    }

    private static Shell.Result cairn(Cluster cluster, String... arguments) {
        List<String> command = new ArrayList<>(List.of(arguments));
        command.addAll(List.of("--mds", cluster.mds()));
        return Cluster.cairn(command);
    }

    /** Asked within this process, as a JVM for each costs half a second of a core. */
    private static JsonNode json(Cluster cluster, String... arguments) {
        List<String> command = new ArrayList<>(List.of(arguments));
        command.addAll(List.of("--json", "--mds", cluster.mds()));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode =
                Main.commandLine(false, true)
                        .setOut(new PrintWriter(out, true))
                        .setErr(new PrintWriter(err, true))
                        .execute(command.toArray(String[]::new));
        assertThat(exitCode).as(err.toString()).isZero();
        return JsonMapper.shared().readTree(out.toString());
    }

    private static JsonNode scrub(Cluster cluster) {
        JsonNode result = json(cluster, "scrub", "--all");
        assertThat(result.path("pgs_not_looked_at_for_orphans").asInt()).isZero();
        return result;
    }

    private static Map<Long, JsonNode> listed(Cluster cluster) {
        JsonNode all = json(cluster, "orphans", "ls");
        Map<Long, JsonNode> listed = new HashMap<>();
        for (JsonNode orphan : all.path("orphans")) {
            listed.put(Long.parseLong(orphan.path("inode").asString()), orphan);
        }
        return listed;
    }

    /** Files come and go all the while, some of them while they are open and written to. */
    private static final class Churn implements AutoCloseable {
        private final AtomicBoolean stop = new AtomicBoolean();
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final Thread thread;
        private int made;

        Churn(Cluster cluster) {
            Path directory = cluster.work("churn");
            thread =
                    Thread.ofPlatform()
                            .start(() -> {
                                try {
                                    while (!stop.get()) {
                                        round(directory);
                                    }
                                } catch (Throwable e) {
                                    failure.set(e);
                                }
                            });
        }

        private void round(Path directory) throws IOException {
            Path closed = synced(directory.resolve("f" + made++), LATE);
            Path open = directory.resolve("f" + made++);
            try (FileChannel held =
                    FileChannel.open(
                            open,
                            StandardOpenOption.CREATE_NEW,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE)) {
                Files.delete(open);
                for (int i = 0; i < 5; i++) {
                    held.write(ByteBuffer.wrap(LATE), (long) i * LATE.length);
                    held.force(true);
                    Files.delete(synced(directory.resolve("g" + made++), LATE));
                }
                ByteBuffer read = ByteBuffer.allocate(LATE.length);
                assertThat(held.read(read, 0)).isEqualTo(LATE.length);
            }
            if (made % 2 == 0) {
                Files.delete(closed);
            }
        }

        @Override
        public void close() throws InterruptedException {
            stop.set(true);
            thread.join();
            assertThat(failure.get()).isNull();
            assertThat(made).isPositive();
        }
    }
}
