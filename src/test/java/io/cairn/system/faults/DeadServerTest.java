package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * One data server of three dies, or is suspended: reads and writes go on without it, and what it
 * missed is brought to it when it is back.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class DeadServerTest {
    /** Enough that every server is the primary of some of them. */
    private static final int FILES = 16;

    private final Cluster cluster = Cluster.temporary("--processes");
    private final List<MarkedFile> files = new ArrayList<>();

    @BeforeAll
    void up() {
        cluster.up();
        for (int i = 0; i < FILES; i++) {
            files.add(new MarkedFile(cluster, cluster.mnt().resolve("f" + i)));
        }
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    /** Every test begins with all replicas. */
    @BeforeEach
    void whole() {
        awaitStatus("every replica is in sync", "/pgs/degraded", 0);
    }

    private void awaitStatus(String what, String path, int value) {
        Awaitility.await(what)
                .atMost(Duration.ofMinutes(2))
                .until(() -> cluster.status().at(path).asInt(-1) == value);
    }

    private void kill(String part) {
        Cluster.kill9(List.of(cluster.process(part).orElseThrow()));
    }

    private void writeAll() {
        List<Process> writers = files.stream().map(MarkedFile::beginWrite).toList();
        for (int i = 0; i < FILES; i++) {
            files.get(i).awaitEnd(writers.get(i));
        }
    }

    private void checkAll() {
        List<Process> readers = files.stream().map(MarkedFile::beginCheck).toList();
        for (int i = 0; i < FILES; i++) {
            files.get(i).awaitEnd(readers.get(i));
        }
    }

    /** Each server is the one that is away once: in the end each has served what it was given. */
    @Test
    void readsAndWritesGoOnWithoutAnyOneServer() {
        for (String part : List.of("data-1", "data-2", "data-3")) {
            List<Process> underWay = files.stream().map(MarkedFile::beginWrite).toList();
            kill(part);
            for (int i = 0; i < FILES; i++) {
                files.get(i).awaitEnd(underWay.get(i));
            }
            checkAll();
            writeAll();
            checkAll();
            Path fresh = cluster.mnt().resolve("without-" + part);
            Shell.run("dd", "if=/dev/zero", "of=" + fresh, "bs=1M", "count=20", "conv=fsync").ok();
            Awaitility.await("the status says so")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> cluster.status().at("/pgs/degraded").asInt() > 0);
            assertThat(cluster.statusCommand().exitCode())
                    .as("exit code of a degraded cluster")
                    .isEqualTo(6);
            cluster.start(part, "dataserver");
            awaitStatus(part + " has everything again", "/pgs/degraded", 0);
            checkAll();
        }
    }

    /** What it holds for right when it goes on is old. */
    @Test
    void aSuspendedServerHoldsUpNobodyAndShowsNothingOld() {
        for (String part : List.of("data-1", "data-2", "data-3")) {
            try (Stall _ = new Stall(cluster, part)) {
                writeAll();
                checkAll();
            }
            checkAll();
            writeAll();
            awaitStatus(part + " has everything again", "/pgs/degraded", 0);
            checkAll();
        }
    }

    /** What waits for it until another server takes its place is more than a mount may hold. */
    @Test
    void deepQueuesWaitForAnotherServerAndMeetNoError() throws Exception {
        Path file = cluster.mnt().resolve("deep");
        Path report = cluster.base().resolve("deep.out");
        Shell.run("dd", "if=/dev/zero", "of=" + file, "bs=1M", "count=1024", "oflag=direct").ok();
        for (String part : List.of("data-1", "data-2", "data-3")) {
            Process fio = deepWrites(file, report);
            Awaitility.await("fio writes")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !fio.isAlive() || Files.size(report) > 0);
            try (Stall _ = new Stall(cluster, part)) {
                assertThat(fio.waitFor(5, TimeUnit.MINUTES)).as(part).isTrue();
            }
            assertThat(fio.exitValue()).as(Files.readString(report)).isZero();
            awaitStatus(part + " has everything again", "/pgs/degraded", 0);
        }
        Files.delete(file);
    }

    private static Process deepWrites(Path file, Path report) throws IOException {
        return new ProcessBuilder(
                        "fio",
                        "--name=deep",
                        "--filename=" + file,
                        "--rw=randwrite",
                        "--bs=1m",
                        "--iodepth=512",
                        "--ioengine=libaio",
                        "--direct=1",
                        "--size=1g",
                        "--time_based",
                        "--runtime=10")
                .redirectErrorStream(true)
                .redirectOutput(report.toFile())
                .start();
    }

    /** With two of three away nothing could be kept twice: writes wait, reads are served. */
    @Test
    void belowTheMinimumWritesWaitAndReadsAreServed() throws Exception {
        kill("data-1");
        awaitStatus("the others go on", "/pgs/below_min_size", 0);
        writeAll();
        kill("data-2");
        Awaitility.await("below the minimum")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.status().at("/pgs/below_min_size").asInt() > 0);
        checkAll();
        List<Process> waiting = files.stream().map(MarkedFile::beginWrite).toList();
        Awaitility.await("the writes have arrived")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.status().at("/pgs/below_min_size").asInt() > 0);
        assertThat(waiting).allMatch(Process::isAlive);
        cluster.start("data-2", "dataserver");
        for (int i = 0; i < FILES; i++) {
            files.get(i).awaitEnd(waiting.get(i));
        }
        cluster.start("data-1", "dataserver");
        awaitStatus("all have everything again", "/pgs/degraded", 0);
        checkAll();
    }
}
