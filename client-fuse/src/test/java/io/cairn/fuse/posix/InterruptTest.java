package io.cairn.fuse.posix;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes that wait for a cluster that does not answer can be ended. */
class InterruptTest {
    private static final int SIGINT = 2;
    private static final int SIGKILL = 9;
    private static final int SIGTERM = 15;

    @RegisterExtension final MountedMemory memory = new MountedMemory();

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
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(128 + signal);
    }

    @ParameterizedTest
    @CsvSource({
        SIGINT + ",open,cat a",
        SIGKILL + ",open,cat a",
        SIGTERM + ",read,dd if=a of=/dev/null iflag=direct bs=4096",
        SIGINT + ",read,cat a",
        SIGKILL + ",write,dd if=/dev/zero of=a bs=4096 count=1",
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
                blocked("write", "perl", "-e", "open(F, '>>', 'a'); syswrite(F, 'x'); close(F)");
        endedBy(process, SIGKILL);
        memory.client().letGo("write");
        memory.client().letGo("flush");
    }

    /** A handled signal, such as that of a timer, is no reason to fail what goes on all right. */
    @Test
    void handledSignalDoesNotDisturbAnOperationThatFinishes() throws Exception {
        Process shell =
                blocked(
                        "mkdir",
                        "perl",
                        "-e",
                        "$SIG{USR1} = sub {}; mkdir 'd' or die \"mkdir: $!\"; exit 7");
        assertThat(Posix.call("kill", (int) shell.pid(), 10)).isZero();
        memory.client().letGo("mkdir");
        assertThat(shell.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(shell.exitValue()).isEqualTo(7);
    }

    @Test
    void handledSignalEndsTheWaitInTheEnd() throws Exception {
        Process shell =
                blocked(
                        "mkdir",
                        "perl",
                        "-e",
                        "$SIG{USR1} = sub {}; exit(mkdir('d') ? 0 : 40 + $!)");
        assertThat(Posix.call("kill", (int) shell.pid(), 10)).isZero();
        assertThat(shell.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(shell.exitValue()).as("40 + EINTR").isEqualTo(44);
        memory.client().letGo("mkdir");
    }
}
