package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.DiskStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bits flipped in the data files of running servers: reads are right, and the bits come back. */
class RepairTest {
    private static final long SESSION = 77;
    private static final int PAGE = 4096;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir Path directory;

    private TestCluster cluster;
    private final Random random = new Random(1);

    @BeforeEach
    void start() throws Exception {
        cluster = new TestCluster(directory).onRealDisks().startAll();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    @Test
    void onWhicheverDiskIsPrimary() throws Exception {
        boolean[] damaged = new boolean[TestCluster.SERVERS];
        for (int i = 0; i < FakeMds.PGS; i++) {
            int pg = TestCluster.pg(i);
            byte[] data = write(pg, i + 1);
            int primary = cluster.primary(pg);
            damaged[primary] = true;
            long at = awaitFlushed(primary, data);
            flip(primary, at);
            readUntilStored(pg, primary, at, data);
        }
        assertThat(damaged).containsOnly(true);
    }

    /** The disk serves on, but whoever operates it should look at it. */
    @Test
    void theMetadataServiceIsTold() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        int primary = cluster.primary(pg);
        long at = awaitFlushed(primary, data);
        assertThat(warnings(primary)).isEmpty();
        flip(primary, at);
        flip(primary, at + PAGE);
        readUntilStored(pg, primary, at, data);
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(warnings(primary))
                                .singleElement()
                                .asString()
                                .contains("damaged or unreadable blocks: 2 found")
                                .contains("2 of them repaired")
                                .contains("check the device"));
        assertThat(warnings((primary + 1) % TestCluster.SERVERS)).isEmpty();
    }

    private List<String> warnings(int server) {
        DiskStatus status = cluster.mds.reported(server + 1, dataFile(server));
        return status == null ? List.of() : status.getWarningsList();
    }

    @Test
    void onABackupThatIsAsked() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        List<Integer> bad =
                List.of(cluster.primary(pg), (cluster.primary(pg) + 1) % TestCluster.SERVERS);
        long[] places = new long[TestCluster.SERVERS];
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            places[server] = awaitFlushed(server, data);
        }
        for (int server : bad) {
            flip(server, places[server]);
        }
        assertThat(read(pg, data.length)).isEqualTo(data);
        awaitStored(cluster.primary(pg), places[cluster.primary(pg)], data);
        // The others are asked in the order of the map: the next one first.
        awaitStored(bad.get(1), places[bad.get(1)], data);
    }

    @Test
    void whenEveryReplicaHasAnotherBadBlock() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            flip(server, awaitFlushed(server, data) + (long) server * PAGE);
        }
        await().atMost(PATIENCE)
                .until(() ->
                        cluster.sendUntilFinal(
                                        cluster.read(pg, SESSION, 0, data.length), new byte[0])
                                .status()
                                .ok());
        assertThat(read(pg, data.length)).isEqualTo(data);
    }

    /** As rotten ones: the server goes on, the client notices nothing, the block comes back. */
    @Test
    void blocksThatCannotBeRead() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        int primary = cluster.primary(pg);
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            long at = awaitFlushed(server, data) + (long) server * PAGE;
            cluster.devices.get(server).failReads(at);
        }
        await().atMost(PATIENCE)
                .until(() ->
                        cluster.sendUntilFinal(
                                        cluster.read(pg, SESSION, 0, data.length), new byte[0])
                                .status()
                                .ok());
        assertThat(read(pg, data.length)).isEqualTo(data);
        awaitHealed(primary);
    }

    /** The flusher meets the block first: what was written waits for the repair. */
    @Test
    void aWriteToAPartOfABlockThatCannotBeRead() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        for (int server = 0; server < 2; server++) {
            long at = awaitFlushed(server, data);
            cluster.devices.get(server).failReads(at + PAGE);
        }
        awaitFlushed(2, data);
        byte[] piece = new byte[100];
        random.nextBytes(piece);
        System.arraycopy(piece, 0, data, PAGE + 1000, piece.length);
        TestCluster.Result written =
                cluster.sendUntilFinal(cluster.write(pg, SESSION, 2, PAGE + 1000, piece), piece);
        assertThat(written.status().ok()).isTrue();
        for (int server = 0; server < 2; server++) {
            awaitHealed(server);
        }
        assertThat(read(pg, data.length)).isEqualTo(data);
    }

    /** Nobody reads it: only who copies it to a replica that was away meets it. */
    @Test
    void aBlockThatARecoveryMeets() throws Exception {
        cluster.kill(2);
        cluster.mds.takeOut(3);
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        cluster.cutLog(pg);
        int primary = cluster.primary(pg);
        awaitFlushed(1 - primary, data);
        long at = awaitFlushed(primary, data);
        flip(primary, at + PAGE);
        cluster.start(2);
        await().atMost(PATIENCE).until(() -> cluster.mds.isWhole());
        awaitStored(primary, at, data);
        awaitFlushed(2, data);
    }

    private void awaitHealed(int server) {
        await().atMost(PATIENCE).until(() -> cluster.devices.get(server).healed());
    }

    @Test
    void whileTheBlockIsBeingWritten() throws Exception {
        int pg = TestCluster.pg(0);
        byte[] data = write(pg, 1);
        int primary = cluster.primary(pg);
        long at = awaitFlushed(primary, data);
        byte[] expected = data.clone();
        for (int round = 0; round < 20; round++) {
            flip(primary, at);
            CompletableFuture<TestCluster.Result> reading =
                    cluster.send(cluster.read(pg, SESSION, 0, data.length), new byte[0]);
            byte[] piece = new byte[100];
            random.nextBytes(piece);
            int offset = 200 * round;
            TestCluster.Result written =
                    cluster.sendUntilFinal(
                            cluster.write(pg, SESSION, 2 + round, offset, piece), piece);
            assertThat(written.status().ok()).isTrue();
            TestCluster.Result result = reading.get(30, TimeUnit.SECONDS);
            byte[] before = expected.clone();
            System.arraycopy(piece, 0, expected, offset, piece.length);
            assertThat(result.data())
                    .satisfiesAnyOf(
                            d -> assertThat(d).isEqualTo(before),
                            d -> assertThat(d).isEqualTo(expected));
            assertThat(read(pg, data.length)).isEqualTo(expected);
        }
    }

    private byte[] write(int pg, long number) {
        byte[] data = new byte[3 * PAGE];
        random.nextBytes(data);
        TestCluster.Result r =
                cluster.sendUntilFinal(cluster.write(pg, SESSION, number, 0, data), data);
        assertThat(r.status().ok()).as(r.status().detail()).isTrue();
        return data;
    }

    private byte[] read(int pg, int length) {
        TestCluster.Result r =
                cluster.sendUntilFinal(cluster.read(pg, SESSION, 0, length), new byte[0]);
        assertThat(r.status().ok()).as(r.status().detail()).isTrue();
        return r.data();
    }

    /** Where the server has the bytes in its data file, once they are there. */
    private long awaitFlushed(int server, byte[] data) {
        return await().atMost(PATIENCE).until(() -> find(server, data), at -> at >= 0);
    }

    private long find(int server, byte[] data) throws IOException {
        try (FileChannel file = FileChannel.open(dataFile(server))) {
            ByteBuffer block = ByteBuffer.allocate(PAGE);
            for (long at = PAGE; at + data.length <= file.size(); at += PAGE) {
                file.read(block.clear(), at);
                if (Arrays.equals(block.array(), Arrays.copyOf(data, PAGE))) {
                    return at;
                }
            }
        }
        return -1;
    }

    private void flip(int server, long at) throws IOException {
        try (FileChannel file =
                FileChannel.open(
                        dataFile(server), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer b = ByteBuffer.allocate(1);
            file.read(b, at + 1000);
            b.put(0, (byte) (b.get(0) ^ 0x20)).flip();
            file.write(b, at + 1000);
        }
    }

    /** A first read may still be answered from the log, and so not meet what is on the disk. */
    private void readUntilStored(int pg, int server, long at, byte[] data) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> {
                    assertThat(read(pg, data.length)).isEqualTo(data);
                    assertStored(server, at, data);
                });
    }

    private void awaitStored(int server, long at, byte[] data) {
        await().atMost(PATIENCE).untilAsserted(() -> assertStored(server, at, data));
    }

    private void assertStored(int server, long at, byte[] data) throws IOException {
        byte[] stored = new byte[data.length];
        try (FileChannel file = FileChannel.open(dataFile(server))) {
            file.read(ByteBuffer.wrap(stored), at);
        }
        assertThat(Arrays.equals(stored, data)).as("repaired").isTrue();
    }

    private Path dataFile(int server) {
        Path file = cluster.stateDir(server).resolve("data");
        assertThat(Files.exists(file)).isTrue();
        return file;
    }
}
