package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.Uuids;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.TestCluster.Result;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.ground.DataServerMeter;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three data servers on loopback: what a client and the metadata service see of them. */
class DataServersTest {
    private static final long SESSION = 77;

    @TempDir Path directory;

    private TestCluster cluster;

    @BeforeEach
    void start() throws IOException, DataServerException {
        cluster = new TestCluster(directory);
        cluster.startAll();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static byte[] bytes(int seed, int length) {
        byte[] data = new byte[length];
        new Random(seed).nextBytes(data);
        return data;
    }

    private void write(int pg, long number, int offset, byte[] data) {
        Result result =
                cluster.sendUntilFinal(cluster.write(pg, SESSION, number, offset, data), data);
        assertThat(result.status().ok()).as(result.status().detail()).isTrue();
    }

    private byte[] read(int pg, int offset, int length) {
        Result result =
                cluster.sendUntilFinal(cluster.read(pg, SESSION, offset, length), new byte[0]);
        assertThat(result.status().ok()).as(result.status().detail()).isTrue();
        return result.data();
    }

    @Test
    void whatIsWrittenIsReadAndOnEveryReplica() {
        for (int i = 0; i < FakeMds.PGS; i++) {
            write(TestCluster.pg(i), i + 1, 100, bytes(i, 9000));
        }
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(read(TestCluster.pg(i), 100, 9000)).isEqualTo(bytes(i, 9000));
            assertThat(read(TestCluster.pg(i), 0, 100)).isEqualTo(new byte[100]);
        }
        cluster.awaitIdenticalHistories();
    }

