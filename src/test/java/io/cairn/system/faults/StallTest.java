package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.Shell;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What programs see while servers do not answer for a while: that it takes long, nothing else. */
@Tag("part-6")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StallTest {
    private static final String BLOCK = "bs=4k count=1 conv=notrunc";
    private static final String EIO = "Input/output error";

    private final Cluster cluster = Cluster.temporary("--processes");

    @BeforeAll
    void up() {
        cluster.layOut();
        // So that a stall is seen to last: requests are repeated.
        cluster.configure(
                "mount", c -> c.replace("[client]\n", "[client]\nattempt_timeout = \"2s\"\n"));
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(Duration.ofMinutes(2));
    }

    private void awaitRetries(String plane) throws Exception {
        String name = "cairn_client_retries_total\\{[^}]*plane=\"" + plane + "\"[^}]*\\}";
        double before = Prometheus.value(cluster, "mount", name);
        await("requests of " + plane + " are repeated")
                .until(() -> Prometheus.value(cluster, "mount", name) > before);
    }

    /** A program whose timer rings every few milliseconds, as that of a profiler does. */
    @Test
    void aProcessWithATimerSeesNoErrorAndNothingTwice() throws Exception {
        Path program = cluster.base().resolve("alarmed");
        Path source = Files.writeString(cluster.base().resolve("alarmed.c"), ALARMED);
        Shell.run("cc", "-Wall", "-O", "-o", program.toString(), source.toString()).ok();
        Path work = Files.createDirectory(cluster.mnt().resolve("alarmed"));
        Path rounds = cluster.base().resolve("alarmed.rounds");
        Process alarmed =
                new ProcessBuilder(program.toString(), rounds.toString())
                        .directory(work.toFile())
                        .redirectErrorStream(true)
                        .start();
        try {
            awaitRounds(alarmed, rounds);
            for (String[] stall : new String[][] {{"data-", "data"}, {"mds-", "metadata"}}) {
                try (Stall _ = new Stall(cluster, stall[0])) {
                    awaitRetries(stall[1]);
                }
                awaitRounds(alarmed, rounds);
            }
            alarmed.getOutputStream().close();
            assertThat(alarmed.waitFor(120, TimeUnit.SECONDS)).isTrue();
            String said = new String(alarmed.getInputStream().readAllBytes());
            assertThat(alarmed.exitValue()).as(said).isZero();
            assertThat(said).contains("all there");
        } finally {
            alarmed.destroyForcibly(); // and closes what it said
        }
    }

    /** Several more than there are now. */
    private static void awaitRounds(Process process, Path rounds) throws IOException {
        long before = Files.exists(rounds) ? Files.size(rounds) : 0;
        await("rounds")
                .until(() ->
                        !process.isAlive()
                                || Files.exists(rounds) && Files.size(rounds) > before + 3);
    }

    @Test
    void aKilledProcessLeavesAtOnce() throws Exception {
        Path file = Files.write(cluster.mnt().resolve("killed"), new byte[1 << 20]);
        kill("data-", "dd", "if=/dev/zero", "of=" + file, "bs=64k", "oflag=direct", "conv=notrunc");
        kill("data-", "dd", "if=" + file, "of=/dev/null", "bs=64k", "iflag=direct");
        kill("data-", "sh", "-c", "echo x >>'" + file + "'");
        kill("mds-", "mkdir", cluster.mnt() + "/new");
        kill("mds-", "touch", cluster.mnt() + "/touched");
    }

    private void kill(String stalled, String... command) throws Exception {
        try (Stall _ = new Stall(cluster, stalled)) {
            Process process = new ProcessBuilder(command).start();
            await(List.of(command) + " waits").until(() -> waitsInFuse(process));
            process.destroyForcibly();
            assertThat(process.waitFor(20, TimeUnit.SECONDS))
                    .as("killed %s", List.of(command))
                    .isTrue();
        }
    }

    /**
     * The mount of {@code up} waits, one made with {@code soft} gives up; it also tells when the
     * other one has waited longer than that.
     */
    @Test
    void hardMountsWaitAndSoftOnesGiveUp() throws Exception {
        Files.write(cluster.mnt().resolve("waits"), new byte[4096]);
        try (Mount soft = cluster.mount("soft", "-o", "soft,timeo=20")) {
            for (String[] stall :
                    new String[][] {
                        {"data-", "dd if=/dev/zero of=%s/waits oflag=direct " + BLOCK, EIO},
                        {"data-", "dd if=%s/waits of=/dev/null iflag=direct " + BLOCK, EIO},
                        {"mds-", "mkdir %s/made-$$", "Connection timed out"}
                    }) {
                Process waiting;
                try (Stall _ = new Stall(cluster, stall[0])) {
                    waiting =
                            new ProcessBuilder(
                                            "bash",
                                            "-c",
                                            "exec " + stall[1].formatted(cluster.mnt()))
                                    .start();
                    await("it waits").until(() -> waitsInFuse(waiting));
                    Shell.Result given = Shell.bash(stall[1].formatted(soft.mnt()));
                    assertThat(given.exitCode()).as(stall[1]).isEqualTo(1);
                    assertThat(given.err()).contains(stall[2]);
                    assertThat(waiting.isAlive()).as(stall[1]).isTrue();
                }
                assertThat(waiting.waitFor(120, TimeUnit.SECONDS)).isTrue();
                assertThat(waiting.exitValue()).as(stall[1]).isZero();
            }
        }
    }

    private static boolean waitsInFuse(Process process) throws IOException {
        assertThat(process.isAlive()).isTrue();
        String function = Files.readString(Path.of("/proc", "" + process.pid(), "wchan"));
        return function.matches(".*(fuse|request_wait|folio_wait).*");
    }

    /**
     * Everything that fails if it is carried out twice, or not at all; a byte to a file per round.
     */
    private static final String ALARMED =
            """
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <poll.h>
            #include <signal.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            #include <sys/stat.h>
            #include <sys/time.h>
            #include <unistd.h>

            static volatile sig_atomic_t alarms;
            static void ring(int signal) { alarms++; }
            static long now;

            #define DO(call) do { errno = 0; if ((call) < 0) { \\
                printf("round %ld: %s: %s\\n", now, #call, strerror(errno)); exit(1); } } while (0)

            int main(int count, char **names) {
                struct sigaction action = { .sa_handler = ring }; /* no SA_RESTART */
                struct itimerval often = { { 0, 5000 }, { 0, 5000 } };
                static char block[4096], read_back[4096];
                struct pollfd end = { 0, POLLIN };
                int data, progress, file;
                DO(sigaction(SIGALRM, &action, NULL));
                DO(setitimer(ITIMER_REAL, &often, NULL));
                DO(progress = open(names[1], O_WRONLY | O_CREAT | O_TRUNC, 0644));
                DO(data = open("data", O_RDWR | O_CREAT | O_EXCL, 0644));
                for (now = 0; poll(&end, 1, 0) <= 0; now++) {
                    memset(block, (int) (now % 251) + 1, sizeof block);
                    if (write(data, block, sizeof block) != sizeof block) {
                        printf("round %ld: write: %s\\n", now, strerror(errno));
                        return 1;
                    }
                    DO(fsync(data));
                    DO(mkdir("a", 0755));
                    DO(rename("a", "b"));
                    DO(rmdir("b"));
                    DO(file = open("c", O_WRONLY | O_CREAT | O_EXCL, 0644));
                    DO(write(file, "x", 1));
                    DO(ftruncate(file, 0));
                    DO(close(file));
                    DO(link("c", "d"));
                    DO(unlink("c"));
                    DO(symlink("d", "c"));
                    DO(chmod("d", 0600));
                    DO(rename("c", "d"));
                    DO(unlink("d"));
                    DO(write(progress, ".", 1));
                }
                for (long i = 0; i < now; i++) {
                    memset(block, (int) (i % 251) + 1, sizeof block);
                    if (pread(data, read_back, sizeof block, i * sizeof block) != sizeof block
                        || memcmp(block, read_back, sizeof block) != 0) {
                        printf("block %ld is not what was written\\n", i);
                        return 1;
                    }
                }
                DO(lseek(data, 0, SEEK_END) == now * (long) sizeof block ? 0 : -1);
                printf("%ld rounds, %d alarms, all there\\n", now, (int) alarms);
                return 0;
            }
            """;
}
