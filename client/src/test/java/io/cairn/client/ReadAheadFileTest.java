package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.base.ClientMeter;
import io.cairn.client.fake.FakeDataServer;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.FileLock;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a client reads ahead of a file, and when it does not count. Chunks are 64 KiB, reads 16 KiB;
 * the file is so small that all of it is read ahead after the first reads, each chunk by one
 * request.
 */
class ReadAheadFileTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final int READ = 1 << 14;
    private static final int SIZE = 4 * CHUNK;
    private static final String PATIENT = "attempt_timeout = \"10min\"";

    private final Meters meters = Meters.unpublished();
    private CairnClient client;

    /** Of the client that reads ahead. */
    private OpenFile file;

    @BeforeEach
    void makeFile() {
        client = CairnClients.connect(cluster.config(PATIENT), meters);
        file = create(client, "f");
        fill(file, 'a');
        get(file.flush());
    }

    @AfterEach
    void nothingIsHeld() {
        client.close();
        await().until(() -> gauge(ClientMeter.READ_AHEAD_HELD) == 0);
        meters.close();
    }

    private static void fill(OpenFile file, char what) {
        byte[] bytes = new byte[SIZE];
        Arrays.fill(bytes, (byte) what);
        get(file.write(0, PooledByteBufAllocator.DEFAULT.directBuffer().writeBytes(bytes), false));
    }

    private long counter(String what) {
        return (long)
                meters.registry()
                        .get(ClientMeter.READ_AHEAD_BYTES.meterName())
                        .tag("what", what)
                        .functionCounter()
                        .count();
    }

    private long gauge(ClientMeter meter) {
        return (long) meters.registry().get(meter.meterName()).gauge().value();
    }

    private void faults(Fault fault) {
        cluster.data()
                .forEach(d -> d.faults(op -> op.type() == DataOpType.READ ? fault : Fault.NONE));
    }

    private void letGo() {
        faults(Fault.NONE);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
    }

    private int held() {
        return cluster.data().stream().mapToInt(FakeDataServer::held).sum();
    }

    private long reads() {
        return cluster.data().stream()
                .flatMap(d -> d.received().stream())
                .filter(op -> op.type() == DataOpType.READ)
                .count();
    }

    private static CompletableFuture<String> reading(OpenFile of, int number) {
        return of.readForCache((long) number * READ, READ).thenApply(ReadAheadFileTest::distinct);
    }

    private static String distinct(ByteBuf data) {
        StringBuilder found = new StringBuilder();
        data.forEachByte(b -> {
            if (found.indexOf(String.valueOf((char) b)) < 0) {
                found.append((char) b);
            }
            return true;
        });
        data.release();
        return found.toString();
    }

    private String read(int number) {
        return get(reading(file, number));
    }

    /** The first four reads, that is the first chunk; what follows is in flight or has come. */
    private void readFirstChunk() {
        for (int i = 0; i < 4; i++) {
            assertThat(read(i)).isEqualTo("a");
        }
    }

    private void awaitRestOfFile() {
        await().until(() -> counter("fetched") >= SIZE - CHUNK);
    }

    @Test
    void whatFollowsIsReadBeforeItIsAskedForAndOnce() {
        readFirstChunk();
        awaitRestOfFile();
        long reads = reads();
        for (int i = 4; i < SIZE / READ; i++) {
            assertThat(read(i)).isEqualTo("a");
        }
        assertThat(reads()).isEqualTo(reads);
        assertThat(counter("served")).isEqualTo(counter("fetched"));
        assertThat(gauge(ClientMeter.READ_AHEAD_HELD)).isZero();
        assertThat(read(SIZE / READ)).isEmpty();
    }

    @Test
    void chunksAreReadAtTheSameTime() {
        for (int i = 0; i < 2; i++) {
            read(i);
        }
        faults(Fault.HOLD);
        CompletableFuture<String> third = reading(file, 2);
        await().until(() -> held() == 5); // its own, the rest of its chunk, and three more
        Set<Integer> chunks = new HashSet<>();
        for (FakeDataServer server : cluster.data()) {
            server.received().stream().map(DataOp::chunk).forEach(chunks::add);
        }
        assertThat(chunks).containsExactlyInAnyOrder(0, 1, 2, 3);
        CompletableFuture<String> last = reading(file, SIZE / READ - 1);
        assertThat(last).isNotDone();
        letGo();
        assertThat(get(third)).isEqualTo("a");
        assertThat(get(last)).isEqualTo("a");
    }

    @Test
    void otherReadsAskTheDataServers() {
        readFirstChunk();
        awaitRestOfFile();
        long reads = reads();
        assertThat(distinct(get(file.read(4L * READ, READ)))).isEqualTo("a");
        assertThat(reads()).isEqualTo(reads + 1);
    }

    @Test
    void whatThisClientWroteIsReadAndNotWhatWasReadBefore() {
        readFirstChunk();
        awaitRestOfFile();
        get(write(file, 6L * READ, "b".repeat(READ)));
        assertThat(read(6)).isEqualTo("b");
        assertThat(read(7)).isEqualTo("a");
        assertThat(read(5)).isEqualTo("a");
        assertThat(counter("dropped")).isEqualTo(CHUNK);
    }

    @Test
    void nothingInFlightWhenAWriteBeganIsHandedOutAfterIt() {
        OpenFile other = get(client.open(file.inode()));
        for (int i = 0; i < 2; i++) {
            read(i);
        }
        faults(Fault.HOLD);
        CompletableFuture<String> third = reading(file, 2);
        await().until(() -> held() == 5);
        CompletableFuture<String> waiting = reading(file, 4);
        // They were read there before the write, and are answered after it.
        get(write(other, CHUNK, "b".repeat(CHUNK)));
        faults(Fault.NONE);
        CompletableFuture<String> after = reading(file, 5);
        assertThat(get(after)).isEqualTo("b");
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        assertThat(get(third)).isEqualTo("a");
        assertThat(get(waiting)).isEqualTo("b");
        assertThat(read(8)).isEqualTo("a");
        get(other.release());
    }

    @Test
    void oldBytesThatComeAfterAWriteAreDropped() {
        for (int i = 0; i < 2; i++) {
            read(i);
        }
        faults(Fault.LATE);
        CompletableFuture<String> third = reading(file, 2);
        await().until(() -> held() == 5);
        get(write(file, CHUNK, "b".repeat(CHUNK)));
        letGo();
        assertThat(get(third)).isEqualTo("a");
        awaitRestOfFile();
        assertThat(read(4)).isEqualTo("b");
        assertThat(read(7)).isEqualTo("b");
    }

    @Test
    void aTruncationOfThisClientIsSeen() {
        readFirstChunk();
        awaitRestOfFile();
        get(resize(client, file, 5L * READ));
        get(resize(client, file, SIZE));
        assertThat(read(4)).isEqualTo("a");
        assertThat(read(5)).isEqualTo("\0");
    }

    @Test
    void anAppendIsSeenAndTheFileGoesOn() {
        readFirstChunk();
        awaitRestOfFile();
        get(file.append(buffer("b".repeat(READ)), false, false));
        assertThat(read(SIZE / READ)).isEqualTo("b");
    }

    @Test
    void whoOpensTheFileReadsWhatAnotherClientHadClosedAlsoByOlderHandles() {
        CairnClient writer = connect();
        OpenFile writers = get(writer.open(file.inode()));
        readFirstChunk();
        awaitRestOfFile();
        fill(writers, 'b');
        get(writers.flush());
        OpenFile opened = get(client.open(file.inode()));
        assertThat(get(reading(opened, 5))).isEqualTo("b");
        assertThat(read(4)).isEqualTo("b");
        get(opened.release());
    }

    @Test
    void whoGetsALockReadsWhatWasWrittenUnderIt() {
        CairnClient writer = connect();
        OpenFile writers = get(writer.open(file.inode()));
        FileLock lock =
                FileLock.newBuilder()
                        .setFlock(true)
                        .setExclusive(true)
                        .setEnd(Long.MAX_VALUE)
                        .build();
        readFirstChunk();
        awaitRestOfFile();
        get(writers.lock(lock, true, () -> false).had());
        fill(writers, 'b');
        get(writers.unlock(lock));
        var _ = get(file.lock(lock, true, () -> false).had());
        assertThat(read(4)).isEqualTo("b");
        get(file.unlock(lock));
    }

    @Test
    void nothingIsKeptOverTheEndOfTheSession() {
        readFirstChunk();
        awaitRestOfFile();
        cluster.evictAll();
        await().until(() -> gauge(ClientMeter.READ_AHEAD_HELD) == 0);
        assertThat(read(4)).isEqualTo("a");
    }

    @Test
    void bytesThatNobodyReadsAreDropped() {
        readFirstChunk();
        awaitRestOfFile();
        await().until(() -> gauge(ClientMeter.READ_AHEAD_HELD) == 0);
        assertThat(counter("dropped")).isEqualTo(counter("fetched") - counter("served"));
        assertThat(read(4)).isEqualTo("a");
    }

    @Test
    void aClosedHandleHoldsNothing() {
        for (int i = 0; i < 2; i++) {
            read(i);
        }
        faults(Fault.HOLD);
        CompletableFuture<String> third = reading(file, 2);
        await().until(() -> held() == 5);
        CompletableFuture<ByteBuf> cancelled = file.readForCache(4L * READ, READ);
        cancelled.cancel(false);
        letGo();
        get(third);
        get(file.release());
        await().until(() -> gauge(ClientMeter.READ_AHEAD_HELD) == 0);
        assertThat(counter("served")).isZero();
    }

    @Test
    void aReaderIsAnsweredByTheDataServersWhereReadingAheadFails() {
        for (int i = 0; i < 2; i++) {
            read(i);
        }
        faults(Fault.REFUSE);
        CompletableFuture<ByteBuf> third = file.readForCache(2L * READ, READ);
        assertThat(failure(third)).isNotNull();
        faults(Fault.NONE);
        await().until(() -> gauge(ClientMeter.READ_AHEAD_HELD) == 0);
        for (int i = 2; i < SIZE / READ; i++) {
            assertThat(read(i)).isEqualTo("a");
        }
    }

    @Test
    void nothingIsReadAheadWhereItIsTurnedOff() {
        CairnClient plain = connect("read_ahead = \"0B\"");
        OpenFile opened = get(plain.open(file.inode()));
        long reads = reads();
        for (int i = 0; i < SIZE / READ; i++) {
            assertThat(get(reading(opened, i))).isEqualTo("a");
        }
        assertThat(reads()).isEqualTo(reads + SIZE / READ);
    }

    @Test
    void aWriteIsNotKeptWaitingByWhatIsReadAhead() {
        CairnClient tight = connect("max_in_flight = \"1MiB\"", PATIENT);
        OpenFile opened = get(tight.open(file.inode()));
        get(
                opened.write(
                        0,
                        PooledByteBufAllocator.DEFAULT.directBuffer().writeZero(2 << 20),
                        false));
        faults(Fault.HOLD);
        CompletableFuture<String> reads = CompletableFuture.completedFuture("");
        for (int i = 0; i < 3; i++) {
            reads = reads.thenCombine(reading(opened, i), (a, b) -> b);
        }
        await().until(() -> held() == 6); // 272 KiB
        get(
                opened.write(
                        1 << 20,
                        PooledByteBufAllocator.DEFAULT.directBuffer().writeZero(900 << 10),
                        false));
        letGo();
        assertThat(get(reads)).isEqualTo("\0");
    }
}
