package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.Shell;
import io.cairn.system.support.Stall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Servers that are paused: what does not need them goes on, and nothing is left of the processes
 * that were killed while they waited.
 */
@Tag("slow")
@Tag("part-7")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StuckServerTest {
    /**
     * Of 1 MiB: half of them are more than a mount may have in flight, and more than what the
     * servers that are left admit of uncommitted writes (14 MiB each with {@code up}).
     */
    private static final int FILES = 144;

    /** Bytes, of one request: libfuse 2 has writes cut. */
    private static final int LONGEST_WRITE = Cluster.BINDING.equals("jnr") ? 128 << 10 : 1 << 20;

    /** What programs and requests take of a mount. */
    private static final List<String> GAUGES =
            List.of(
                    "cairn_mount_handles",
                    "cairn_mount_in_flight",
                    "cairn_client_held_bytes",
                    "cairn_client_stuck_held_bytes",
                    "cairn_client_stuck_pgs",
                    "cairn_client_in_flight_bytes",
                    "cairn_client_queued",
                    "cairn_client_open_inodes",
                    "cairn_client_unpublished_inodes",
                    "cairn_client_mutations_outstanding");

    private final Cluster cluster = Cluster.temporary("--processes", "--data", "4");

    @BeforeAll
    void up() {
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(Duration.ofMinutes(3));
    }

    private double gauge(String name) throws Exception {
        return Prometheus.value(cluster, "mount", name);
    }

    private Map<String, Double> gauges() throws Exception {
        Map<String, Double> values = new TreeMap<>();
        for (String name : GAUGES) {
            values.put(name, gauge(name));
        }
        return values;
    }

    /** All of them. A file that was made stays open for a moment after its last close. */
    private Map<String, Double> atRest() throws Exception {
        await("nothing in flight")
                .until(() ->
                        gauges().entrySet().stream()
                                .filter(e -> !e.getKey().matches(".*handles"))
                                .allMatch(e -> e.getValue() == 0));
        return gauges();
    }

    private static Process start(Path directory, String... command) throws IOException {
        return new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
    }

    private static Process write(Path file) throws IOException {
        return start(
                Objects.requireNonNull(file.getParent()),
                "dd",
                "if=/dev/zero",
                "of=" + file,
                "bs=1M",
                "count=1",
                "oflag=direct",
                "conv=notrunc");
    }

    private static boolean waitsInFuse(Process process) {
        try {
            String function = Files.readString(Path.of("/proc", "" + process.pid(), "wchan"));
            return function.matches(".*(fuse|request_wait|folio_wait).*");
        } catch (IOException ended) {
            return false;
        }
    }

    private static void endsWell(Process process) throws Exception {
        assertThat(process.waitFor(180, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue())
                .as(() -> {
                    try {
                        return new String(process.getInputStream().readAllBytes());
                    } catch (IOException e) {
                        return e.toString();
                    }
                })
                .isZero();
    }

    /** Two of four data servers: half of the PGs have both, and too few replicas for writes. */
    @Test
    void filesOfOtherPgsNamesAndSignalsGoOn() throws Exception {
        Path work = Files.createDirectory(cluster.mnt().resolve("work"));
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < FILES; i++) {
            files.add(Files.write(work.resolve("f" + i), new byte[1 << 20]));
        }
        Map<String, Double> before = atRest();
        List<Process> waiting = new ArrayList<>();
        try (Stall _ = new Stall(cluster, "data-1", "data-2")) {
            List<Path> free = new ArrayList<>();
            for (Path file : files) {
                waiting.add(write(file));
            }
            await("the others end")
                    .until(() ->
                            gauge("cairn_client_stuck_pgs") > 0
                                    && waiting.stream().anyMatch(p -> !p.isAlive())
                                    && waiting.stream()
                                            .allMatch(p -> !p.isAlive() || waitsInFuse(p)));
            for (int i = FILES - 1; i >= 0; i--) {
                if (!waiting.get(i).isAlive()) {
                    endsWell(waiting.get(i));
                    waiting.remove(i);
                    free.add(files.get(i));
                }
            }
            assertThat(mountLog()).contains(" has not answered for placement group ");
            await("the status says which groups wait")
                    .until(() ->
                            cluster.status().at("/pgs/not_serving").asInt() > 0
                                    && cluster.status()
                                            .path("warnings")
                                            .toString()
                                            .contains("too few replicas in sync"));
            List<Path> stuck = new ArrayList<>(files);
            stuck.removeAll(free);
            assertThat(stuck).hasSizeGreaterThan(FILES / 3);
            await("all are found stuck")
                    .until(() -> gauge("cairn_client_stuck_held_bytes") > 20 * LONGEST_WRITE);

            for (Path file : free) {
                endsWell(write(file));
                assertThat(Files.readAllBytes(file)).hasSize(1 << 20);
            }
            Path deep = free.getFirst();
            Shell.run(
                            "fio",
                            "--name=deep",
                            "--filename=" + deep,
                            "--rw=randrw",
                            "--bs=4k",
                            "--size=1M",
                            "--loops=4",
                            "--direct=1",
                            "--ioengine=libaio",
                            "--iodepth=64")
                    .ok();
            Shell.run("ls", "-l", work.toString()).ok();
            for (Path file : files) {
                Shell.run("stat", file.toString()).ok();
            }
            Shell.run("touch", work + "/new").ok();
            // Not one that waits: the kernel locks a file that is written, here as everywhere.
            Shell.run("rm", work + "/new", free.getLast().toString()).ok();

            // Half of them are ended; not by SIGINT, which dd handles.
            for (int i = waiting.size() - 1; i >= 0; i -= 2) {
                Process one = waiting.remove(i);
                one.destroy(); // one that was only slow may have ended
                assertThat(one.waitFor(60, TimeUnit.SECONDS)).isTrue();
            }
            assertThat(waiting).anyMatch(Process::isAlive);
        }
        for (Process process : waiting) {
            endsWell(process);
        }
        await("the log says so").until(() -> mountLog().contains(" answers again after "));
        await("all serve again")
                .until(() ->
                        cluster.status().path("health").asString().equals("ok")
                                && cluster.status().at("/pgs/not_serving").asInt() == 0);
        assertThat(atRest()).isEqualTo(before);
        assertThat(Prometheus.value(cluster, "mount", "cairn_client_refused_writes_total"))
                .isZero();
    }

    private String mountLog() throws IOException {
        return Files.readString(cluster.state().resolve("mount/log"));
    }

    /** Waits for a line, then writes and syncs: only the sync needs the MDS. */
    private static final String SYNC =
            "import os,sys; f=os.open(sys.argv[1], os.O_WRONLY|os.O_CREAT); print('open', flush=True);"
                    + " sys.stdin.readline(); os.write(f, b'x'*100); os.fsync(f)";

    @Test
    void nothingIsLeftOfKilledProcesses() throws Exception {
        Path work = Files.createDirectory(cluster.mnt().resolve("killed"));
        for (int i = 0; i < 8; i++) {
            Files.write(work.resolve("f" + i), new byte[1 << 20]);
        }
        Files.write(work.resolve("read"), new byte[4096]); // one that was not looked at just before
        Map<String, Double> before = atRest();
        for (String[] kill :
                new String[][] {
                    {"data-", "dd if=/dev/zero of=f$i bs=1M count=4 oflag=direct conv=notrunc"},
                    {"data-", "dd if=/dev/zero of=f$i bs=64k conv=notrunc"},
                    {"data-", "dd if=/dev/zero of=f$i bs=1M count=1 conv=notrunc,fsync"},
                    {"data-", "dd if=f$i of=/dev/null bs=1M iflag=direct"},
                    {"data-", "dd if=/dev/zero of=f0 bs=64k oflag=append conv=notrunc"},
                    {"data-", "dd if=/dev/zero of=f$i bs=4M oflag=append,direct conv=notrunc"},
                    {
                        "data-",
                        "fio --name=a --filename=f$i --rw=randwrite --bs=64k --size=1M --direct=1"
                                + " --ioengine=libaio --iodepth=16 --fallocate=none --thread"
                    },
                    {"mds-", "stat --cached=never f$i"},
                    {"mds-", "cat read"},
                    {"mds-", "touch new$i"},
                    {"mds-", "mkdir d$i"},
                    {"mds-", "truncate -s 5 f$i"},
                    {"mds-", "ls -l ."},
                }) {
            // In the directory before the stall: to go there would wait for the MDS.
            // Names one by one: the kernel locks a directory in which one is made.
            List<Process> waiting = new ArrayList<>();
            for (int i = 0; i < (kill[0].equals("mds-") ? 1 : 8); i++) {
                String command = kill[1].replace("$i", "" + i);
                Process process =
                        start(work, "bash", "-c", "echo there; read -r go; exec " + command);
                assertThat(process.inputReader().readLine()).isEqualTo("there");
                waiting.add(process);
            }
            try (Stall _ = new Stall(cluster, kill[0])) {
                for (Process process : waiting) {
                    process.outputWriter().append('\n').flush();
                }
                // For a while: the mount looks after 100 ms which process a request is of, and does
                // not find one whose thread, not its first, was killed before.
                await(kill[1] + " waits")
                        .during(Duration.ofSeconds(1))
                        .until(() -> waiting.stream().allMatch(this::waits));
                kill(kill[1], waiting);
            }
            assertThat(atRest()).as(kill[1]).isEqualTo(before);
        }
        Process sync = start(work, "python3", "-c", SYNC, work + "/synced");
        assertThat(sync.inputReader().readLine()).isEqualTo("open");
        try (Stall _ = new Stall(cluster, "mds-")) {
            sync.outputWriter().append('\n').flush();
            await("fsync waits").until(() -> waitsInFuse(sync));
            kill("fsync", List.of(sync));
        }
        assertThat(atRest()).as("fsync").isEqualTo(before);
    }

    /** In one of its threads. */
    private boolean waits(Process process) {
        assertThat(process.isAlive()).isTrue();
        return waitsInFuse(process)
                || Shell.bash("cat /proc/" + process.pid() + "/task/*/wchan")
                        .out()
                        .matches(".*(fuse|request_wait|folio_wait|read_events).*");
    }

    private static void kill(String what, List<Process> processes) throws Exception {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("killed: %s", what).isTrue();
        }
    }
}
