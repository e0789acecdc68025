package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.DiskErrors;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A data server with two disks that both have data, one of which is bad. What lives on the other
 * disk is read and written on, nothing wrong is ever read, what lives on the bad one waits or comes
 * from another replica, and the status says what to do.
 */
@Tag("slow")
@TestInstance(Lifecycle.PER_CLASS)
class OneBadDiskTest {
    private static final String SERVER = "data-1";
    private static final String BAD = "disk-2";

    private static final String SECOND_DISK =
            """

            [[disk]]
            data = "disk-2/data"
            wal = "disk-2/wal"
            index = "disk-2/index"
            capacity = "256MiB"
            wal_size = "64MiB"
            wal_segment = "16MiB"
            """;

    private final Cluster cluster =
            Cluster.temporary("--processes", "--capacity", "256MiB", "--wal-size", "64MiB");

    private DiskErrors errors;
    private int server;
    private int bad;

    /** Its primary is on the bad disk. */
    private MarkedFile led;

    /** A backup of it is on the bad disk. */
    private MarkedFile backedUp;

    /** Its primary is on the good disk of the same server. */
    private MarkedFile elsewhere;

    @BeforeAll
    void up() {
        cluster.layOut();
        cluster.configure(SERVER, c -> c + SECOND_DISK);
        // Else the placement groups are spread before the second disk is there.
        // And what is on the bad one stays there.
        cluster.configure(
                "mds-1",
                c ->
                        c.replace(
                                "bootstrap_disks = 3",
                                "bootstrap_disks = 4\nfailed_out_interval = \"1h\""));
        errors = DiskErrors.in(cluster.base());
        cluster.environment("LD_PRELOAD", errors.library().toString());
        cluster.up();
        findFiles();
    }

    /** Writes files until one of each kind is there. */
    private void findFiles() {
        bad = idOf(disk("data"));
        int good = idOf(cluster.state().resolve(SERVER).resolve("disk/data"));
        for (int i = 0; led == null || backedUp == null || elsewhere == null; i++) {
            MarkedFile file = new MarkedFile(cluster, cluster.mnt().resolve("file" + i));
            List<Integer> of = file.disks();
            if (of.getFirst() == bad) {
                led = file;
            } else if (of.contains(bad)) {
                backedUp = file;
            } else if (of.getFirst() == good) {
                elsewhere = file;
            }
        }
    }

    /** Its number in the cluster; also notes that of its server. */
    private int idOf(Path data) {
        return Awaitility.await("disk " + data + " in the status")
                .atMost(Duration.ofMinutes(1))
                .until(
                        () -> {
                            for (JsonNode s : cluster.status().path("data_servers")) {
                                for (JsonNode disk : s.path("disks")) {
                                    if (disk.path("data").asString().equals(data.toString())) {
                                        server = s.path("id").asInt();
                                        return disk.path("id").asInt();
                                    }
                                }
                            }
                            return 0;
                        },
                        id -> id > 0);
    }

