package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.proto.Method;
import io.cairn.dataserver.TestCluster.Result;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.replication.Prepare;
import io.cairn.dataserver.replication.PrepareFormat;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How much memory requests take that wait for a disk on which nothing becomes durable. */
class HeldMemoryTest {
    private static final long SESSION = 77;
    private static final int PG = TestCluster.pg(0);
    private static final int MIB = 1 << 20;
    private static final int TIMES = 48;

    @TempDir Path directory;

    private TestCluster cluster;

    @BeforeEach
    void start() throws IOException, DataServerException {
        cluster = new TestCluster(directory);
        cluster.startAll();
        byte[] first = {1};
        assertThat(
                        cluster.sendUntilFinal(cluster.write(PG, SESSION, 1, 0, first), first)
                                .status()
                                .ok())
                .isTrue();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static long heldBytes() {
        return PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
    }

    /** Requests of one connection and PG are handled in order: all before this one are in. */
    private void awaitRequestsTaken() {
        Result read = cluster.sendUntilFinal(cluster.read(PG, SESSION, 3 * MIB, 4096), new byte[0]);
        assertThat(read.status().ok()).as(read.status().detail()).isTrue();
    }

    @Test
    void aWriteSentAgainAndAgainIsHeldOnce() throws Exception {
        cluster.disks.forEach(MemoryDisk::stall);
        byte[] data = new byte[MIB];
        DataOp op = cluster.write(PG, SESSION, 2, 0, data);
        long before = heldBytes();
        List<CompletableFuture<Result>> answers = new ArrayList<>();
        for (int i = 0; i < TIMES; i++) {
            answers.add(cluster.send(op, data, Duration.ofMinutes(1)));
        }
        awaitRequestsTaken();
        assertThat(heldBytes() - before).isLessThan(TIMES * MIB / 4L);
        cluster.disks.forEach(MemoryDisk::goOn);
        for (CompletableFuture<Result> answer : answers) {
            Result r = answer.get(30, TimeUnit.SECONDS);
            assertThat(r.status().ok()).as(r.status().detail()).isTrue();
        }
    }

    @Test
    void anOperationThatThePrimarySendsAgainIsNotHeldByTheBackup() throws Exception {
        int backup = (cluster.primary(PG) + 1) % TestCluster.SERVERS;
        cluster.disks.get(backup).stall();
        byte[] data = new byte[MIB];
        DataOp op = cluster.write(PG, SESSION, 2, 0, data);
        long sequence = cluster.disks.get(backup).history(PG).size() + 1L;
        long epoch = Objects.requireNonNull(cluster.map().pg(PG)).getEpoch();
        Prepare prepare =
                new Prepare(
                        (backup + 1) * 10,
                        epoch,
                        epoch,
                        sequence - 1,
                        new PgLogEntry(epoch, sequence, op, Unpooled.wrappedBuffer(data)));
        long before = heldBytes();
        List<CompletableFuture<Boolean>> answers = new ArrayList<>();
        for (int i = 0; i < TIMES; i++) {
            ByteBuf head = Unpooled.buffer(PrepareFormat.encodedLength(prepare));
            PrepareFormat.encode(prepare, head);
            answers.add(
                    cluster.call(
                            backup, Method.PG_PREPARE_VALUE, head, Unpooled.wrappedBuffer(data)));
        }
        // A request that is refused is answered in its turn.
        ByteBuf none = Unpooled.EMPTY_BUFFER;
        assertThat(cluster.call(backup, Method.PG_PREPARE_VALUE, none, none).get()).isFalse();
        assertThat(heldBytes() - before).isLessThan(TIMES * MIB / 4L);
        cluster.disks.get(backup).goOn();
        for (CompletableFuture<Boolean> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS)).isTrue();
        }
    }
}
