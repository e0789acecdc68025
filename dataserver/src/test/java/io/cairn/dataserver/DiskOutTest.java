package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.common.data.DataOp;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.rpc.Advice;
import io.cairn.dataserver.TestCluster.Result;
import io.cairn.dataserver.ground.DataServerException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Servers of two disks, one of which does not open or fails: its placement groups wait, the others
 * are served, and the metadata service is told.
 */
class DiskOutTest {
    private static final long SESSION = 77;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir Path directory;
    private final byte[] data = new byte[100_000];
    private long number;

    DiskOutTest() {
        new Random(1).nextBytes(data);
    }

    /** How a disk is damaged while its server is down, and what is said of it. */
    enum Damage {
        NOTHING_THERE("nothing is there now"),
        INDEX_BIT(".sst"),
        SEGMENT_GONE("wal");

        private final String said;

        Damage(String said) {
            this.said = said;
        }

        void of(Path disk) throws IOException {
            switch (this) {
                case NOTHING_THERE -> Files.move(disk, disk.resolveSibling("not-mounted"));
                case INDEX_BIT -> flipBitsOfTables(disk.resolve("index"));
                case SEGMENT_GONE -> Files.delete(firstSegment(disk.resolve("wal")));
            }
        }

        private static void flipBitsOfTables(Path index) throws IOException {
            try (Stream<Path> files = Files.list(index)) {
                for (Path f : files.filter(p -> p.toString().endsWith(".sst")).toList()) {
                    byte[] bytes = Files.readAllBytes(f);
                    bytes[10] ^= 4;
                    Files.write(f, bytes);
                }
            }
        }

        private static Path firstSegment(Path wal) throws IOException {
            try (Stream<Path> files = Files.list(wal)) {
                return files.filter(p -> !p.endsWith("superblock")).sorted().findFirst().get();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void aDiskThatDoesNotOpenIsOutAndTheOthersServe(Damage damage) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            writeAll(cluster);
            cluster.kill(0);
            if (damage == Damage.SEGMENT_GONE) {
                cluster.faults.get(0).lose(Damage.firstSegment(cluster.disk(0, 1).resolve("wal")));
            }
            damage.of(cluster.disk(0, 1));
            cluster.start(0);
            cluster.server(0).registered().orTimeout(60, TimeUnit.SECONDS).join();

            DiskStatus status = awaitOut(cluster, cluster.disk(0, 1));
            assertThat(status.getDisk()).isEqualTo(11);
            assertThat(status.getCause()).contains(damage.said);
            assertThat(status.getNextStep()).contains("restart this data server");
            othersServeAndItsOwnWait(cluster);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"write", "sync"})
    void aDiskThatFailsWhileItRunsIsOutAndTheOthersServe(String what) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            writeAll(cluster);
            IOException error = new IOException("Input/output error");
            if (what.equals("write")) {
                cluster.faults.get(0).failWritesBelow(cluster.disk(0, 1), error);
            } else {
                cluster.faults.get(0).failForcesBelow(cluster.disk(0, 1), error);
            }
            var _ = cluster.send(write(cluster, 1), data); // is not committed

            DiskStatus status = awaitOut(cluster, cluster.disk(0, 1));
            assertThat(status.getDisk()).isEqualTo(11);
            assertThat(status.getCause()).contains("Input/output error");
            assertThat(status.getNextStep()).contains("check the device");
            othersServeAndItsOwnWait(cluster);
            assertThat(cluster.fatal).isEmpty();

