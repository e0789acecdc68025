package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.DiskErrors;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.time.Duration;
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
@Tag("part-3")
@TestInstance(Lifecycle.PER_CLASS)
class OneBadDiskTest {
    private final Cluster cluster =
            Cluster.temporary("--processes", "--capacity", "256MiB", "--wal-size", "64MiB");

    private final ServerDisk good = new ServerDisk(cluster, "data-1", "disk");
    private final ServerDisk bad = new ServerDisk(cluster, "data-1", "disk-2");

    private DiskErrors errors;
    private int server;
    private int number;

    /** Its primary is on the bad disk. */
    private MarkedFile led;

    /** A backup of it is on the bad disk. */
    private MarkedFile backedUp;

    /** Its primary is on the good disk of the same server. */
    private MarkedFile elsewhere;

    @BeforeAll
    void up() {
        cluster.layOut();
        bad.addToConfiguration();
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
        number = bad.id();
        server = bad.serverId();
        int other = good.id();
        for (int i = 0; led == null || backedUp == null || elsewhere == null; i++) {
            MarkedFile file = new MarkedFile(cluster, cluster.mnt().resolve("file" + i));
            List<Integer> of = file.disks();
            if (of.getFirst() == number) {
                led = file;
            } else if (of.contains(number)) {
                backedUp = file;
            } else if (of.getFirst() == other) {
                elsewhere = file;
            }
        }
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
        whileDown(bad::takeAway, bad::putBack, "mount its file system");
    }

    @Test
    void aSegmentOfTheLogIsMissing() throws IOException {
        whileDown(
                bad::takeSegmentAway,
                bad::putSegmentBack,
                bad.segment() + " is missing",
                "put it back");
    }

    @Test
    void aBitOfTheIndexFlipped() throws IOException {
        whileDown(bad::damageIndex, bad::mendIndex, "cannot open disk", ".sst");
    }

    @Test
    void aSectorThatCannotBeWritten() throws IOException {
        long sector = place(backedUp, 9);
        whileServing(
                () -> errors.fail(DiskErrors.Call.WRITE, bad.data(), sector, 512),
                "flushing",
                "Input/output error");
    }

    @Test
    void aSyncOfTheLogFails() throws IOException {
        whileServing(
                () -> errors.fail(DiskErrors.Call.SYNC, bad.wal()),
                "write-ahead log",
                "Input/output error");
    }

    /** The server is stopped while they hang. */
    @Test
    void allCallsHang() throws IOException {
        whileServing(() -> errors.hang(bad.folder()), "it hangs: a ", "has not come back for 10 s");
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
                    errors.fail(DiskErrors.Call.SYNC, bad.index());
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
                errors.fail(DiskErrors.Call.READ, bad.data(), place(file, page), 512);
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
        bad.stopServer();
        bad.flipBit(place(led, 5) + 77);
        bad.flipBit(place(backedUp, 6) + 99);
        bad.startServer();
        awaitWhole(); // the primary of one of them is there again
        awaitStatus("damaged or unreadable blocks: 1 found", "check the device");
        othersAreServed();
    }

    private long place(MarkedFile file, int page) {
        return Awaitility.await("page " + page + " of " + file.path() + " on the disk")
                .atMost(Duration.ofMinutes(1))
                .until(() -> file.find(bad.data(), page), at -> at >= 0);
    }

    private interface Step {
        void run() throws IOException;
    }

    private void whileDown(Step damage, Step mend, String... said) throws IOException {
        outage(
                () -> {
                    bad.stopServer();
                    damage.run();
                    bad.startServer();
                },
                () -> {
                    bad.stopServer();
                    mend.run();
                    bad.startServer();
                },
                said);
    }

    private void whileServing(Step fault, String... said) throws IOException {
        outage(
                fault,
                () -> {
                    bad.stopServer();
                    errors.none();
                    bad.startServer();
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
        String of = ": disk %d (%s)".formatted(number, bad.data());
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
        Shell.Result result = cluster.statusCommand("--json");
        JsonNode status = JsonMapper.shared().readTree(result.out());
        List<String> warnings =
                status.path("warnings").valueStream().map(JsonNode::asString).toList();
        assertThat(result.exitCode()).isEqualTo(warnings.isEmpty() ? 0 : Cluster.DEGRADED);
        return warnings;
    }
}