    @AfterEach
    void noMoreErrors() {
        errors.none();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void notMounted() throws IOException {
        Path disk = cluster.state().resolve(SERVER).resolve(BAD);
        Path away = disk.resolveSibling("not-mounted");
        whileDown(
                () -> Files.move(disk, away),
                () -> {
                    assertThat(disk).as("no new disk in its place").doesNotExist();
                    Files.move(away, disk);
                },
                "mount its file system");
    }

    @Test
    void aSegmentOfTheLogIsMissing() throws IOException {
        Path segment = disk("wal").resolve("segment-00001");
        Path away = cluster.base().resolve("segment");
        whileDown(
                () -> Files.move(segment, away),
                () -> Files.move(away, segment),
                segment + " is missing",
                "put it back");
    }

    @Test
    void aBitOfTheIndexFlipped() throws IOException {
        List<Path> flipped = new ArrayList<>();
        whileDown(
                () -> {
                    flipped.addAll(tables(disk("index")));
                    flipBits(flipped);
                },
                () -> flipBits(flipped),
                "cannot open disk",
                ".sst");
    }

    private static List<Path> tables(Path index) throws IOException {
        try (Stream<Path> files = Files.list(index)) {
            List<Path> tables = files.filter(f -> f.toString().endsWith(".sst")).toList();
            assertThat(tables).isNotEmpty();
            return tables;
        }
    }

    private static void flipBits(List<Path> files) throws IOException {
        for (Path file : files) {
            flipBit(file, 10);
        }
    }

    @Test
    void aSectorThatCannotBeWritten() throws IOException {
        long sector = place(backedUp, 9);
        whileServing(
                () -> errors.fail(DiskErrors.Call.WRITE, disk("data"), sector, 512),
                "flushing",
                "Input/output error");
    }

    @Test
    void aSyncOfTheLogFails() throws IOException {
        whileServing(
                () -> errors.fail(DiskErrors.Call.SYNC, disk("wal")),
                "write-ahead log",
                "Input/output error");
    }

    /** The server is stopped while they hang. */
    @Test
    void allCallsHang() throws IOException {
        whileServing(
                () -> {
                    for (DiskErrors.Call call : DiskErrors.Call.values()) {
                        errors.hang(call, disk(""));
                    }
                },
                "it hangs: a ",
                "has not come back for 10 s");
    }

    /**
     * RocksDB has a way of its own to the disk, and syncs only when it makes tables. Whether the
     * compaction or the look once a second meets the error first decides what is said of it.
     */
    @Test
    void aSyncOfTheIndexFails() throws IOException {
        String dir = cluster.state().toString();
        whileServing(
                () -> {
                    errors.fail(DiskErrors.Call.SYNC, disk("index"));
                    Shell.Result compact = Cluster.cairn("compact", "data-" + server, "--dir", dir);
                    assertThat(compact.exitCode()).isNotZero();
                },
                "the chunk index failed: RocksDB ");
    }

    /** The disk serves: the bytes come from another replica, and are repaired. */
    @Test
    void sectorsThatCannotBeRead() throws IOException {
        for (MarkedFile file : List.of(led, backedUp)) {
            for (int page : new int[] {0, 7, 8, 100}) {
                errors.fail(DiskErrors.Call.READ, disk("data"), place(file, page), 512);
            }
        }
        everyFileIsRight();
        awaitStatus("damaged or unreadable blocks: ", "check the device");
        othersAreServed();
        errors.none();
        everyFileIsRight();
    }

    @Test
    void bitsOfTheDataFlipped() throws IOException {
        stop();
        flipBit(disk("data"), place(led, 5) + 77);
        flipBit(disk("data"), place(backedUp, 6) + 99);
        start();
        awaitWhole(); // the primary of one of them is there again
        awaitStatus("damaged or unreadable blocks: 1 found", "check the device");
        othersAreServed();
    }

    private long place(MarkedFile file, int page) {
        return Awaitility.await("page " + page + " of " + file.path() + " on the disk")
                .atMost(Duration.ofMinutes(1))
                .until(() -> file.find(disk("data"), page), at -> at >= 0);
    }

    private interface Step {
        void run() throws IOException;
    }

    private void whileDown(Step damage, Step mend, String... said) throws IOException {
        outage(
                () -> {
                    stop();
                    damage.run();
                    start();
                },
                () -> {
                    stop();
                    mend.run();
                    start();
                },
                said);
    }

    private void whileServing(Step fault, String... said) throws IOException {
        outage(
                fault,
                () -> {
                    stop();
                    errors.none();
                    start();
                },
                Stream.concat(Stream.of(said), Stream.of("check the device"))
                        .toArray(String[]::new));
    }

    /** What lives on the disk waits, and goes on with the right bytes when the disk is back. */
    private void outage(Step begin, Step end, String... said) throws IOException {
        begin.run();
        Process read = led.beginCheck();
        Process write = backedUp.beginWrite();
        awaitStatus("is out of service", said);
        assertThat(warnings()).anyMatch(w -> w.contains("restart this data server"));
        othersAreServed();
        end.run();
        led.awaitEnd(read);
        backedUp.awaitEnd(write);
        awaitWhole();
    }

    private void othersAreServed() {
        elsewhere.check();
        elsewhere.write();
        elsewhere.check();
    }

    /** The status names server, disk and file, and in the same line all of these. */
    private void awaitStatus(String what, String... said) {
        String by = "data server " + server;
        String of = ": disk %d (%s)".formatted(bad, disk("data"));
        Awaitility.await("the status says " + what + ", " + List.of(said))
                .atMost(Duration.ofMinutes(1))
                .until(() ->
                        warnings().stream()
                                .filter(w -> w.startsWith(by) && w.contains(of))
                                .filter(w -> w.contains(what))
                                .anyMatch(w -> Stream.of(said).allMatch(w::contains)));
    }

    private void awaitWhole() {
        Awaitility.await("all is well")
                .atMost(Duration.ofMinutes(1))
                .until(() -> warnings().isEmpty());
        everyFileIsRight();
    }

    private void everyFileIsRight() {
        for (MarkedFile file : List.of(led, backedUp, elsewhere)) {
            file.check();
        }
    }

    /** Of the status, which ends with the exit code for something missing if there is one. */
    private List<String> warnings() {
        Shell.Result result =
                Cluster.cairn("status", "--json", "--dir", cluster.state().toString());
        JsonNode status = JsonMapper.shared().readTree(result.out());
        List<String> warnings =
                status.path("warnings").valueStream().map(JsonNode::asString).toList();
        assertThat(result.exitCode()).isEqualTo(warnings.isEmpty() ? 0 : Cluster.DEGRADED);
        return warnings;
    }

    private Path disk(String part) {
        return cluster.state().resolve(SERVER).resolve(BAD).resolve(part);
    }

    private void stop() {
        ProcessHandle process = cluster.process(SERVER).orElseThrow();
        process.destroy();
        Cluster.awaitEnd(process);
    }

    private void start() {
        cluster.start(SERVER, "dataserver");
    }

    private static void flipBit(Path file, long at) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, at);
            one.put(0, (byte) (one.get(0) ^ 4));
            channel.write(one.flip(), at);
        }
    }
}