            cluster.kill(0);
            cluster.faults.get(0).failWritesBelow(Path.of("/"), null);
            cluster.faults.get(0).failForcesBelow(Path.of("/"), null);
            cluster.start(0);
            readAll(cluster);
        }
    }

    /** What its calls do when they come back is too late, and the server ends without them. */
    @ParameterizedTest
    @ValueSource(strings = {"wal", "data"})
    void aDiskThatHangsIsOutAndTheOthersServe(String part) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            writeAll(cluster);
            long answered = cluster.mds.heartbeats();
            cluster.faults.get(0).holdForcesBelow(cluster.disk(0, 1).resolve(part));
            var _ = cluster.send(write(cluster, 1), data); // is not committed

            DiskStatus status = awaitOut(cluster, cluster.disk(0, 1));
            assertThat(status.getDisk()).isEqualTo(11);
            assertThat(status.getCause())
                    .startsWith("it hangs: a sync of its ")
                    .contains("has not come back for " + TestCluster.HUNG_AFTER.toSeconds());
            assertThat(status.getNextStep()).contains("check the device");
            await().atMost(PATIENCE)
                    .until(() -> awaitOut(cluster, cluster.disk(0, 1)).getReleased());
            assertThat(cluster.mds.heartbeats()).isGreaterThan(answered);
            othersServeAndItsOwnWait(cluster);
            assertThat(cluster.fatal).isEmpty();

            cluster.faults.get(0).holdForcesBelow(null);
            await().atMost(PATIENCE).until(() -> cluster.faults.get(0).heldForces() == 0);
            awaitOut(cluster, cluster.disk(0, 1)); // its next start decides
            cluster.kill(0);
            cluster.start(0);
            readAll(cluster);
        }
    }

    @Test
    void aServerEndsThoughItsDiskHangs() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            cluster.faults.get(0).holdForcesBelow(cluster.disk(0, 1));
            var _ = cluster.send(write(cluster, 1), data);
            awaitOut(cluster, cluster.disk(0, 1));

            cluster.kill(0);
            assertThat(cluster.faults.get(0).heldForces()).as("hangs still").isPositive();
            cluster.faults.get(0).holdForcesBelow(null);
        }
    }

    @Test
    void aDiskThatTheClusterHasRemovedIsOutAndTheOthersServe() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            writeAll(cluster);
            cluster.kill(0);
            cluster.mds.remove(11);
            cluster.start(0);
            cluster.server(0).registered().orTimeout(60, TimeUnit.SECONDS).join();

            DiskStatus status = awaitOut(cluster, cluster.disk(0, 1));
            assertThat(status.getDisk()).as("it has no number").isZero();
            assertThat(status.getCause()).isEqualTo("it was removed from the cluster");
            assertThat(status.getNextStep()).contains("delete its files");
            assertThat(cluster.sendUntilFinal(write(cluster, 0), data).status().ok()).isTrue();
            cluster.kill(0);

            cluster.mds.remove(10);
            cluster.start(0);
            assertThatThrownBy(() ->
                            cluster.server(0).registered().orTimeout(60, TimeUnit.SECONDS).join())
                    .as("it has no other")
                    .hasMessageContaining("was removed from the cluster");
        }
    }

    @Test
    void theServerEndsWithItsLastDisk() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            cluster.faults
                    .get(0)
                    .failForcesBelow(cluster.stateDir(0), new IOException("Input/output error"));
            var _ = cluster.send(write(cluster, 0), data);
            var _ = cluster.send(write(cluster, 1), data);
            await().atMost(PATIENCE)
                    .until(() ->
                            cluster.fatal.stream().anyMatch(f -> f.contains("no disk is left")));
            cluster.kill(0);
            cluster.fatal.clear();
        }
    }

    /** The request that meets it is answered, and the loop goes on. */
    @Test
    void anIndexThatCannotBeReadTakesTheDiskOut() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).startAll()) {
            writeAll(cluster);
            cluster.disks.get(0).damageIndex();
            Result result = cluster.send(read(cluster, 0), new byte[0]).get(20, TimeUnit.SECONDS);
            assertThat(result.status().advice()).isEqualTo(Advice.RETRY);
            assertThat(result.status().detail()).contains("disk 10 is out of service");
            assertThat(cluster.fatal)
                    .singleElement()
                    .asString()
                    .contains("no disk is left")
                    .contains("a bit of it flipped");
            cluster.fatal.clear();
            result = cluster.send(write(cluster, 0), data).get(20, TimeUnit.SECONDS);
            assertThat(result.status().detail()).contains("disk 10 is out of service");
        }
    }

    @Test
    void aServerOfWhichNoDiskOpensDoesNotStart() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onFaultyDisks(2).startAll()) {
            writeAll(cluster);
            cluster.kill(0);
            Damage.NOTHING_THERE.of(cluster.disk(0, 0));
            Damage.INDEX_BIT.of(cluster.disk(0, 1));
            assertThatThrownBy(() -> cluster.start(0))
                    .isInstanceOf(DataServerException.class)
                    .hasMessageContaining("nothing is there now");
        }
    }

    /** Placement groups 0 and 2 are on each server's first disk, 1 and 3 on the second. */
    private void othersServeAndItsOwnWait(TestCluster cluster) throws Exception {
        for (int i = 0; i < FakeMds.PGS; i += 2) {
            assertThat(cluster.sendUntilFinal(write(cluster, i), data).status().ok()).isTrue();
            assertThat(cluster.sendUntilFinal(read(cluster, i), new byte[0]).data())
                    .isEqualTo(data);
        }
        int itsPrimary = 3; // server 0 has the primary of placement groups 0 and 3
        DataOp waiting = write(cluster, itsPrimary);
        Result waits =
                await().atMost(PATIENCE)
                        .until(
                                () -> cluster.send(waiting, data).get(20, TimeUnit.SECONDS),
                                r -> r.status().detail().contains("disk 11 is out of service"));
        assertThat(waits.status().advice()).isEqualTo(Advice.RETRY);
    }

    private void writeAll(TestCluster cluster) {
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(cluster.sendUntilFinal(write(cluster, i), data).status().ok()).isTrue();
        }
    }

    private void readAll(TestCluster cluster) {
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(cluster.sendUntilFinal(read(cluster, i), new byte[0]).data())
                    .isEqualTo(data);
        }
    }

    private DataOp write(TestCluster cluster, int pg) {
        return cluster.write(TestCluster.pg(pg), SESSION, ++number, 1234, data);
    }

    private DataOp read(TestCluster cluster, int pg) {
        return cluster.read(TestCluster.pg(pg), SESSION, 1234, data.length);
    }

    private static DiskStatus awaitOut(TestCluster cluster, Path disk) {
        return await().atMost(PATIENCE)
                .until(
                        () -> cluster.mds.reported(1, disk.resolve("data")),
                        s -> s != null && s.getCondition() == DiskCondition.DISK_OUT);
    }
}
