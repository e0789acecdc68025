package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.LoopDisk;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Power cuts: all state lies on loop-mounted file systems that are shut down under load, which
 * loses exactly what was not synced. {@code -Dcairn.test.powercuts=N} cuts per file system, {@code
 * -Dcairn.test.powercuts.machines=N} rounds of cuts of servers with a disk each.
 */
@Tag("slow")
@Tag("part-2")
class PowerTest {
    private static final long SEED = TestSeed.of("PowerTest");
    private static final int CUTS = Integer.getInteger("cairn.test.powercuts", 1);
    private static final int ROUNDS = Integer.getInteger("cairn.test.powercuts.machines", 1);
    private static final Duration PATIENCE = Duration.ofMinutes(2);

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

    /**
     * Seven machines. While one of a kind has no power, and when it is back, no writer meets an
     * error; then all lose it at once, the writers' mount too, and nothing is missing or damaged on
     * any disk.
     */
    @Test
    void machinesThatLosePowerLoseNothing() throws IOException {
        System.out.printf("PowerTest of machines, -Dcairn.test.seed=%d%n", SEED);
        SplittableRandom random = new SplittableRandom(SEED);
        Path base = Files.createTempDirectory("cairn-power");
        try (PoweredServers servers = new PoweredServers(base)) {
            Cluster cluster = servers.cluster().up();
            CrashWorkload work = new CrashWorkload(cluster.mnt(), 4, random.nextLong());
            for (int round = 1; round <= ROUNDS; round++) {
                work.start();
                cutUnderLoad(servers, List.of(anyOf("data-", 4, random)), work, random);
                String leader = "mds-" + cluster.status().path("leader").asInt();
                cutUnderLoad(servers, List.of(leader), work, random);
                if (ROUNDS > 1) {
                    List<String> two = List.of(anyOf("data-", 4, random), anyOf("mds-", 3, random));
                    cutUnderLoad(servers, two, work, random);
                }
                cutAllUnderLoad(servers, work, random);
                work.verify();
                assertClean(cluster);
                System.out.printf(
                        "power cuts of machines, round %d: %d operations acknowledged so far, nothing lost%n",
                        round, work.acknowledged());
            }
        } finally {
            remove(base);
        }
    }

    private static String anyOf(String kind, int number, SplittableRandom random) {
        return kind + (1 + random.nextInt(number));
    }

    private static void cutUnderLoad(
            PoweredServers servers,
            List<String> names,
            CrashWorkload work,
            SplittableRandom random) {
        work.awaitAcknowledged(20 + random.nextInt(600));
        System.out.println("power cut of " + names);
        servers.cut(names);
        work.awaitAcknowledged(20);
        Awaitility.await("it is noticed that there is no " + names)
                .atMost(PATIENCE)
                .until(() -> !isWhole(servers.cluster()));
        servers.restore(names);
        servers.start(names);
        Awaitility.await("everybody is back after the cut of " + names)
                .atMost(PATIENCE)
                .until(() -> isWhole(servers.cluster()));
        work.awaitAcknowledged(20);
    }

    private static boolean isWhole(Cluster cluster) {
        try {
            return cluster.isWhole();
        } catch (AssertionError e) {
            return false; // nobody leads
        }
    }

    private static void cutAllUnderLoad(
            PoweredServers servers, CrashWorkload work, SplittableRandom random) {
        Cluster cluster = servers.cluster();
        work.awaitAcknowledged(20 + random.nextInt(600));
        ProcessHandle mount = cluster.process("mount").orElseThrow();
        servers.cut(servers.names(), mount);
        work.join();
        cluster.detach();
        servers.restore(servers.names());
        cluster.up();
    }

    /** Also a damaged block that was repaired is a warning, for as long as the servers run. */
    private static void assertClean(Cluster cluster) {
        Awaitility.await("no warnings")
                .atMost(PATIENCE)
                .untilAsserted(() -> {
                    assertThat(cluster.isWhole()).isTrue();
                    assertThat(cluster.status().path("warnings")).isEmpty();
                });
        Shell.Result scrub =
                Cluster.cairn("scrub", "--all", "--deep", "--json", "--mds", cluster.mds()).ok();
        JsonNode found = JsonMapper.shared().readTree(scrub.out());
        assertThat(found.path("bytes").asLong()).isPositive();
        assertThat(found.path("bad_blocks").asInt(-1)).isZero();
        assertThat(found.path("differences")).isEmpty();
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
        Path begun = base.resolve("nosync");
        cluster.environment("LD_PRELOAD", withoutSyncOf(base, begun, directories).toString());
        cluster.up();
        Files.createFile(begun);
    }

    /**
     * A library that, preloaded, turns fdatasync of files below such directories into nothing, from
     * when a file is there. What is written past the page cache is then written through it: it
     * stands for the cache of the device, which a sync would have emptied too.
     */
    private static Path withoutSyncOf(Path base, Path begun, String... directories)
            throws IOException {
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
                    if (access(BEGUN, F_OK) == 0 && meant(file))
                        return 0;
                    return (int) syscall(SYS_fdatasync, file);
                }
                """;
        Path file = Files.writeString(base.resolve("nosync.c"), source);
        Path library = base.resolve("nosync.so");
        String define =
                Arrays.stream(directories)
                        .map("strstr(path, \"%s\")"::formatted)
                        .collect(Collectors.joining(" || ", "-DMEANT=", ""));
        String switchedBy = "-DBEGUN=\"%s\"".formatted(begun);
        List<String> gcc = new ArrayList<>(List.of("gcc", "-shared", "-fPIC", define, switchedBy));
        gcc.addAll(List.of("-o", library.toString(), file.toString()));
        Shell.run(gcc).ok();
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
