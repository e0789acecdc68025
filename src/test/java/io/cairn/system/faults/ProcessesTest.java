package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What needs the parts as separate processes: three MDS members, stopped and paused servers. */
@Tag("slow")
@Tag("part-3")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ProcessesTest {
    private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");

    /** Numbers of read(2) and ftruncate(2). */
    private static final int READ_CALL = ARM ? 63 : 0;

    private static final int TRUNCATE_CALL = ARM ? 46 : 77;

    /** Functions of the kernel in which a call on a FUSE file waits. */
    private static final Pattern WAITS = Pattern.compile("fuse|request_wait|folio_wait");

    private final Cluster cluster = Cluster.temporary("--mds", "3", "--processes");

    @BeforeAll
    void up() {
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void statusNamesEveryProcess() {
        var status = cluster.status();
        assertThat(status.path("mds").size()).isEqualTo(3);
        assertThat(status.path("data_servers").size()).isEqualTo(3);
        assertThat(cluster.processes()).hasSize(7);
    }

    @Test
    void theMountSaysWhoItIs() throws IOException {
        var status = cluster.status();
        assertThat(status.path("mounts").get(0).path("description").asString())
                .contains(
                        ":" + cluster.mnt() + ", process ",
                        "" + cluster.process("mount").orElseThrow().pid());
        String first = status.path("mds").get(0).path("address").asString();
        assertThat(Files.readString(Path.of("/proc/mounts")))
                .contains("\n" + first + ":/ " + cluster.mnt() + " fuse.cairn ");
    }

    /** Else a killed process would leave them in the directory for temporary files. */
    @Test
    void nativeLibrariesAreThoseOfThePackage() throws IOException {
        String packaged = Cluster.REPOSITORY.resolve("cli/target/lib/native").toRealPath() + "/";
        for (String part : new String[] {"mds-1", "data-1", "mount"}) {
            long pid = cluster.process(part).orElseThrow().pid();
            try (Stream<String> maps = Files.lines(Path.of("/proc", "" + pid, "maps"))) {
                assertThat(maps.filter(line -> line.matches(".*lib(rocksdb|netty|org_).*\\.so.*")))
                        .as(part)
                        .isNotEmpty()
                        .allMatch(line -> line.contains(packaged));
            }
        }
    }

    @Test
    void interruptEndsAProcessBlockedInARead() throws IOException {
        Path file = cluster.mnt().resolve("blocked");
        Files.write(file, new byte[1 << 20]);
        Shell.bash("echo 3 >/proc/sys/vm/drop_caches").ok();
        try (Stall _ = new Stall(cluster, "data-")) {
            for (String signal : new String[] {"INT", "KILL"}) {
                Process reader =
                        // A test run in the background may ignore SIGINT, and its children with it.
                        new ProcessBuilder("env", "--default-signal=INT", "cat", file.toString())
                                .redirectOutput(Path.of("/dev/null").toFile())
                                .start();
                Awaitility.await("cat waits in a read")
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> waitsIn(READ_CALL, reader));
                Shell.run("kill", "-" + signal, "" + reader.pid()).ok();
                assertThat(waitFor(reader)).as("SIG" + signal + " ends a blocked read").isTrue();
            }
        }
        assertThat(Shell.run("cmp", "-n", "1048576", file.toString(), "/dev/zero").exitCode())
                .isZero();
    }

    /** It waits until all chunks are cut, as another mount holds the file open. */
    @Test
    void aTruncateThatWaitsForDataServersEndsWhenItIsKilled() throws IOException {
        Path file = cluster.mnt().resolve("cut");
        byte[] data = new byte[1 << 20];
        Arrays.fill(data, (byte) 'd');
        Files.write(file, data);
        try (Mount other = cluster.mount("other");
                var writer = new RandomAccessFile(other.mnt().resolve("cut").toFile(), "rw")) {
            try (Stall _ = new Stall(cluster, "data-")) {
                Process truncate =
                        new ProcessBuilder("truncate", "-s", "0", file.toString()).start();
                Awaitility.await("truncate waits")
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> waitsIn(TRUNCATE_CALL, truncate));
                Shell.run("kill", "-KILL", "" + truncate.pid()).ok();
                assertThat(waitFor(truncate)).as("SIGKILL ends a waiting truncate").isTrue();
            }
            Shell.run("truncate", "-s", "5", file.toString()).ok(); // and waits for the first cut
            writer.seek(7);
            writer.write('x');
            writer.getFD().sync();
            assertThat(file).hasBinaryContent(new byte[] {0, 0, 0, 0, 0, 0, 0, 'x'});
        }
    }

    @Test
    void leaderWithoutFollowersRefusesReadsUntilTheyReturn() throws Exception {
        int leader = cluster.status().path("leader").asInt();
        Files.writeString(cluster.mnt().resolve("lease"), "x");
        String[] followers =
                IntStream.rangeClosed(1, 3)
                        .filter(i -> i != leader)
                        .mapToObj(i -> "mds-" + i)
                        .toArray(String[]::new);
        Process stat;
        try (Stall _ = new Stall(cluster, followers)) {
            // The lease ends within a second or two; from then on no read is answered.
            Awaitility.await("reads stop")
                    .atMost(Duration.ofSeconds(60))
                    .until(() ->
                            Shell.run(
                                                    "timeout",
                                                    "-s",
                                                    "KILL",
                                                    "2",
                                                    "stat",
                                                    cluster.mnt().resolve("lease").toString())
                                            .exitCode()
                                    != 0);
            stat =
                    new ProcessBuilder("stat", cluster.mnt().resolve("lease").toString())
                            .redirectOutput(Path.of("/dev/null").toFile())
                            .start();
        }
        assertThat(stat.waitFor(120, TimeUnit.SECONDS)).isTrue();
        assertThat(stat.exitValue()).as("the waiting stat is answered").isZero();
    }

    @Test
    void pausedLeaderIsFollowedAndServesNothingStale() throws Exception {
        Path file = cluster.mnt().resolve("paused");
        Files.writeString(file, "before");
        int leader = cluster.status().path("leader").asInt();
        try (MdsMemberProbe probe = new MdsMemberProbe(cluster, leader)) {
            assertThat(
                            Awaitility.await("the leader answers")
                                    .until(() -> probe.sizeOf("paused").join(), s -> s.isPresent()))
                    .hasValue(6);
            CompletableFuture<OptionalLong> first;
            try (Stall _ = new Stall(cluster, "mds-" + leader)) {
                Files.writeString(file, "after"); // waits for the new leader
                assertThat(Files.readString(file)).isEqualTo("after");
                // Lies in its socket, so that it is the first thing it does when it goes on.
                first = probe.sizeOf("paused");
            }
            assertThat(first.join()).as("what the paused leader says").isEmpty();
            for (int i = 0; i < 50; i++) {
                OptionalLong size = probe.sizeOf("paused").join();
                if (size.isPresent()) { // it may be elected again
                    assertThat(size).as("what the paused leader says later").hasValue(5);
                }
                assertThat(Files.readString(file)).isEqualTo("after");
            }
        }
    }

    /** In the system call, and in it within FUSE or for a page that FUSE is to fill. */
    private static boolean waitsIn(int number, Process process) throws IOException {
        Path proc = Path.of("/proc", "" + process.pid());
        String call = Files.readString(proc.resolve("syscall"));
        String function = Files.readString(proc.resolve("wchan"));
        return call.startsWith(number + " ") && WAITS.matcher(function).find();
    }

    private static boolean waitFor(Process process) {
        try {
            return process.waitFor(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
