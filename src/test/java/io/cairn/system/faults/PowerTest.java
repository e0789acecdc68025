package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.LoopDisk;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Power cuts: all state lies on a loop-mounted file system that is shut down under load, which
 * loses exactly what was not synced. {@code -Dcairn.test.powercuts=N} cuts per file system.
 */
@Tag("slow")
class PowerTest {
    private static final long SEED = Long.getLong("cairn.test.seed", System.nanoTime());
    private static final int CUTS = Integer.getInteger("cairn.test.powercuts", 2);

    @ParameterizedTest
    @ValueSource(strings = {"xfs", "ext4"})
    void nothingAcknowledgedIsLost(String type) throws IOException {
        System.out.printf("PowerTest %s %d cuts, -Dcairn.test.seed=%d%n", type, CUTS, SEED);
        SplittableRandom random = new SplittableRandom(SEED);
        Path base = Files.createTempDirectory("cairn-power");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), type, "6G");
                Cluster cluster = new Cluster(base, disk.mountPoint().resolve("state"))) {
            cluster.up();
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            for (int i = 0; i < CUTS; i++) {
                cutUnderLoad(cluster, disk, work, random);
                cluster.up();
                work.verify();
                System.out.printf(
                        "%s power cut %d: %d operations acknowledged so far, nothing lost%n",
                        type, i + 1, work.acknowledged());
            }
        } finally {
            remove(base);
        }
    }

    /** The test of the test: servers that leave out one kind of sync must be caught losing. */
    @ParameterizedTest
    @ValueSource(strings = {"/wal/segment", "/raft/"})
    void serversThatDoNotSyncAreCaught(String unsynced) throws IOException {
        SplittableRandom random = new SplittableRandom(SEED);
        Path base = Files.createTempDirectory("cairn-power");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), "xfs", "6G");
                Cluster cluster = new Cluster(base, disk.mountPoint().resolve("state"))) {
            upWithoutSyncOf(cluster, base, unsynced);
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            cutUnderLoad(cluster, disk, work, random);
            AssertionError loss =
                    catchThrowableOfType(
                            AssertionError.class,
                            () -> {
                                cluster.up();
                                work.verify();
                            });
            assertThat(loss)
                    .as("a power cut of servers that never sync %s", unsynced)
                    .hasMessageContaining("LOST");
            System.out.printf(
                    "without syncs of %s, after %d acknowledged operations: %s%n",
                    unsynced, work.acknowledged(), loss.getMessage());
        } finally {
            remove(base);
        }
    }

    /**
     * What killed servers had in the page cache only, those that are started after them show: it
     * has to outlive a power cut right behind that, though nobody syncs it any more.
     */
    @Test
    void whatKilledServersLeftInThePageCacheIsMadeDurable() throws IOException {
        System.out.printf("PowerTest after a kill, -Dcairn.test.seed=%d%n", SEED);
        SplittableRandom random = new SplittableRandom(SEED);
        Path base = Files.createTempDirectory("cairn-power");
        try (LoopDisk disk = LoopDisk.make(base.resolve("disk"), "xfs", "6G");
                Cluster cluster = new Cluster(base, disk.mountPoint().resolve("state"))) {
            upWithoutSyncOf(cluster, base, "/wal/segment", "/raft/");
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            work.start();
            work.awaitAcknowledged(20 + random.nextInt(600));
            cluster.kill9();
            work.join();
            cluster.environment("LD_PRELOAD", "");
            cluster.up();
            cutPower(cluster, disk, () -> {});
            cluster.up();
            work.verify();
        } finally {
            remove(base);
        }
    }

    /** Made with syncs: only what is acknowledged from now on may be missing. */
    private static void upWithoutSyncOf(Cluster cluster, Path base, String... directories)
            throws IOException {
        cluster.up();
        cluster.down();
        cluster.environment("LD_PRELOAD", withoutSyncOf(base, directories).toString());
        cluster.up();
    }

    /**
     * A library that, preloaded, turns fdatasync of files below such directories into nothing. What
     * is written past the page cache is then written through it: it stands for the cache of the
     * device, which a sync would have emptied too.
     */
    private static Path withoutSyncOf(Path base, String... directories) throws IOException {
        String source =
                """
                #define _GNU_SOURCE
                #include <fcntl.h>
                #include <stdarg.h>
                #include <stdio.h>
                #include <string.h>
                #include <sys/syscall.h>
                #include <unistd.h>
                static int meant(int file) {
                    char link[64], path[4096] = {0};
                    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
                    return readlink(link, path, sizeof path - 1) > 0 && (MEANT);
                }
                int fcntl(int file, int command, ...) {
                    va_list rest;
                    va_start(rest, command);
                    long argument = va_arg(rest, long);
                    va_end(rest);
                    if (command == F_SETFL && meant(file))
                        argument &= ~O_DIRECT;
                    return (int) syscall(SYS_fcntl, file, command, argument);
                }
                int fdatasync(int file) {
                    return meant(file) ? 0 : (int) syscall(SYS_fdatasync, file);
                }
                """;
        Path file = Files.writeString(base.resolve("nosync.c"), source);
        Path library = base.resolve("nosync.so");
        String define =
                Arrays.stream(directories)
                        .map("strstr(path, \"%s\")"::formatted)
                        .collect(Collectors.joining(" || ", "-DMEANT=", ""));
        Shell.run("gcc", "-shared", "-fPIC", define, "-o", library.toString(), file.toString())
                .ok();
        return library;
    }

    private static void cutUnderLoad(
            Cluster cluster, LoopDisk disk, CrashWorkload work, SplittableRandom random) {
        work.start();
        work.awaitAcknowledged(20 + random.nextInt(600));
        cutPower(cluster, disk, work::join);
    }

    private static void cutPower(Cluster cluster, LoopDisk disk, Runnable servedNoMore) {
        // One process with the mount in it; looked up now, since its pid file goes with the disk.
        List<ProcessHandle> servers = cluster.processes();
        disk.cutPower();
        servers.forEach(Cluster::awaitEnd); // by themselves: their disk fails
        servedNoMore.run();
        cluster.detach();
        disk.remount();
    }

    /** The cluster could not: the disk was still mounted in it. */
    private static void remove(Path base) {
        Shell.run("rm", "-rf", "--one-file-system", base.toString());
    }
}
