package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Parts started one by one as an administrator does, and a cluster in the foreground. */
@Tag("part-2")
class PartsTest {
    private static final Duration LIMIT = Duration.ofMinutes(2);

    /**
     * With three metadata servers: they are processes of their own without being asked to. And with
     * a mount point that is not there yet.
     */
    @Test
    void theForegroundEndsWithTheMountAndStopsTheRest() throws Exception {
        try (Cluster cluster = Cluster.temporary()) {
            Files.delete(cluster.mnt());
            Process up = foreground(cluster, "--mds", "3");
            awaitMounted(cluster, up, "up");
            assertThat(cluster.processes()).hasSize(7);
            Cluster.cairn("umount", cluster.mnt().toString()).ok();
            assertThat(exitCode(up)).isZero();
            assertThat(cluster.processes()).isEmpty();
            Cluster.cairn(
                            "up",
                            cluster.mnt().toString(),
                            "--dir",
                            cluster.state().toString(),
                            "--wal-size",
                            "512MiB")
                    .saysOneLine(2, "with logs of 256MiB");
            Shell.Result down =
                    Cluster.cairn("down", "--json", "--dir", cluster.state().toString()).ok();
            assertThat(JsonMapper.shared().readTree(down.out()).path("stopped")).isEmpty();
        }
    }

    @Test
    void theForegroundSaysWhichPartDied() throws Exception {
        try (Cluster cluster = Cluster.temporary()) {
            Process up = foreground(cluster, "--processes");
            awaitMounted(cluster, up, "up");
            Cluster.kill9(List.of(cluster.process("data-2").orElseThrow()));
            assertThat(exitCode(up)).isEqualTo(1);
            assertThat(cluster.processes()).isEmpty();
            assertThat(Files.readString(cluster.base().resolve("up.err")))
                    .contains("data-2 ended with exit code 137");
        }
    }

    @Test
    void everyPartStopsOnSigtermWithZero() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up();
            Files.writeString(cluster.mnt().resolve("f"), "kept");
            String mds = cluster.mds();
            cluster.down();
            List<Process> parts = new ArrayList<>();
            try {
                parts.add(start(cluster, "mds-1", "mds", "--config", config(cluster, "mds-1")));
                for (String part : List.of("data-1", "data-2", "data-3")) {
                    parts.add(
                            start(cluster, part, "dataserver", "--config", config(cluster, part)));
                }
                String mnt = cluster.mnt().toString();
                parts.add(start(cluster, "mount", "mount", mds, mnt, "-o", "ro"));
                awaitMounted(cluster, parts.getLast(), "mount");
                assertThat(Files.readString(cluster.mnt().resolve("f"))).isEqualTo("kept");
                assertThat(Shell.bash("touch " + mnt + "/g").err()).contains("Read-only");
                for (Process part : parts.reversed()) {
                    part.destroy();
                    assertThat(exitCode(part)).as("%s", part.info()).isZero();
                }
                assertThat(Shell.bash("mountpoint -q " + mnt).exitCode()).isNotZero();
            } finally {
                parts.forEach(Process::destroyForcibly);
            }
        }
    }

    private static Process foreground(Cluster cluster, String... options) throws IOException {
        List<String> arguments =
                new ArrayList<>(List.of("up", cluster.mnt().toString(), "--foreground"));
        arguments.addAll(List.of("--dir", cluster.state().toString()));
        arguments.addAll(List.of(options));
        return start(cluster, "up", arguments.toArray(String[]::new));
    }

    private static Process start(Cluster cluster, String name, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Cluster.REPOSITORY.resolve("cairn").toString());
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(cluster.base().resolve(name + ".out").toFile())
                .redirectError(cluster.base().resolve(name + ".err").toFile())
                .start();
    }

    private static String config(Cluster cluster, String part) {
        return cluster.state().resolve(part).resolve("config.toml").toString();
    }

    /**
     * @param name of the process that mounts, whose words are shown if it has ended instead
     */
    private static void awaitMounted(Cluster cluster, Process process, String name) {
        Awaitility.await("mounted")
                .atMost(LIMIT)
                .until(() -> {
                    if (!process.isAlive()) {
                        throw new AssertionError(
                                name
                                        + " ended with "
                                        + process.exitValue()
                                        + ": "
                                        + Files.readString(cluster.base().resolve(name + ".err")));
                    }
                    return Shell.bash("findmnt -t fuse.cairn --mountpoint " + cluster.mnt())
                                    .exitCode()
                            == 0;
                });
    }

    private static int exitCode(Process process) throws InterruptedException {
        assertThat(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).as("ended").isTrue();
        return process.exitValue();
    }
}
