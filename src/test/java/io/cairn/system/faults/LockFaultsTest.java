package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import io.cairn.system.support.Signals;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import tools.jackson.databind.json.JsonMapper;

/** Locks while mounts die or sleep, and while the metadata service gets another leader. */
@Tag("slow")
@Tag("part-6")
@Tag("native-binding")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LockFaultsTest {
    private static final Duration LIMIT = Duration.ofSeconds(90);

    private final Cluster cluster = Cluster.temporary("--mds=3");

    @BeforeAll
    void up() {
        cluster.layOut();
        for (int member = 1; member <= 3; member++) {
            cluster.configure(
                    "mds-" + member,
                    c -> c + "\n[sessions]\nrenew_interval = \"500ms\"\nexpiry = \"5s\"\n");
        }
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    private int sessions() {
        return cluster.status().path("mounts").size();
    }

    private static FileChannel open(Path file) throws IOException {
        return FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /** Starts no process, see {@link Signals}. */
    private static boolean isFree(FileChannel file) throws IOException {
        try (FileLock lock = file.tryLock()) {
            return lock != null;
        }
    }

    /** Tried by another process: the locks of this one are all Java's. */
    private static boolean isFree(Path file) {
        return Shell.run(
                                "python3",
                                "-c",
                                "import fcntl, sys\n"
                                        + "fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)",
                                file.toString())
                        .exitCode()
                == 0;
    }

    @Test
    void aLockOfADeadMountIsFreeWhenNoServerTakesItsWritesAnyMore() throws Exception {
        Path file = cluster.mnt().resolve("of-the-dead");
        Mount victim = cluster.mount("victim");
        FileChannel channel = open(victim.mnt().resolve("of-the-dead"));
        FileLock lock = channel.lock();
        assertThat(lock.isValid()).isTrue();
        channel.write(ByteBuffer.wrap(new byte[] {'a'}));
        channel.force(true);
        victim.die();
        while (!isFree(file)) {
            if (sessions() == 1) { // it ended between both questions
                assertThat(isFree(file)).as("the lock of an ended session").isTrue();
                break;
            }
        }
        assertThat(sessions()).as("its session was over before").isEqualTo(1);
        assertThat(file).hasContent("a");
        victim.kill();
    }

    @Test
    void aMountThatWasEvictedFailsTheFilesItHadLocked() throws Exception {
        try (Mount laptop = cluster.mount("laptop");
                Signals signals = laptop.signals();
                FileChannel elsewhere = open(cluster.mnt().resolve("locked"));
                FileChannel locked = open(laptop.mnt().resolve("locked"));
                FileChannel other = open(laptop.mnt().resolve("other"))) {
            FileLock lock = locked.lock();
            assertThat(lock.isValid()).isTrue();
            locked.write(ByteBuffer.wrap(new byte[] {'a'}));
            locked.force(true);
            signals.stop();
            try {
                Awaitility.await("another has the lock")
                        .atMost(LIMIT)
                        .until(() -> isFree(elsewhere));
            } finally {
                signals.send("CONT");
            }
            Awaitility.await("it is known")
                    .atMost(LIMIT)
                    .until(() -> laptop.log().contains("the client goes on"));
            assertThatThrownBy(() -> locked.write(ByteBuffer.wrap(new byte[] {'b'})))
                    .hasMessageContaining("nput/output");
            other.write(ByteBuffer.wrap(new byte[] {'b'}));
            other.force(true);
            assertThatThrownBy(locked::close).hasMessageContaining("nput/output");
            assertThat(isFree(laptop.mnt().resolve("locked"))).as("opened again").isTrue();
        }
        assertThat(cluster.mnt().resolve("locked")).hasContent("a");
    }

    /** Arguments: the file in two mounts. Waits in the second one until it is told to unlock. */
    private static final String WAITER =
            """
            import fcntl, os, signal, sys
            signal.alarm(120)
            here = open(sys.argv[1], 'r+')
            fcntl.lockf(here, fcntl.LOCK_EX)
            child = os.fork()
            if child == 0:
                there = open(sys.argv[2], 'r+')
                fcntl.lockf(there, fcntl.LOCK_EX)
                assert there.read() == 'written'
                os._exit(0)
            sys.stdin.readline()
            here.write('written')
            here.flush()
            fcntl.lockf(here, fcntl.LOCK_UN)
            sys.exit(os.waitpid(child, 0)[1])
            """;

    @Test
    void aLockAndWhoWaitsForItOutliveTheLeader() throws Exception {
        Path file = Files.createFile(cluster.mnt().resolve("outlives"));
        try (Mount second = cluster.mount("second")) {
            Process programs =
                    new ProcessBuilder(
                                    "python3",
                                    "-c",
                                    WAITER,
                                    file.toString(),
                                    second.mnt().resolve("outlives").toString())
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start();
            Awaitility.await("one waits")
                    .atMost(LIMIT)
                    .until(() -> states(file).contains("waiting"));
            String leader = "mds-" + cluster.status().path("leader").asInt();
            Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
            Awaitility.await("one waits at the next leader")
                    .atMost(LIMIT)
                    .ignoreExceptionsInstanceOf(AssertionError.class)
                    .until(() -> states(file).equals("[held, waiting]"));
            programs.getOutputStream().write('\n');
            programs.getOutputStream().flush();
            assertThat(programs.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(programs.exitValue()).isZero();
            cluster.start(leader, "mds");
        }
    }

    private String states(Path file) {
        String json =
                Cluster.cairn(
                                "locks",
                                file.toString(),
                                "--dir",
                                cluster.state().toString(),
                                "--json")
                        .ok()
                        .out();
        return new JsonMapper().readTree(json).findValuesAsString("state").toString();
    }
}
