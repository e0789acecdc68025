package io.cairn.system.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/**
 * A further mount of a running cluster, a client of its own, made with {@code cairn mount} as a
 * user makes one: {@code cluster.mount("b")} beside the mount of {@code cairn up}. Closing it
 * unmounts it and demands that its process ends without an error. For tests of one thread; the
 * mount point is for any.
 */
public final class Mount implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Path mountPoint;
    private final Path log;
    private final Process process;

    /** Something was mounted there before: a dead mount. */
    private final boolean overAnother;

    /**
     * Returns when the file system is mounted.
     *
     * @param name of the mount point and of its log, both below the cluster's base
     * @param options of {@code cairn mount}, besides what is mounted and where
     */
    public Mount(Cluster cluster, String name, String... options) {
        mountPoint = cluster.base().resolve(name);
        log = cluster.base().resolve(name + ".log");
        overAnother = isMountPoint();
        List<String> command = new ArrayList<>(cluster.inside(name));
        command.add("setsid"); // no signals of the terminal
        command.addAll(List.of(Cluster.REPOSITORY.resolve("cairn").toString(), "mount"));
        command.addAll(List.of(cluster.source(), mountPoint.toString()));
        command.addAll(Cluster.bound(List.of(options)));
        try {
            if (Files.notExists(mountPoint)) { // a dead mount's exists, and cannot be looked at
                Files.createDirectory(mountPoint);
            }
            process =
                    new ProcessBuilder(command)
                            .redirectInput(Path.of("/dev/null").toFile())
                            .redirectOutput(log.toFile())
                            .redirectErrorStream(true)
                            .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            Awaitility.await("mounted").atMost(LIMIT).until(this::isMounted);
        } catch (Throwable e) {
            kill();
            throw e;
        }
    }

    /** The mount point. */
    public Path mnt() {
        return mountPoint;
    }

    /** For its process; to be made before files of it are opened. */
    public Signals signals() {
        return new Signals(process.pid());
    }

    /** Pauses its process until the result is closed; starts processes, see {@link Signals}. */
    public Stall stall() {
        return new Stall(List.of(process.pid()));
    }

    /** The process that serves it. */
    public ProcessHandle process() {
        return process.toHandle();
    }

    /** What its process has said so far. */
    public String log() {
        return words();
    }

    /** kill -9 of the mount's process; what is mounted is dead from then on. */
    public void die() {
        process.destroyForcibly();
        Cluster.awaitEnd(process.toHandle());
    }

    /** kill -9 of the mount's process, and the mount point detached. */
    public void kill() {
        die();
        Shell.run("umount", "-l", mountPoint.toString());
    }

    /** Nothing more to do if it was killed. */
    @Override
    public void close() {
        if (!process.isAlive() && !isMountPoint()) {
            return;
        }
        try {
            Cluster.cairn("umount", mountPoint.toString()).ok();
            assertThat(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .as("the unmounted process ends")
                    .isTrue();
            assertThat(process.exitValue()).as(this::words).isZero();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while unmounting " + mountPoint, e);
        } finally {
            kill();
        }
    }

    private boolean isMounted() {
        if (!process.isAlive()) {
            throw new AssertionError("ended with " + process.exitValue() + ": " + words());
        }
        // What a killed mount left behind does not answer, once the kernel's attributes are old.
        return (!overAnother || words().contains(" mounted "))
                && isMountPoint()
                && Shell.run("stat", mountPoint.toString()).exitCode() == 0;
    }

    private boolean isMountPoint() {
        return Shell.run("findmnt", "-t", "fuse.cairn", "--mountpoint", mountPoint.toString())
                        .exitCode()
                == 0;
    }

    private String words() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            return log + " cannot be read: " + e;
        }
    }
}
