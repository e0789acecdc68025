package io.cairn.fuse.posix;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that wait for a cluster that does not answer can be ended. */
class InterruptTest {
    private static final int SIGINT = 2;
    private static final int SIGKILL = 9;
    private static final int SIGUSR1 = 10;
    private static final int SIGTERM = 15;

    @RegisterExtension final MountedMemory memory = new MountedMemory(options());

    /** Of the mount; while this is made. */
    String options() {
        return "";
    }

    @BeforeEach
    void file() {
        int fd = Posix.open(memory.path("a"), Posix.O_RDWR | Posix.O_CREAT, 0644);
        Posix.pwrite(fd, new byte[100_000], 0);
        Posix.close(fd);
    }

    private Process blocked(String operation, String... command) throws IOException {
        memory.client().holdBack(operation);
        Process process =
                new ProcessBuilder(command)
                        .directory(memory.mount().mountPoint().toFile())
                        .redirectErrorStream(true)
                        .start();
        Awaitility.await().until(() -> memory.client().heldBack(operation) > 0);
        return process;
    }

    private void endedBy(Process process, int signal) throws InterruptedException {
        assertThat(Posix.call("kill", (int) process.pid(), signal)).isZero();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(128 + signal);
    }

    @ParameterizedTest
    @CsvSource({
        SIGINT + ",open,cat a",
        SIGKILL + ",open,cat a",
        SIGTERM + ",read,dd if=a of=/dev/null iflag=direct bs=4096",
        SIGINT + ",read,cat a",
        SIGKILL + ",write,dd if=/dev/zero of=a bs=4096 count=1",
        SIGKILL + ",append,dd if=/dev/zero of=a bs=4096 count=1 oflag=append conv=notrunc",
        SIGTERM + ",append,'dd if=/dev/zero of=a bs=4M count=1 oflag=append,direct conv=notrunc'",
        SIGINT + ",create,touch b",
        SIGTERM + ",mkdir,mkdir d",
    })
    void blockedProcessEnds(int signal, String operation, String command) throws Exception {
        String[] words = ("env --default-signal=INT,TERM " + command).split(" ", -1);
        Process process = blocked(operation, words);
        endedBy(process, signal);
        memory.client().letGo(operation);
        // What comes late is given back.
        Awaitility.await().until(() -> memory.client().openCount() == 0);
    }

    @Test
    void killedProcessEndsThoughItsCloseIsNotAnswered() throws Exception {
        memory.client().holdBack("flush");
        Process process =
                blocked("append", "perl", "-e", "open(F, '>>', 'a'); syswrite(F, 'x'); close(F)");
        endedBy(process, SIGKILL);
        memory.client().letGo("append");
        memory.client().letGo("flush");
    }

    /** The kernel closes the file when the process has left; no signal says so. */
    @Test
    void processEndsThoughItsLastCloseIsNotAnswered() throws Exception {
        Process process =
                blocked("flush", "perl", "-MPOSIX", "-e", "open(F, '>>', 'a'); POSIX::_exit(5)");
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(5);
        memory.client().letGo("flush");
    }

    /**
     * A signal with a handler, such as that of a timer, ends nothing however long the call takes. A
     * second process is the clock: that its last close is not answered is put up with for a second.
     */
    @Test
    void handledSignalsDoNotEndAnOperationThatTakesLong() throws Exception {
        Process made =
                blocked(
                        "mkdir",
                        "perl",
                        "-e",
                        "$SIG{USR1} = sub {}; mkdir 'd' or die \"mkdir: $!\"; exit 7");
        signalled(made, SIGUSR1);
        processEndsThoughItsLastCloseIsNotAnswered();
        assertThat(made.isAlive()).isTrue();
        memory.client().letGo("mkdir");
        assertThat(made.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(made.exitValue()).as(output(made)).isEqualTo(7);
    }

    /** The kernel tells of the first signal only. */
    @Test
    void killedAfterAHandledSignal() throws Exception {
        Process made = blocked("mkdir", "perl", "-e", "$SIG{USR1} = sub {}; mkdir 'd'");
        signalled(made, SIGUSR1);
        endedBy(made, SIGKILL);
        memory.client().letGo("mkdir");
    }

    /**
     * It waits in its exit, not in a call that a signal could end. The thread that asked, which is
     * not the first, may be gone before anybody looks.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void killedProcessEndsThoughItsAsynchronousIoIsNotAnswered(boolean atOnce) throws Exception {
        Process fio =
                blocked(
                        "write",
                        "fio",
                        "--name=w",
                        "--filename=a",
                        "--rw=write",
                        "--bs=4k",
                        "--size=64k",
                        "--direct=1",
                        "--ioengine=libaio",
                        "--iodepth=8",
                        "--thread=1",
                        "--fallocate=none");
        Awaitility.await().until(() -> memory.client().heldBack("write") == 8);
        if (!atOnce) {
            processEndsThoughItsLastCloseIsNotAnswered(); // which takes a second
        }
        endedBy(fio, SIGKILL);
        memory.client().letGo("write");
        Awaitility.await().until(() -> memory.client().openCount() == 0);
    }

    /** More than the readers once held before they stopped to read. */
    @Test
    void otherCallsGoOnWhileManyWritesAreNotAnswered() throws Exception {
        // Writes that extend a file go one after the other.
        assertThat(Posix.call("truncate", memory.path("a"), 100L << 20)).isZero();
        Process fio =
                blocked(
                        "write",
                        "fio",
                        "--name=w",
                        "--filename=a",
                        "--rw=write",
                        "--bs=1M",
                        "--size=100M",
                        "--direct=1",
                        "--ioengine=libaio",
                        "--iodepth=100",
                        "--thread=1",
                        "--fallocate=none");
        try {
            Awaitility.await()
                    .atMost(60, TimeUnit.SECONDS)
                    .until(() -> memory.client().heldBack("write") == 100);
            assertThat(Posix.lstat(memory.path("a")).error()).isZero();
            endedBy(fio, SIGKILL);
        } finally {
            memory.client().letGo("write");
        }
        Awaitility.await().until(() -> memory.client().openCount() == 0);
    }

    /** Sends it and waits until the mount has been told. */
    private void signalled(Process process, int signal) {
        long before = memory.interrupts();
        assertThat(Posix.call("kill", (int) process.pid(), signal)).isZero();
        Awaitility.await().until(() -> memory.interrupts() > before);
    }

    private static String output(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
