package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.DiskErrors;
import io.cairn.system.support.Load;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/**
 * Disks of four data servers go bad, one after the other, under load. No program meets an error,
 * and nobody does anything: what is damaged is repaired, and what a disk had that serves no more is
 * on other disks soon. Then the disk comes back and gets its share. {@code
 * -Dcairn.test.disks.faults=N} faults of disks that serve no more, 7 for one of each kind. It
 * prints the longest operation meanwhile.
 */
@Tag("slow")
@Tag("part-6")
@TestInstance(Lifecycle.PER_CLASS)
class ReplacedDiskTest {
    private static final long SEED = TestSeed.of("ReplacedDiskTest");
    private static final int FAULTS = Integer.getInteger("cairn.test.disks.faults", 1);
    private static final int SERVERS = 4;
    private static final int FILES = 8;
    private static final int DAMAGED_PAGE = 5;

    private interface Step {
        void run() throws IOException;
    }

    /**
     * What happens to a disk.
     *
     * @param end with the server stopped
     */
    private record Fault(ServerDisk disk, String what, Step begin, Step end) {}

    private final Cluster cluster =
            Cluster.temporary(
                    "--processes",
                    "--data",
                    "" + SERVERS,
                    "--capacity",
                    "256MiB",
                    "--wal-size",
                    "64MiB");

    private final List<ServerDisk> disks =
            IntStream.rangeClosed(1, SERVERS)
                    .mapToObj(i -> new ServerDisk(cluster, "data-" + i, "disk-2"))
                    .toList();

    private final Random random = new Random(SEED);
    private final List<MarkedFile> files = new ArrayList<>();
    private CrashWorkload work;
    private DiskErrors errors;

    @BeforeAll
    void up() {
        cluster.layOut();
        disks.forEach(ServerDisk::addToConfiguration);
        cluster.configure(
                "mds-1",
                c ->
                        c.replace(
                                        "bootstrap_disks = 4",
                                        "bootstrap_disks = 8\nfailed_out_interval = \"1s\"")
                                .replace("[pool]", "[pool]\npg_count = 32"));
        errors = DiskErrors.in(cluster.base());
        cluster.environment("LD_PRELOAD", errors.library().toString());
        cluster.up();
        for (int i = 0; i < FILES; i++) {
            files.add(new MarkedFile(cluster, cluster.mnt().resolve("f" + i)));
        }
        work = new CrashWorkload(cluster.mnt(), 2, random.nextLong());
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void everyFaultEndsInRepairOrInTheDiskBeingReplaced() throws Exception {
        work.start();
        try (Mount second = cluster.mount("second");
                Load load = new Load(second)) {
            damagedBlocksAreRepaired();
            int count = faults(disks.getFirst()).size();
            List<Integer> kinds = new ArrayList<>(IntStream.range(0, count).boxed().toList());
            Collections.shuffle(kinds, random);
            for (int i = 0; i < FAULTS; i++) {
                ServerDisk disk = disks.get(random.nextInt(SERVERS));
                isReplaced(faults(disk).get(kinds.get(i % count)));
                assertThat(load.isAlive()).as("the load beside it").isTrue();
            }
        }
        work.finish();
        try (Mount fresh = cluster.mount("fresh")) {
            work.verify(fresh.mnt());
        }
    }

    private List<Fault> faults(ServerDisk disk) {
        return List.of(
                whileDown(disk, "its file system is not mounted", disk::takeAway, disk::putBack),
                whileDown(
                        disk,
                        "a segment of its log is missing",
                        disk::takeSegmentAway,
                        disk::putSegmentBack),
                whileDown(disk, "its index is damaged", disk::damageIndex, disk::mendIndex),
                whileServing(
                        disk,
                        "it cannot be written",
                        () -> errors.fail(DiskErrors.Call.WRITE, disk.data())),
                whileServing(
                        disk,
                        "its log cannot be synced",
                        () -> errors.fail(DiskErrors.Call.SYNC, disk.wal())),
                whileServing(disk, "it hangs", () -> errors.hang(disk.folder())),
                whileServing(
                        disk,
                        "its index cannot be synced",
                        () -> {
                            errors.fail(DiskErrors.Call.SYNC, disk.index());
                            Cluster.cairn("compact", "data-" + disk.serverId(), "--dir", dir());
                        }));
    }

    private static Fault whileDown(ServerDisk disk, String what, Step damage, Step mend) {
        return new Fault(
                disk,
                what,
                () -> {
                    disk.stopServer();
                    damage.run();
                    disk.startServer();
                },
                mend);
    }

    private Fault whileServing(ServerDisk disk, String what, Step begin) {
        return new Fault(disk, what, begin, () -> errors.none());
    }

    /** One replica of two files each, the one that is read and another. */
    private void damagedBlocksAreRepaired() throws IOException {
        for (int replica = 0; replica < 2; replica++) {
            damage(files.get(replica), replica);
        }
        await("deep scrubs find nothing any more").until(() -> scrub().exitCode() == 0);
        checkAll();
        assertThat(cluster.status().at("/scrub/quarantined_blocks").asInt(-1)).isZero();
        assertThat(cluster.status().path("warnings").toString()).contains("repaired");
    }

    private void damage(MarkedFile file, int replica) throws IOException {
        int id = file.disks().get(replica);
        for (int i = 1; i <= SERVERS; i++) {
            for (String folder : List.of("disk", "disk-2")) {
                ServerDisk disk = new ServerDisk(cluster, "data-" + i, folder);
                if (disk.id() == id) {
                    disk.flipBit(
                            await("the page on disk " + id)
                                    .until(
                                            () -> file.find(disk.data(), DAMAGED_PAGE),
                                            at -> at >= 0));
                    return;
                }
            }
        }
        throw new AssertionError("no disk " + id);
    }

    private Shell.Result scrub() {
        return Cluster.cairn("scrub", "--all", "--deep", "--mds", cluster.mds());
    }

    private void isReplaced(Fault fault) throws IOException {
        ServerDisk disk = fault.disk();
        System.out.println(disk.data() + ": " + fault.what());
        work.takeLongest();
        fault.begin().run();
        await(fault.what() + ": all replicas are on other disks")
                .until(
                        disk::status,
                        s ->
                                s.path("state").asString().equals("absent")
                                        && s.path("replicas").asInt(-1) == 0);
        awaitRedundancy();
        everythingGoesOn();
        System.out.printf(
                "%s: longest operation %.1f s%n",
                fault.what(), work.takeLongest().toMillis() / 1e3);
        disk.stopServer();
        fault.end().run();
        disk.startServer();
        await(fault.what() + ": it is back")
                .until(
                        disk::status,
                        s ->
                                s.path("state").asString().equals("serving")
                                        && s.path("replicas").asInt() > 0
                                        && s.path("in_sync").equals(s.path("replicas")));
        awaitRedundancy();
        everythingGoesOn();
    }

    private void awaitRedundancy() {
        await("redundancy is back")
                .until(
                        () -> cluster.status().path("pgs"),
                        pgs ->
                                pgs.path("degraded").asInt(-1) == 0
                                        && pgs.path("recovering").asInt(-1) == 0);
    }

    private void everythingGoesOn() {
        checkAll();
        files.stream().map(MarkedFile::beginWrite).toList().forEach(files.getFirst()::awaitEnd);
        checkAll();
        work.awaitAcknowledged(20);
    }

    private void checkAll() {
        files.stream().map(MarkedFile::beginCheck).toList().forEach(files.getFirst()::awaitEnd);
    }

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(Duration.ofMinutes(2));
    }

    private String dir() {
        return cluster.state().toString();
    }
}
