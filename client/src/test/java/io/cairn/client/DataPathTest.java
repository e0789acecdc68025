package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeDataServer;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Reads and writes of chunks: repetition, order, checksums, placement. Chunks are 64 KiB. */
class DataPathTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;

    private void faults(Function<DataOp, Fault> decide) {
        cluster.data().forEach(d -> d.faults(decide));
    }

    /** Writes or reads in the order of arrival; right as long as they went to one server. */
    private List<DataOp> received(DataOpType type) {
        List<DataOp> all = new ArrayList<>();
        for (FakeDataServer server : cluster.data()) {
            server.received().stream().filter(op -> op.type() == type).forEach(all::add);
        }
        return all;
    }

    private int held() {
        return cluster.data().stream().mapToInt(FakeDataServer::held).sum();
    }

    @Test
    void whatWasNeverWrittenIsZerosAndTheEndIsTheSize() {
        OpenFile file = create(connect(), "f");
        get(write(file, 5L * CHUNK + 3, "end"));
        assertThat(read(file, 5L * CHUNK, 100)).isEqualTo("\0\0\0end");
        assertThat(read(file, 4L * CHUNK - 2, 4)).isEqualTo("\0\0\0\0");
        assertThat(read(file, 5L * CHUNK + 6, 10)).isEmpty();
        assertThat(read(file, 1L << 40, 10)).isEmpty();
        assertThat(read(file, 0, 0)).isEmpty();
        assertThat(file.attr().getSize()).isEqualTo(5L * CHUNK + 6);
    }

    @Test
    void aWriteOverChunksIsOnePieceEach() {
        OpenFile file = create(connect(), "f");
        int length = 3 * CHUNK;
        get(
                file.write(
                        CHUNK - 10L,
                        PooledByteBufAllocator.DEFAULT.directBuffer().writeZero(length),
                        false));
        assertThat(received(DataOpType.WRITE)).hasSize(4);
        assertThat(file.attr().getSize()).isEqualTo(CHUNK - 10 + length);
    }

    @Test
    void aWriteWhoseAnswerWasLostIsRepeatedWithItsNumberAndNotExecutedAgain() {
        OpenFile file = create(connect(), "f");
        AtomicInteger count = new AtomicInteger();
        faults(op -> count.incrementAndGet() <= 2 ? Fault.CUT_AFTER : Fault.NONE);
        get(write(file, 0, "abc"));
        List<DataOp> writes = received(DataOpType.WRITE);
        assertThat(writes).hasSizeGreaterThanOrEqualTo(3);
        assertThat(writes).allMatch(op -> op.number() == 1);
        assertThat(cluster.chunks().executed()).isEqualTo(1);
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        get(write(file, 0, "def"));
        DataOp last = received(DataOpType.WRITE).getLast();
        assertThat(last.number()).isEqualTo(2);
        assertThat(last.ackedBelow()).isEqualTo(2);
    }

    @Test
    void overlappingWritesGoOneAfterTheOtherWhateverTheServerDoes() {
        OpenFile file = create(connect(), "f");
        Random random = TestSeed.random("DataPathTest.overlappingWrites");
        faults(op -> Fault.HOLD);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        StringBuilder expected = new StringBuilder("................");
        for (int i = 0; i < 20; i++) {
            int at = random.nextInt(12);
            String text = Character.toString('a' + i).repeat(4);
            expected.replace(at, at + 4, text);
            writes.add(write(file, at, text));
        }
        CompletableFuture<String> seen = file.read(0, 16).thenApply(ClientFixture::text);
        CompletableFuture<Void> all =
                CompletableFuture.allOf(writes.toArray(CompletableFuture[]::new));
        while (!all.isDone() || !seen.isDone()) {
            cluster.data().forEach(d -> d.letGo(random));
        }
        get(all);
        assertThat(get(seen).replace('\0', '.'))
                .isEqualTo(expected.toString().replaceAll("\\.+$", ""));
    }

    @Test
    void writesThatDoNotOverlapAreInFlightTogether() {
        OpenFile file = create(connect(), "f");
        faults(op -> Fault.HOLD);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            writes.add(write(file, i * 4L, "abcd"));
        }
        await().until(() -> held() == 100);
        faults(op -> Fault.NONE);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        writes.forEach(ClientFixture::get);
        assertThat(read(file, 0, 1000)).isEqualTo("abcd".repeat(100));
    }

    @Test
    void bytesInFlightAreBounded() {
        OpenFile file =
                create(connect("max_in_flight = \"1MiB\"", "attempt_timeout = \"10min\""), "f");
        get(write(file, 64L * CHUNK, "x")); // raises the ceiling
        faults(op -> Fault.HOLD);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            writes.add(
                    file.write(
                            (long) i * CHUNK,
                            PooledByteBufAllocator.DEFAULT.directBuffer().writeZero(CHUNK),
                            false));
        }
        await().until(() -> held() == 16);
        faults(op -> Fault.NONE);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        writes.forEach(ClientFixture::get);
    }

    @Test
    void aWrongChecksumIsAskedForAgain() {
        OpenFile file = create(connect(), "f");
        get(write(file, 0, "abc"));
        AtomicInteger count = new AtomicInteger();
        faults(op -> count.incrementAndGet() <= 2 ? Fault.CORRUPT : Fault.NONE);
        assertThat(read(file, 0, 3)).isEqualTo("abc");
        faults(op -> Fault.CORRUPT);
        assertThat(errno(file.read(0, 3))).isEqualTo(Errno.EIO);
    }

    @Test
    void afterAMoveOfThePrimariesTheNewMapIsFetched() {
        OpenFile file = create(connect(), "f");
        get(write(file, 0, "abc"));
        cluster.movePrimaries();
        assertThat(read(file, 0, 3)).isEqualTo("abc");
        get(write(file, 1, "x"));
        assertThat(read(file, 0, 3)).isEqualTo("axc");
    }

    /** The attempt lasts longer than the test waits. */
    @Test
    void aPrimaryThatIsSilentIsLeftWhenTheMapHasAnother() {
        OpenFile file = create(connect("attempt_timeout = \"40s\""), "f");
        get(write(file, 0, "abc"));
        faults(op -> Fault.HOLD);
        CompletableFuture<Void> write = write(file, 0, "xyz");
        await().until(() -> held() == 1);
        faults(op -> Fault.NONE);
        cluster.movePrimaries();
        get(write);
        assertThat(held()).isEqualTo(1);
        assertThat(cluster.chunks().executed()).isEqualTo(2);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        assertThat(read(file, 0, 3)).isEqualTo("xyz");
    }

    @Test
    void refusalsForAWhileAreSurvivedAndTheEndIsEio() {
        OpenFile file =
                create(connect("io_timeout = \"400ms\"", "attempt_timeout = \"100ms\""), "f");
        AtomicInteger count = new AtomicInteger();
        faults(op -> count.incrementAndGet() <= 3 ? Fault.RETRY : Fault.NONE);
        get(write(file, 0, "abc"));
        faults(op -> Fault.RETRY);
        assertThat(failure(write(file, 0, "def")))
                .matches(e -> e.errno() == Errno.EIO)
                .hasMessageContaining("attempts");
        faults(op -> Fault.HOLD);
        assertThat(errno(file.read(0, 3))).isEqualTo(Errno.EIO);
        faults(op -> Fault.NONE);
        get(write(file, 0, "ghi"));
        assertThat(read(file, 0, 3)).isEqualTo("ghi");
    }

    @Test
    void aFullDiskIsToldAtOnceAndTheSizeStays() {
        OpenFile file = create(connect(), "f");
        get(write(file, 0, "abc"));
        faults(op -> Fault.FULL);
        assertThat(errno(write(file, 3, "def"))).isEqualTo(Errno.ENOSPC);
        assertThat(file.attr().getSize()).isEqualTo(3);
        faults(op -> Fault.NONE);
        get(write(file, 3, "def"));
        assertThat(read(file, 0, 10)).isEqualTo("abcdef");
    }

    @Test
    void impossibleRangesAreRefused() {
        OpenFile file = create(connect(), "f");
        assertThat(errno(write(file, -1, "a"))).isEqualTo(Errno.EINVAL);
        assertThat(errno(file.read(-1, 1))).isEqualTo(Errno.EINVAL);
        assertThat(errno(write(file, Long.MAX_VALUE - 1, "ab"))).isEqualTo(Errno.EFBIG);
        assertThat(errno(write(file, 1L << 50, "ab"))).isEqualTo(Errno.EFBIG);
        get(write(file, 0, ""));
        get(file.release());
        assertThat(errno(write(file, 0, "a"))).isEqualTo(Errno.EBADF);
    }
}