    @Test
    void pausedClientsAreSentAwayAndGoOnLater() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = bytes(1, 5000);
        write(pg, 1, 0, data);
        cluster.mds.clientsPaused = true;
        DataOp again = cluster.write(pg, SESSION, 2, 0, bytes(2, 5000));
        await().atMost(TestCluster.PATIENCE)
                .until(() ->
                        cluster.send(again, bytes(2, 5000))
                                .get(30, TimeUnit.SECONDS)
                                .status()
                                .detail()
                                .contains("cairn set pause off"));
        RpcStatus read =
                cluster.send(cluster.read(pg, SESSION, 0, 5000), new byte[0])
                        .get(30, TimeUnit.SECONDS)
                        .status();
        assertThat(read.advice()).isEqualTo(Advice.RETRY);
        cluster.mds.clientsPaused = false;
        write(pg, 2, 0, bytes(2, 5000));
        assertThat(read(pg, 0, 5000)).isEqualTo(bytes(2, 5000));
    }

    @Test
    void everyReplicaCountsWhatItStores() {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 5000));
        assertThat(read(pg, 0, 3000)).isEqualTo(Arrays.copyOf(bytes(1, 5000), 3000));
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            Meters meters = cluster.meters(i);
            boolean primary = i == cluster.primary(pg);
            await().atMost(TestCluster.PATIENCE)
                    .untilAsserted(() -> {
                        assertThat(written(meters, "primary")).isEqualTo(primary ? 5000 : 0);
                        assertThat(written(meters, "backup")).isEqualTo(primary ? 0 : 5000);
                    });
            if (!primary) { // the primary may be a backup of other groups
                assertThat(meters.timer(DataServerMeter.BACKUP).count()).isPositive();
            }
            assertThat(meters.counter(DataServerMeter.READ_BYTES).count())
                    .isEqualTo(primary ? 3000 : 0);
        }
    }

    private static long written(Meters meters, String role) {
        return meters.counter(DataServerMeter.WRITTEN_BYTES, role).count();
    }

    @Test
    void manyAtOnceAreAllThere() throws Exception {
        write(TestCluster.pg(0), 1, 0, bytes(0, 8));
        List<CompletableFuture<Result>> results = new ArrayList<>();
        for (int n = 2; n < 300; n++) {
            byte[] data = bytes(n, 4096);
            results.add(
                    cluster.send(
                            cluster.write(TestCluster.pg(0), SESSION, n, n * 4096, data), data));
        }
        for (CompletableFuture<Result> result : results) {
            RpcStatus status = result.get(30, TimeUnit.SECONDS).status();
            // On a slow machine what is known of the disks is old, and less may be in flight.
            assertThat(status.ok() || status.advice() == Advice.RETRY).as("%s", status).isTrue();
        }
        for (int n = 2; n < 300; n++) {
            byte[] data = bytes(n, 4096);
            DataOp again = cluster.write(TestCluster.pg(0), SESSION, n, n * 4096, data);
            assertThat(cluster.sendUntilFinal(again, data).status().ok()).isTrue();
        }
        byte[] all = read(TestCluster.pg(0), 0, 300 * 4096);
        for (int n = 2; n < 300; n++) {
            assertThat(Arrays.copyOfRange(all, n * 4096, (n + 1) * 4096)).isEqualTo(bytes(n, 4096));
        }
    }

    @Test
    void aKilledServerIsWaitedForAndCatchesUp() throws Exception {
        write(TestCluster.pg(0), 1, 0, bytes(1, 5000));
        for (int victim = 0; victim < TestCluster.SERVERS; victim++) {
            cluster.kill(victim);
            cluster.start(victim);
            long number = victim + 2;
            write(TestCluster.pg(0), number, 5000 * victim, bytes(victim, 5000));
        }
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            assertThat(read(TestCluster.pg(0), 5000 * i, 5000)).isEqualTo(bytes(i, 5000));
        }
        cluster.awaitIdenticalHistories();
    }

    /**
     * Each server reports the groups whose primary it is: 0 and 3 the first, 1 and 2 the others.
     */
    @Test
    void aPlacementGroupThatWaitsForAMemberIsReportedWithIt() throws Exception {
        await("all serve")
                .atMost(TestCluster.PATIENCE)
                .until(() -> active() == FakeMds.PGS && problems(1).isEmpty());
        int backup = 1;
        cluster.kill(backup);
        byte[] data = bytes(1, 100);
        DataOp waits = cluster.write(TestCluster.pg(0), SESSION, 1, 0, data);
        PgProblem problem =
                await("it is reported")
                        .atMost(TestCluster.PATIENCE)
                        .until(
                                () -> {
                                    var _ = cluster.send(waits, data);
                                    return problems(1).stream().findFirst().orElse(null);
                                },
                                Objects::nonNull);
        assertThat(problem.getPg()).isEqualTo(TestCluster.pg(0));
        assertThat(problem.getDamaged()).isFalse();
        assertThat(problem.getCause()).isEqualTo("waits for disk 20 of data server 2");
        assertThat(problem.getSinceMillis()).isGreaterThanOrEqualTo(5000);
        PgReport report = Objects.requireNonNull(cluster.mds.pgs().get(1));
        assertThat(report.getNotServing()).isEqualTo(1);
        assertThat(report.getStalled()).isEqualTo(1);
        assertThat(report.getActive()).isEqualTo(1);
        assertThat(report.getDamaged()).isZero();

        cluster.start(backup);
        await("all serve again")
                .atMost(TestCluster.PATIENCE)
                .until(() -> active() == FakeMds.PGS && problems(1).isEmpty());
    }

    private int active() {
        return cluster.mds.pgs().values().stream().mapToInt(PgReport::getActive).sum();
    }

    private List<PgProblem> problems(int server) {
        PgReport report = cluster.mds.pgs().get(server);
        return report == null ? List.of() : report.getProblemsList();
    }

    @Test
    void aPrimaryThatFailsToReadItsLogServesInTheEnd() throws Exception {
        servesInTheEnd(new IllegalStateException("the log cannot be read"));
    }

    @Test
    void aPrimaryWhoseLogCannotBeReadForAMomentServesInTheEnd() throws Exception {
        servesInTheEnd(new FsException(Errno.EIO, "Input/output error"));
    }

    private void servesInTheEnd(RuntimeException failure) throws Exception {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        int primary = cluster.primary(pg);
        int backup = (primary + 1) % TestCluster.SERVERS;
        cluster.kill(backup);
        var _ = loggedByThePrimaryOnly(pg, primary);
        cluster.kill(primary);
        cluster.disks.get(primary).failNextEntries(failure);
        cluster.start(primary);
        cluster.start(backup);
        write(pg, 2, 0, bytes(2, 100));
        assertThat(cluster.disks.get(primary).failedEntries()).as("the log was read").isTrue();
        assertThat(read(pg, 0, 100)).isEqualTo(bytes(2, 100));
        cluster.awaitIdenticalHistories();
    }

    /** Sends the second write of the session while a backup is dead. */
    private CompletableFuture<Result> loggedByThePrimaryOnly(int pg, int primary) {
        int before = cluster.disks.get(primary).history(pg).size();
        DataOp second = cluster.write(pg, SESSION, 2, 0, bytes(2, 100));
        CompletableFuture<Result> result =
                cluster.send(second, bytes(2, 100), TestCluster.PATIENCE);
        await().atMost(TestCluster.PATIENCE)
                .until(() -> cluster.disks.get(primary).history(pg).size() > before);
        return result;
    }

    @Test
    void afterAKillOfAllEverythingAcknowledgedIsThere() throws Exception {
        for (int i = 0; i < FakeMds.PGS; i++) {
            write(TestCluster.pg(i), i + 1, 0, bytes(i, 20_000));
        }
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            cluster.kill(i);
        }
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            cluster.start(i);
        }
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(read(TestCluster.pg(i), 0, 20_000)).isEqualTo(bytes(i, 20_000));
        }
        cluster.awaitIdenticalHistories();
    }

    @Test
    void aRetryIsExecutedOnceAlsoAfterARestart() throws Exception {
        int pg = TestCluster.pg(1);
        DataOp first = cluster.write(pg, SESSION, 1, 0, bytes(1, 100));
        cluster.sendUntilFinal(first, bytes(1, 100));
        write(pg, 2, 0, bytes(2, 100));
        int primary = cluster.primary(pg);
        cluster.kill(primary);
        cluster.start(primary);
        assertThat(cluster.sendUntilFinal(first, bytes(1, 100)).status().ok()).isTrue();
        assertThat(read(pg, 0, 100)).isEqualTo(bytes(2, 100));
    }

    @Test
    void anEvictedSessionIsRefusedAndTheEpochConfirmed() {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        DataOp late = cluster.write(pg, SESSION, 2, 0, bytes(2, 100));
        cluster.mds.evict(SESSION);
        long epoch = cluster.map().epoch();
        await().atMost(Duration.ofSeconds(30)).until(() -> cluster.mds.confirmedByAll() >= epoch);
        Result result =
                cluster.sendUntilFinal(
                        cluster.write(pg, SESSION, 2, 0, bytes(2, 100)), bytes(2, 100));
        assertThat(result.status().advice()).isEqualTo(Advice.FENCED);

        // Long after, when nobody remembers the session, a write of it arrives.
        cluster.mds.forget(SESSION);
        long forgotten = cluster.map().epoch();
        await().atMost(Duration.ofSeconds(30))
                .until(() -> cluster.mds.confirmedByAll() >= forgotten);
        assertThat(cluster.send(late, bytes(2, 100)).join().status().advice())
                .isEqualTo(Advice.REFRESH_MAP);
        assertThat(cluster.sendUntilFinal(cluster.read(pg, 5, 0, 100), new byte[0]).data())
                .isEqualTo(bytes(1, 100));
    }

    /** Else the session's files stay taken, and no later eviction ends, until a disk is back. */
    @Test
    void aWriteThatWaitsForADeadServerDelaysNoEviction() throws Exception {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        int primary = cluster.primary(pg);
        int backup = (primary + 1) % TestCluster.SERVERS;
        cluster.kill(backup);
        CompletableFuture<Result> stuck = loggedByThePrimaryOnly(pg, primary);
        cluster.mds.evict(SESSION);
        long epoch = cluster.map().epoch();
        await("the primary confirms it")
                .atMost(TestCluster.PATIENCE)
                .until(() -> cluster.mds.confirmed(primary + 1) >= epoch);
        assertThat(stuck.get(30, TimeUnit.SECONDS).status().advice()).isEqualTo(Advice.FENCED);

        cluster.start(backup);
        assertThat(cluster.sendUntilFinal(cluster.read(pg, 5, 0, 100), new byte[0]).data())
                .as("it kept its place before all that came after")
                .isEqualTo(bytes(2, 100));
        cluster.awaitIdenticalHistories();
    }

    @Test
    void damagedDataIsRefusedAndNotStored() {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        DataOp op = cluster.write(pg, SESSION, 2, 0, bytes(2, 100));
        Result result = cluster.send(op, bytes(3, 100)).join();
        assertThat(result.status().errno()).isEqualTo(Errno.EBADMSG);
        assertThat(read(pg, 0, 100)).isEqualTo(bytes(1, 100));
    }

    @Test
    void aBlockDamagedOnThePrimarysDiskIsReadFromABackup() {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 10_000));
        cluster.disks.get(cluster.primary(pg)).damage();
        assertThat(read(pg, 0, 10_000)).isEqualTo(bytes(1, 10_000));
        cluster.disks.forEach(MemoryDisk::damage);
        Result result = cluster.sendUntilFinal(cluster.read(pg, SESSION, 0, 10_000), new byte[0]);
        assertThat(result.status().errno()).isEqualTo(Errno.EIO);
    }

    @Test
    void theMetadataServiceCutsAndDeletes() {
        int pg = TestCluster.pg(2);
        write(pg, 1, 0, bytes(1, 10_000));
        int primary = cluster.primary(pg);
        cluster.callUntilDone(
                primary,
                Method.TRUNCATE_INODE_VALUE,
                TruncateInodeRequest.newBuilder()
                        .setPg(pg)
                        .setInode(1000 + pg)
                        .setSequence(0)
                        .setSize(100)
                        .setStripeUnit(4 << 20)
                        .setStripeCount(1)
                        .setChunkSize(4 << 20)
                        .build());
        byte[] cut = Arrays.copyOf(bytes(1, 10_000), 100);
        assertThat(read(pg, 0, 10_000)).isEqualTo(Arrays.copyOf(cut, 10_000));
        cluster.callUntilDone(
                primary,
                Method.DELETE_INODES_VALUE,
                DeleteInodesRequest.newBuilder().setPg(pg).addInodes(1000 + pg).build());
        assertThat(read(pg, 0, 10_000)).isEqualTo(new byte[10_000]);
        cluster.awaitIdenticalHistories();
    }

    @Test
    void aFullDiskSaysSoAndServesAgainWhenThereIsSpace() {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        MemoryDisk full = cluster.disks.get(cluster.primary(pg));
        full.admit(0);
        Result refused =
                cluster.sendUntilFinal(
                        cluster.write(pg, SESSION, 2, 0, bytes(2, 100)), bytes(2, 100));
        assertThat(refused.status().errno()).isEqualTo(Errno.ENOSPC);
        full.admit(1 << 30);
        write(pg, 3, 0, bytes(3, 100));
    }

    @Test
    void garbageDoesNotHurtOthers() throws Exception {
        int port = cluster.server(0).address().port();
        Random random = new Random(5);
        for (int i = 0; i < 20; i++) {
            try (Socket socket = new Socket("127.0.0.1", port)) {
                byte[] garbage = new byte[1 + random.nextInt(5000)];
                random.nextBytes(garbage);
                socket.getOutputStream().write(garbage);
                socket.shutdownOutput();
                socket.setSoTimeout(20_000);
                while (socket.getInputStream().read() >= 0) {
                    // until the server closes
                }
            } catch (java.net.SocketException e) {
                // closed while we were writing
            }
        }
        write(TestCluster.pg(0), 1, 0, bytes(1, 100));
        assertThat(read(TestCluster.pg(0), 0, 100)).isEqualTo(bytes(1, 100));
    }

    @Test
    void withoutHeartbeatsNothingIsServed() throws Exception {
        int pg = TestCluster.pg(0);
        write(pg, 1, 0, bytes(1, 100));
        int primary = cluster.primary(pg);
        cluster.mds.fallSilent();
        cluster.kill(primary);
        cluster.start(primary);
        Result result =
                await().atMost(Duration.ofSeconds(30))
                        .until(
                                () -> {
                                    DataOp read = cluster.read(pg, SESSION, 0, 100);
                                    return cluster.send(read, new byte[0]).join();
                                },
                                r -> r.status().advice() == Advice.RETRY);
        assertThat(result.status().errno()).isIn(Errno.EAGAIN, Errno.EHOSTUNREACH);
    }

    @Test
    void aDirectoryServesOneProcessAndOneCluster() throws Exception {
        assertThatThrownBy(() -> cluster.start(0))
                .isInstanceOf(DataServerException.class)
                .hasMessageContaining(cluster.stateDir(0) + " is in use");
        cluster.kill(0);
        try (FakeMds other = new FakeMds(Uuids.random());
                DataServer server =
                        DataServer.start(
                                TestCluster.config(cluster.stateDir(0), List.of(other.address())),
                                TestCluster.opener(cluster.disks.get(0)),
                                Meters.unpublished())) {
            assertThatThrownBy(() -> server.registered().get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasMessageContaining(cluster.stateDir(0).toString())
                    .hasMessageContaining("belongs to cluster");
            assertThat(other.map().servers()).isEmpty();
        }
    }

    @Test
    void theLeaderIsFoundThroughOtherMembers() throws Exception {
        cluster.kill(1);
        try (FakeMds follower = new FakeMds(TestCluster.CLUSTER)) {
            follower.follow(RpcAddress.format(cluster.mds.address()));
            try (DataServer server =
                    DataServer.start(
                            TestCluster.config(cluster.stateDir(1), List.of(follower.address())),
                            TestCluster.opener(cluster.disks.get(1)),
                            Meters.unpublished())) {
                server.registered().get(30, TimeUnit.SECONDS);
                write(TestCluster.pg(0), 1, 0, bytes(1, 100));
            }
        }
    }

    /** It lost the leader, and knows its map. */
    @Test
    void aServerThatRegistersAgainGetsWhatItMissedOfTheMap() throws Exception {
        long had = cluster.mds.map().epoch();
        cluster.mds.registeredWith().clear();
        cluster.mds.forget(1);
        await().atMost(TestCluster.PATIENCE).until(() -> !cluster.mds.registeredWith().isEmpty());
        cluster.mds.nextEpoch();
        awaitConfirmed(had + 1);
        assertThat(cluster.mds.registeredWith()).containsExactly(had);
        write(TestCluster.pg(0), 1, 0, bytes(1, 100));
    }

    @Test
    void aServerThatDidNotGetWhatItMissedAsksForTheWholeMap() throws Exception {
        long had = cluster.mds.map().epoch();
        cluster.mds.registeredWith().clear();
        cluster.mds.losePushes(true);
        cluster.mds.nextEpoch();
        awaitConfirmed(had + 1);
        assertThat(cluster.mds.registeredWith()).contains(had, 0L).hasSize(2 * TestCluster.SERVERS);
        write(TestCluster.pg(0), 1, 0, bytes(1, 100));
    }

    private void awaitConfirmed(long epoch) {
        await().atMost(TestCluster.PATIENCE).until(() -> cluster.mds.confirmedByAll() == epoch);
    }
}
