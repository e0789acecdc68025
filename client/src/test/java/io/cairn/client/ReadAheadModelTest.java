package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.base.ClientMeter;
import io.cairn.client.fake.FakeCluster;
import io.cairn.common.metrics.Meters;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * Reads two handles of a client in order, with what follows read ahead, while both of them write
 * and truncate and another client writes too, and compares every byte with an array in memory. What
 * the other client wrote may be missing until this one has seen newer attributes; after that, and
 * of this client's own changes, no old byte is right.
 */
class ReadAheadModelTest {
    private static final int STEPS = Integer.getInteger("cairn.test.model.steps", 1500);
    private static final int MAX_SIZE = 1 << 20;

    private byte[] bytes = {};

    /** Written by the other client, of which this one has not heard. */
    private final BitSet unheard = new BitSet();

    private final OpenFile[] handles = new OpenFile[2];
    private final int[] at = new int[2];
    private final List<CompletableFuture<?>> writes = new ArrayList<>();

    @Test
    void oneStripe() throws IOException {
        run(new FakeCluster(), "oneStripe", false);
    }

    @Test
    void manyStripes() throws IOException {
        run(new FakeCluster(1, 3, FakeCluster.layout(8192, 3, 32768)), "manyStripes", false);
    }

    @Test
    void faults() throws IOException {
        run(new FakeCluster(3, 3, FakeCluster.layout(1 << 16, 1, 1 << 16)), "faults", true);
    }

    private void run(FakeCluster cluster, String test, boolean faulty) {
        Random random = TestSeed.random("ReadAheadModelTest." + test);
        try (cluster;
                Meters meters = Meters.unpublished()) {
            if (faulty) {
                ClientModelTest.makeFaulty(cluster, random.nextLong());
            }
            try (CairnClient client = CairnClients.connect(cluster.config(), meters);
                    CairnClient other = CairnClients.connect(cluster.config())) {
                handles[0] = ClientFixture.create(client, "f");
                for (String name : List.of("g", "h")) { // as many as are disturbed
                    ClientFixture.get(ClientFixture.create(client, name).release());
                }
                handles[1] = ClientFixture.get(client.open(handles[0].inode()));
                write(random, handles[0], 0, MAX_SIZE);
                settle();
                OpenFile others = ClientFixture.get(other.open(handles[0].inode()));
                Random between = new Random(random.nextLong());
                for (int i = 0; i < STEPS; i++) {
                    step(random, client, others);
                    ClientModelTest.disturb(cluster, between, faulty);
                }
                settle();
            }
            assertThat(served(meters)).as("bytes served").isPositive();
            Awaitility.await()
                    .until(() ->
                            meters.registry()
                                            .get(ClientMeter.READ_AHEAD_HELD.meterName())
                                            .gauge()
                                            .value()
                                    == 0);
        }
        assertThat(cluster.chunks().violations()).isEmpty();
    }

    private static double served(Meters meters) {
        return meters.registry()
                .get(ClientMeter.READ_AHEAD_BYTES.meterName())
                .tag("what", "served")
                .functionCounter()
                .count();
    }

    private void step(Random random, CairnClient client, OpenFile others) {
        switch (random.nextInt(40)) {
            case 0, 1, 2 -> {
                int offset = random.nextInt(bytes.length);
                write(random, handles[random.nextInt(2)], offset, 1 + random.nextInt(40_000));
            }
            case 3 -> nextTo(random, handles[random.nextInt(2)], at[random.nextInt(2)]);
            case 4 -> truncate(client, 1 + random.nextInt(MAX_SIZE));
            case 5 -> at[random.nextInt(2)] = random.nextInt(bytes.length);
            case 6, 7 -> writeByOther(random, others);
            case 8 -> reopen(random, client);
            case 9 -> {
                settle();
                var _ = ClientFixture.get(client.getAttr(handles[0].inode()));
                unheard.clear();
            }
            default -> read(random.nextInt(2), 1 + random.nextInt(3) * 8192);
        }
    }

    /** In order, from the start again where the file ends. */
    private void read(int which, int length) {
        if (at[which] >= bytes.length) {
            at[which] = 0;
        }
        int from = at[which];
        int end = Math.min(from + length, bytes.length);
        if (end < from + length || !writes.isEmpty()) {
            settle(); // where the file ends depends on what is done
        }
        byte[] actual = take(ClientFixture.get(handles[which].readForCache(from, length)));
        assertThat(actual).hasSize(end - from);
        for (int i = from; i < end; i++) {
            if (actual[i - from] != bytes[i] && !unheard.get(i)) {
                throw new AssertionError("old byte at " + i + " of a read at " + from);
            }
        }
        at[which] = end;
    }

    private static byte[] take(ByteBuf data) {
        byte[] taken = new byte[data.readableBytes()];
        data.readBytes(taken);
        data.release();
        return taken;
    }

    /** A write in front of a reader, which it meets in what is read ahead or in flight. */
    private void nextTo(Random random, OpenFile handle, int position) {
        write(random, handle, Math.min(position + random.nextInt(60_000), bytes.length), 100);
    }

    private void write(Random random, OpenFile handle, int offset, int wanted) {
        int length = Math.min(wanted, MAX_SIZE - offset);
        if (length <= 0) {
            return;
        }
        byte[] fresh = new byte[length];
        random.nextBytes(fresh);
        writes.add(handle.write(offset, buffer(fresh), false));
        if (bytes.length < offset + length) {
            bytes = Arrays.copyOf(bytes, offset + length);
        }
        System.arraycopy(fresh, 0, bytes, offset, length);
        unheard.clear(offset, offset + length);
    }

    private static ByteBuf buffer(byte[] fresh) {
        return PooledByteBufAllocator.DEFAULT.directBuffer(fresh.length).writeBytes(fresh);
    }

    private void truncate(CairnClient client, int size) {
        writes.add(ClientFixture.resize(client, handles[0], size));
        settle();
        bytes = Arrays.copyOf(bytes, size);
        unheard.clear(); // the answer brings newer attributes
    }

    /** Within the size, and on disk and published before anything else happens. */
    private void writeByOther(Random random, OpenFile others) {
        settle();
        ClientFixture.get(handles[0].flush());
        int offset = random.nextInt(bytes.length);
        byte[] fresh = new byte[Math.min(1 + random.nextInt(100_000), bytes.length - offset)];
        random.nextBytes(fresh);
        ClientFixture.get(others.write(offset, buffer(fresh), false));
        ClientFixture.get(others.flush());
        System.arraycopy(fresh, 0, bytes, offset, fresh.length);
        unheard.set(offset, offset + fresh.length);
    }

    private void reopen(Random random, CairnClient client) {
        settle();
        int which = random.nextInt(2);
        OpenFile old = handles[which];
        handles[which] = ClientFixture.get(client.open(old.inode()));
        ClientFixture.get(old.release());
        unheard.clear();
    }

    private void settle() {
        writes.forEach(ClientFixture::get);
        writes.clear();
    }
}
