package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.TestCluster.Result;
import io.cairn.dataserver.ground.DataServerMeter;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A replica that was away is brought up to date over the network, and then serves alone. */
class ReplicaRecoveryTest {
    private static final long SESSION = 77;
    private static final int BYTES = 1 << 20;
    private static final int BLOCK = 4096;

    private final Random random = new Random(5);
    private final byte[][] content = new byte[FakeMds.PGS][BYTES];
    private long number;
    private long written;

    /** Writes at random places of every PG's chunk. */
    private void write(TestCluster cluster, int rounds) {
        for (int i = 0; i < rounds * FakeMds.PGS; i++) {
            int length = 1 + random.nextInt(60_000);
            write(cluster, i % FakeMds.PGS, random.nextInt(BYTES - length), length);
        }
    }

    private void write(TestCluster cluster, int pg, int offset, int length) {
        byte[] data = new byte[length];
        random.nextBytes(data);
        System.arraycopy(data, 0, content[pg], offset, data.length);
        written += length;
        DataOp op = cluster.write(TestCluster.pg(pg), SESSION, ++number, offset, data);
        Result result = cluster.sendUntilFinal(op, data);
        assertThat(result.status().ok()).as(result.status().detail()).isTrue();
    }

    /** What the server has, as the only member of every PG. */
    private void readFrom(TestCluster cluster, int server) {
        for (int i = 0; i < FakeMds.PGS; i++) {
            cluster.mds.inSync(TestCluster.pg(i), List.of((server + 1) * 10));
        }
        for (int i = 0; i < FakeMds.PGS; i++) {
            Result result =
                    cluster.sendUntilFinal(
                            cluster.read(TestCluster.pg(i), SESSION, 0, BYTES), new byte[0]);
            assertThat(result.status().ok()).as(result.status().detail()).isTrue();
            assertThat(result.data()).as("group %d of server %d", i, server).isEqualTo(content[i]);
        }
    }

    private static void awaitWhole(TestCluster cluster) {
        await().atMost(TestCluster.PATIENCE).until(() -> cluster.mds.isWhole());
    }

    @Test
    void whatTheLogHasIsSentAgain(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            write(cluster, 10);
            cluster.kill(2);
            cluster.mds.takeOut(3);
            long before = written;
            write(cluster, 10);
            long missed = written - before;
            cluster.start(2);
            awaitWhole(cluster);
            write(cluster, 2);
            readFrom(cluster, 2);
            assertThat(counted(cluster, DataServerMeter.RESENT_BYTES))
                    .as("perhaps again what the server had logged and not told of")
                    .isGreaterThanOrEqualTo(missed);
            assertThat(counted(cluster, DataServerMeter.COPIED_BYTES)).isZero();
        }
    }

    @Test
    void whatTheLogNoLongerHasIsCopiedWhileClientsWrite(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            write(cluster, 10);
            cluster.kill(2);
            cluster.mds.takeOut(3);
            write(cluster, 10);
            cutLogs(cluster);
            cluster.start(2);
            while (!cluster.mds.isWhole()) {
                write(cluster, 1);
            }
            assertThat(copied(cluster)).isPositive();
            readFrom(cluster, 2);
        }
    }

    @Test
    void nothingIsCopiedWhileRecoveryIsPaused(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            write(cluster, 10);
            cluster.kill(2);
            cluster.mds.takeOut(3);
            write(cluster, 10);
            cutLogs(cluster);
            cluster.mds.recoveryPaused = true;
            long told = cluster.mds.heartbeats();
            await().atMost(TestCluster.PATIENCE)
                    .until(() -> cluster.mds.heartbeats() >= told + 3 * TestCluster.SERVERS);
            cluster.start(2);
            write(cluster, 5);
            long before = cluster.mds.heartbeats();
            await().atMost(TestCluster.PATIENCE)
                    .until(() -> cluster.mds.heartbeats() >= before + 10 * TestCluster.SERVERS);
            assertThat(copied(cluster)).isZero();
            assertThat(cluster.mds.isWhole()).isFalse();
            cluster.mds.recoveryPaused = false;
            awaitWhole(cluster);
            readFrom(cluster, 2);
        }
    }

    @Test
    void ofChunksThatWereWrittenToOnlyTheBlocksAreCopied(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            for (int i = 0; i < FakeMds.PGS; i++) {
                write(cluster, i, 0, BYTES);
            }
            cutLogs(cluster);
            cluster.kill(2);
            cluster.mds.takeOut(3);
            Set<Integer> changed = new HashSet<>();
            for (int i = 0; i < 60; i++) {
                int pg = i % FakeMds.PGS;
                int block = random.nextInt(BYTES / BLOCK);
                write(cluster, pg, block * BLOCK, BLOCK);
                changed.add(pg * BYTES / BLOCK + block);
            }
            cutLogs(cluster);
            cluster.start(2);
            awaitWhole(cluster);
            assertThat(copied(cluster)).isBetween(1L, 2L * changed.size() * BLOCK);
            readFrom(cluster, 2);
        }
    }

    @Test
    void whatWasDeletedMeanwhileDoesNotComeBack(@TempDir Path directory) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).onRealDisks().startAll()) {
            write(cluster, 3);
            cluster.kill(2);
            cluster.mds.takeOut(3);
            int pg = TestCluster.pg(1);
            cluster.deleteInodes(pg, LongStream.of(1000 + pg));
            content[1] = new byte[BYTES];
            cutLogs(cluster);
            cluster.start(2);
            awaitWhole(cluster);
            readFrom(cluster, 2);
        }
    }

    /** The log of the servers that are there has nothing more that a learner could be sent. */
    private static void cutLogs(TestCluster cluster) {
        for (int g = 0; g < FakeMds.PGS; g++) {
            cluster.cutLog(TestCluster.pg(g));
        }
    }

    private static long copied(TestCluster cluster) {
        return counted(cluster, DataServerMeter.COPIED_BYTES);
    }

    private static long counted(TestCluster cluster, DataServerMeter meter) {
        long bytes = 0;
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            bytes += cluster.meters(i).counter(meter).count();
        }
        return bytes;
    }
}
