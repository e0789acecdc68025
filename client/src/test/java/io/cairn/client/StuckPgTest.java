package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeChunks;
import io.cairn.client.fake.FakeDataServer;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** One of two data servers does not answer: the PGs of the other one go on. */
class StuckPgTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final int CHUNKS = 100;

    /** A PG is taken for stuck after a tenth of the attempt. */
    private static final String ATTEMPT = "attempt_timeout = \"1s\"";

    private static ByteBuf zeros() {
        return PooledByteBufAllocator.DEFAULT.directBuffer().writeZero(CHUNK);
    }

    private FakeDataServer stuck() {
        return cluster.data(0);
    }

    /** One byte in each chunk; returns the chunks of the server that will be stuck. */
    private Set<Integer> touch(OpenFile file) {
        for (int i = 0; i < CHUNKS; i++) {
            get(write(file, (long) i * CHUNK, "x"));
        }
        Set<Integer> chunks = new HashSet<>();
        stuck().received().stream().map(DataOp::chunk).forEach(chunks::add);
        assertThat(chunks).hasSizeBetween(20, CHUNKS - 20);
        return chunks;
    }

    private static Map<Integer, CompletableFuture<Void>> writeAll(OpenFile file) {
        Map<Integer, CompletableFuture<Void>> writes = new HashMap<>();
        for (int i = 0; i < CHUNKS; i++) {
            writes.put(i, file.write((long) i * CHUNK, zeros(), false));
        }
        return writes;
    }

    private static long done(Map<Integer, CompletableFuture<Void>> writes) {
        return writes.values().stream().filter(CompletableFuture::isDone).count();
    }

    private void letGo() {
        stuck().faults(op -> Fault.NONE);
        stuck().letGo(new Random(1));
    }

    /** What waits for the stuck server is more than may be in flight at once. */
    @Test
    void writesAndReadsOfOtherPgsGoOn() {
        OpenFile file = create(connect("max_in_flight = \"1MiB\"", ATTEMPT), "f");
        Set<Integer> there = touch(file);
        stuck().faults(op -> Fault.HOLD);
        var writes = writeAll(file);
        await().until(() -> done(writes) == CHUNKS - there.size());
        for (int i = 0; i < CHUNKS; i++) {
            if (!there.contains(i)) {
                get(Objects.requireNonNull(writes.get(i)));
                assertThat(get(file.read((long) i * CHUNK, CHUNK).thenApply(this::size)))
                        .isEqualTo(CHUNK);
            }
        }
        letGo();
        writes.values().forEach(ClientFixture::get);
    }

    /** A PG remembers the answers of a session until the session says that it has them. */
    @Test
    void oneThatIsNotAnsweredHoldsNoNumbersOfOtherPgs() {
        OpenFile file = create(connect(ATTEMPT), "f");
        Set<Integer> there = touch(file);
        long silent = there.iterator().next();
        long lively =
                IntStream.range(0, CHUNKS)
                        .filter(i -> !there.contains(i))
                        .findFirst()
                        .orElseThrow();
        stuck().faults(op -> Fault.HOLD);
        CompletableFuture<Void> waits = write(file, silent * CHUNK, "z");
        await().until(() -> stuck().held() > 0);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < FakeChunks.MAX_NUMBERS + 2000; i++) {
            writes.add(write(file, lively * CHUNK + i % 64, "a"));
            if (writes.size() == 64) {
                writes.forEach(ClientFixture::get);
                writes.clear();
            }
        }
        writes.forEach(ClientFixture::get);
        assertThat(waits.isDone()).isFalse();
        letGo();
        get(waits);
        assertThat(read(file, silent * CHUNK, 1)).isEqualTo("z");
    }

    private int size(ByteBuf data) {
        int size = data.readableBytes();
        data.release();
        return size;
    }

    @Test
    void writesForStuckPgsMayHoldHalfOfTheMemory() {
        OpenFile file = create(connect("max_held = \"16MiB\"", ATTEMPT), "f");
        Set<Integer> there = touch(file);
        long chunk = there.iterator().next();
        stuck().faults(op -> Fault.HOLD);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < (8 << 20) / CHUNK; i++) {
            writes.add(file.write(chunk * CHUNK, zeros(), false));
        }
        List<CompletableFuture<Void>> refused = new ArrayList<>();
        await().until(() -> {
            CompletableFuture<Void> write = file.write(chunk * CHUNK, zeros(), false);
            (write.isCompletedExceptionally() ? refused : writes).add(write);
            return !refused.isEmpty();
        });
        assertThat(errno(refused.getFirst())).isEqualTo(Errno.ENOMEM);
        for (int i = 0; i < CHUNKS; i++) {
            if (!there.contains(i)) {
                get(file.write((long) i * CHUNK, zeros(), false));
            }
        }
        while (writes.stream().anyMatch(write -> !write.isDone())) {
            letGo();
        }
        writes.forEach(ClientFixture::get);
        get(file.write(chunk * CHUNK, zeros(), false));
    }

    /** Behind one that was sent and is not answered. */
    @Test
    void anAppendThatNobodyWaitsForLeavesTheLine() {
        OpenFile file = create(connect("max_in_flight = \"1MiB\"", ATTEMPT), "f");
        get(append(file, "a"));
        cluster.data().forEach(server -> server.faults(op -> Fault.HOLD));
        CompletableFuture<Long> sent = append(file, "b");
        await().until(() -> cluster.data().stream().anyMatch(server -> server.held() > 0));
        ByteBuf data = buffer("c");
        CompletableFuture<Long> waits = file.append(data, false, false);
        CompletableFuture<Long> last = append(file, "d");
        waits.cancel(false);
        assertThat(data.refCnt()).isZero();
        cluster.data().forEach(server -> server.faults(op -> Fault.NONE));
        cluster.data().forEach(server -> server.letGo(new Random(1)));
        assertThat(get(sent)).isEqualTo(1);
        assertThat(get(last)).isEqualTo(2);
        assertThat(read(file, 0, 9)).isEqualTo("abd");
    }

    @Test
    void whatNobodyWaitsForIsNotSentAndFreesItsBuffer() {
        OpenFile file = create(connect("max_in_flight = \"1MiB\"", ATTEMPT), "f");
        Set<Integer> there = touch(file);
        stuck().faults(op -> Fault.HOLD);
        List<ByteBuf> buffers = new ArrayList<>();
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int chunk : there) {
            for (int i = 0; i < 4; i++) {
                ByteBuf data = zeros().writerIndex(CHUNK / 4);
                buffers.add(data);
                writes.add(file.write((long) chunk * CHUNK + i * (CHUNK / 4), data, false));
            }
        }
        int before = there.size();
        await().until(() -> stuck().held() > 0);
        writes.forEach(write -> write.cancel(false));
        // Those that were sent are known to the server, and their outcome is awaited.
        await().until(() -> live(buffers) <= stuck().held());
        assertThat(live(buffers)).isLessThan(buffers.size());
        letGo();
        await().until(() -> live(buffers) == 0);
        assertThat(stuck().received().size() - before).isLessThan(writes.size());
        get(write(file, 0, "y"));
        assertThat(read(file, 0, 1)).isEqualTo("y");
    }

    private static int live(List<ByteBuf> buffers) {
        return (int) buffers.stream().filter(buffer -> buffer.refCnt() > 0).count();
    }
}
