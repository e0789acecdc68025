package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Files are moved into another pool and back while two mounts write, append to, truncate, rename
 * and delete them; the mover is killed once, a data server once.
 */
@Tag("slow")
@Tag("part-5")
class MigrateTest {
    private static final long SEED = TestSeed.of("MigrateTest");
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 1);
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int WRITTEN = 4;
    private static final int STILL = 30;

    /** In pieces of 1 MiB, more than may be in flight. */
    private static final int LARGE_MIB = 64;

    private final AtomicBoolean stop = new AtomicBoolean();

    private static List<String> words(Cluster cluster, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--mds", cluster.mds()));
        return all;
    }

    private static Shell.Result ask(Cluster cluster, String... words) {
        return Cluster.cairn(words(cluster, words));
    }

    private static JsonNode migrate(Cluster cluster, Path what, String pool, String... options) {
        List<String> all =
                new ArrayList<>(List.of("migrate", what.toString(), "--pool", pool, "--json"));
        all.addAll(List.of(options));
        return JsonMapper.shared().readTree(ask(cluster, all.toArray(String[]::new)).ok().out());
    }

    private static Process begin(Cluster cluster, Path what, String pool, String rate)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Cluster.REPOSITORY.resolve("cairn").toString());
        command.addAll(
                words(
                        cluster,
                        "migrate",
                        what.toString(),
                        "--pool",
                        pool,
                        "--max-rate",
                        rate,
                        "--files",
                        "2"));
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(cluster.base().resolve("migrate.log").toFile())
                .start();
    }

    private static String poolOf(Path path) {
        String layout =
                Shell.run(
                                "getfattr",
                                "--only-values",
                                "--absolute-names",
                                "-n",
                                "cairn.layout",
                                path.toString())
                        .ok()
                        .out();
        return layout.substring("pool=".length(), layout.indexOf(' '));
    }

    private static List<Path> files(Path directory) throws IOException {
        try (var found = Files.walk(directory)) {
            return found.filter(Files::isRegularFile).toList();
        }
    }

    /** Files that are there all the while. */
    private static long in(String pool, Path directory) {
        String layouts =
                Shell.bash(
                                "find '%s' -type f -name '[!nrk]*' -exec getfattr --only-values --absolute-names -n cairn.layout {} +"
                                        .formatted(directory))
                        .ok()
                        .out();
        return layouts.split("pool=" + pool + " ", -1).length - 1;
    }

    private static byte[] content(int file) {
        byte[] content = new byte[200_000];
        new Random(SEED + 1000 + file).nextBytes(content);
        return content;
    }

    @Test
    void filesMoveWhileTheyAreUsed() throws Exception {
        try (Cluster cluster = Cluster.temporary("--data", "4", "--processes").layOut()) {
            cluster.configure("mds-1", c -> c + "\n[sessions]\nexpiry = \"10s\"\n");
            cluster.up();
            for (String pool : List.of("old", "new")) {
                ask(cluster, "pool", "create", pool, "--size", "3", "--pgs", "16").ok();
            }
            Path directory = cluster.work("d");
            Shell.run(
                            "setfattr",
                            "-n",
                            "cairn.layout",
                            "-v",
                            "pool=old stripe_unit=262144 stripe_count=2 chunk_size=524288",
                            directory.toString())
                    .ok();
            Path below = Files.createDirectory(directory.resolve("below"));
            for (int i = 0; i < STILL; i++) {
                Files.write(below.resolve("s" + i), content(i));
            }
            Files.createLink(directory.resolve("linked"), below.resolve("s0"));
            Files.createSymbolicLink(directory.resolve("symbolic"), below.resolve("s1"));
            try (Mount second = cluster.mount("mnt2");
                    Mount third = cluster.mount("mnt3");
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<?>> writers = new ArrayList<>();
                List<MovedFile> written = new ArrayList<>();
                for (int i = 0; i < WRITTEN; i++) {
                    String name = "d/w" + i;
                    MovedFile file =
                            new MovedFile(
                                    List.of(
                                            cluster.mnt().resolve(name),
                                            second.mnt().resolve(name),
                                            third.mnt().resolve(name)),
                                    SEED + i);
                    written.add(file);
                    writers.add(threads.submit(() -> write(file)));
                }
                writers.add(threads.submit(() -> changeNames(directory)));
                try {
                    for (int round = 0; round < ROUNDS; round++) {
                        thereAndBack(cluster, directory, below);
                    }
                } finally {
                    stop.set(true);
                    for (Future<?> writer : writers) {
                        writer.get();
                    }
                }
                for (MovedFile file : written) {
                    assertThat(file.operations()).isPositive();
                    file.check();
                    file.close();
                }
            }
            for (int i = 0; i < STILL; i++) {
                assertThat(Files.readAllBytes(below.resolve("s" + i))).isEqualTo(content(i));
            }
            assertThat(in("old", directory)).isEqualTo(STILL + WRITTEN + 1);
            for (Path file : files(directory)) {
                assertThat(poolOf(file)).as(file.toString()).isEqualTo("old");
            }
            aLargeFileMovesWithTheDefaults(cluster);
            Awaitility.await("what was left in the other pool is gone")
                    .atMost(PATIENCE)
                    .untilAsserted(() -> ask(cluster, "pool", "remove", "new").ok());
            Awaitility.await("whole").atMost(PATIENCE).until(cluster::isWhole);
            Shell.Result scrub = ask(cluster, "scrub", "--all", "--deep");
            assertThat(scrub.exitCode()).as(scrub.out() + scrub.err()).isZero();
        }
    }

    private void thereAndBack(Cluster cluster, Path directory, Path below) throws Exception {
        JsonNode dry = migrate(cluster, directory, "new", "--dry-run");
        assertThat(dry.path("files_moved").asInt()).isGreaterThanOrEqualTo(STILL);
        assertThat(in("new", below)).isZero();

        Process mover = begin(cluster, directory, "new", "200KiB"); // slower than looking
        Awaitility.await("some have moved").atMost(PATIENCE).until(() -> in("new", below) >= 2);
        mover.destroyForcibly();
        mover.waitFor();
        assertThat(in("old", below)).as("not all have moved").isPositive();

        // Its files do not wait until the cluster would end the session.
        Process ended = begin(cluster, directory, "new", "10KiB");
        Awaitility.await("it moves files").atMost(PATIENCE).until(() -> isMount(cluster, ended));
        ended.destroy();
        assertThat(ended.waitFor()).as("SIGTERM").isEqualTo(128 + 15);
        assertThat(isMount(cluster, ended)).as("has a session").isFalse();

        Process again = begin(cluster, directory, "new", "16MiB");
        Cluster.kill9(List.of(cluster.process("data-2").orElseThrow()));
        cluster.start("data-2", "dataserver");
        assertThat(again.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as(cluster.logs())
                .isTrue();
        assertThat(again.exitValue())
                .as(Files.readString(cluster.base().resolve("migrate.log")))
                .isZero();
        assertThat(in("new", below)).isEqualTo(STILL);
        assertThat(poolOf(below)).isEqualTo("new");
        assertThat(poolOf(directory.resolve("linked"))).isEqualTo("new");
        JsonNode nothing = migrate(cluster, directory, "new");
        assertThat(nothing.path("files_failed").asInt()).isZero();

        // By the path in the file system, without a mount.
        JsonNode back = migrate(cluster, Path.of("/d"), "old");
        assertThat(back.path("files_moved").asInt()).isGreaterThanOrEqualTo(STILL);
        assertThat(back.path("files_failed").asInt()).as(back.toString()).isZero();
    }

    private static void aLargeFileMovesWithTheDefaults(Cluster cluster) throws IOException {
        byte[] content = new byte[LARGE_MIB << 20];
        new Random(SEED).nextBytes(content);
        Path large = cluster.mnt().resolve("large");
        Files.write(large, content);
        for (String pool : List.of("new", "old")) {
            JsonNode moved = migrate(cluster, large, pool);
            assertThat(moved.path("files_failed").asInt()).as(moved.toString()).isZero();
            assertThat(poolOf(large)).isEqualTo(pool);
        }
        assertThat(Files.readAllBytes(large)).isEqualTo(content);
    }

    /** Whether it has a session that data servers still serve. */
    private static boolean isMount(Cluster cluster, Process mover) {
        JsonNode sessions =
                JsonMapper.shared().readTree(ask(cluster, "session", "ls", "--json").ok().out());
        return sessions.findParents("description").stream()
                .anyMatch(s ->
                        s.path("state").asString().equals("open")
                                && s.path("description")
                                        .asString()
                                        .contains("cairn migrate, process " + mover.pid()));
    }

    private void write(MovedFile file) {
        try {
            while (!stop.get()) {
                file.step();
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Files come, are renamed, go while they are open, and go for good. */
    private void changeNames(Path directory) {
        Random random = new Random(SEED + 500);
        try {
            for (int i = 0; !stop.get(); i++) {
                Path file = directory.resolve("n" + i);
                byte[] content = content(i);
                Files.write(file, content);
                Path renamed = directory.resolve("below").resolve("r" + i);
                Files.move(file, renamed);
                assertThat(Files.readAllBytes(renamed)).isEqualTo(content);
                if (random.nextInt(3) > 0 || i > 30) {
                    Files.delete(renamed);
                } else {
                    Files.move(renamed, directory.resolve("k" + i));
                }
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
