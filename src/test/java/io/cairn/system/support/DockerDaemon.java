package io.cairn.system.support;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.testcontainers.DockerClientFactory;

/**
 * A dockerd of the tests' own, in the network and mount namespace of the fork they run in, where
 * its bridge and its iptables chains disturb nobody and vanish with it. It reaches no registry.
 * Listens where {@code src/test/isolated/bin/java} says (DOCKER_HOST), as Testcontainers reads that
 * from the environment only. Closing it removes all containers and images. One thread.
 */
public final class DockerDaemon implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DockerDaemon.class);
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration END_LIMIT = Duration.ofSeconds(20);
    private static final String UNIX = "unix://";

    private final Path base;
    private final Process process;

    private DockerDaemon(Path base, Process process) {
        this.base = base;
        this.process = process;
    }

    /** Why none can be started here: a part that is missing; null if none is. */
    private static @Nullable String missing() {
        String host = System.getenv("DOCKER_HOST");
        if (host == null || !host.startsWith(UNIX + "/tmp/cairn-docker-")) {
            return "system tests do not run in a fork of their own";
        }
        for (String program : List.of("dockerd", "docker", "containerd", "runc", "iptables")) {
            if (Arrays.stream(System.getenv("PATH").split(File.pathSeparator))
                    .noneMatch(folder -> Files.isExecutable(Path.of(folder, program)))) {
                return program + " is not installed (make setup)";
            }
        }
        return null;
    }

    /** What became of an attempt: a daemon, or the reason why there is none. */
    public record Attempt(@Nullable DockerDaemon daemon, String reason) {}

    /** Starts one if that is possible here; else says why not, as a rule within seconds. */
    public static Attempt start() {
        String missing = missing();
        if (missing != null) {
            return new Attempt(null, missing);
        }
        Path socket = Path.of(System.getenv("DOCKER_HOST").substring(UNIX.length()));
        Path base = Objects.requireNonNull(socket.getParent());
        try {
            Files.createDirectories(base);
            DockerDaemon daemon = new DockerDaemon(base, launch(base));
            String reason =
                    daemon.answersInTime()
                            ? daemon.refusalOfAContainer()
                            : "dockerd: " + daemon.lastError();
            if (reason.isEmpty()) {
                return new Attempt(daemon, "");
            }
            daemon.close();
            return new Attempt(null, reason);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** With an empty configuration instead of this machine's, which is for another dockerd. */
    private static Process launch(Path base) throws IOException {
        Path config = Files.writeString(base.resolve("daemon.json"), "{}");
        List<String> command = new ArrayList<>(List.of("dockerd"));
        command.addAll(List.of("--config-file", config.toString()));
        command.addAll(List.of("--host", System.getenv("DOCKER_HOST")));
        command.addAll(List.of("--data-root", base.resolve("data").toString()));
        command.addAll(List.of("--exec-root", base.resolve("exec").toString()));
        command.addAll(List.of("--pidfile", base.resolve("pid").toString()));
        return new ProcessBuilder(command)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(base.resolve("log").toFile())
                .redirectErrorStream(true)
                .start();
    }

    /** False when it has ended, or is silent for too long. */
    private boolean answersInTime() {
        try {
            Awaitility.await().atMost(LIMIT).until(() -> !process.isAlive() || answers());
            return process.isAlive();
        } catch (ConditionTimeoutException e) {
            return false;
        }
    }

    private static boolean answers() {
        return Shell.run("timeout", "5", "docker", "version").exitCode() == 0;
    }

    /**
     * A dockerd that answers may still be unable to start a container, for want of control groups
     * or of rights. So one with a network, and with what a mount needs, is started from nothing.
     *
     * @return why it could not be; empty if it could
     */
    private String refusalOfAContainer() {
        Shell.Result tried =
                Shell.bash(
                        """
                        set -e -o pipefail
                        mkdir -p '%1$s/probe'; cd '%1$s/probe'
                        echo 'int main(void) { return 0; }' | gcc -static -o true -x c -
                        tar -c true | timeout 60 docker import - cairn-probe
                        timeout 60 docker network create cairn-probe
                        timeout 60 docker run --rm --init --network cairn-probe --device /dev/fuse --cap-add SYS_ADMIN \
                            --security-opt apparmor=unconfined cairn-probe /true
                        timeout 60 docker network rm cairn-probe; timeout 60 docker rmi cairn-probe
                        """
                                .formatted(base));
        return tried.exitCode() == 0
                ? ""
                : "a container cannot be started here: "
                        + tried.err().lines().reduce("nothing was said", (_, last) -> last);
    }

    private String lastError() throws IOException {
        String silent = process.isAlive() ? "no answer in " + LIMIT.toSeconds() + " s; " : "";
        List<String> lines = Files.readAllLines(base.resolve("log"));
        return silent
                + lines.stream()
                        .filter(line -> line.contains("failed") || line.contains("level=fatal"))
                        .reduce((_, last) -> last)
                        .orElse(lines.isEmpty() ? "it said nothing" : lines.getLast());
    }

    /** A directory that goes with the daemon, below which containers may have bind mounts. */
    public Path directory(String name) {
        try {
            return Files.createDirectories(base.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            if (process.isAlive()) {
                Shell.bash("timeout 5 docker ps -aq | timeout 60 xargs -r docker rm -f -v");
            }
        } finally {
            process.destroy();
            end();
            Shell.run("rm", "-rf", "--one-file-system", base.toString());
            silenceHook();
        }
    }

    private void end() {
        try {
            if (!process.waitFor(END_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while dockerd ends", e);
        }
    }

    /**
     * When the JVM ends, Testcontainers asks the daemon for what is left, and throws because there
     * is none any more.
     */
    private static void silenceHook() {
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            if (!DockerClientFactory.TESTCONTAINERS_THREAD_GROUP.equals(thread.getThreadGroup())) {
                LOG.error("thread {} ended", thread.getName(), failure);
            }
        });
    }
}
