package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * One client, evicted again and again at any request, writes and flushes a file: nothing is lost
 * that a flush has confirmed, and what is lost is told.
 */
class SessionLossModelTest {
    private static final int STEPS = Integer.getInteger("cairn.test.model.steps", 700);
    private static final int LARGEST = 20_000;

    private final Random random = TestSeed.random("SessionLossModelTest");

    /** What the file holds if nothing was lost. */
    private byte[] seen = {};

    /** What it certainly held when a flush succeeded, and what was written at each place since. */
    private byte[] flushed = {};

    private final Map<Integer, Set<Byte>> since = new HashMap<>();
    private int losses;

    @Test
    void nothingIsLostInSilence() throws Exception {
        try (FakeCluster cluster = new FakeCluster(1, 2, FakeCluster.layout(4096, 1, 4096))) {
            evictAtRandom(cluster, random.nextLong());
            try (CairnClient client = CairnClients.connect(cluster.config())) {
                OpenFile file = create(client);
                for (int step = 0; step < STEPS; step++) {
                    file = step(client, file);
                }
                cluster.mds(0).faults(m -> Fault.NONE);
                cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
            }
            assertThat(cluster.chunks().violations()).isEmpty();
            assertThat(losses).as("times that writes were lost").isPositive();
        }
    }

    private static void evictAtRandom(FakeCluster cluster, long seed) {
        Random faults = new Random(seed);
        cluster.mds(0)
                .faults(m -> {
                    synchronized (faults) {
                        if (m != Method.OPEN_SESSION && faults.nextInt(60) == 0) {
                            cluster.evictAll();
                        }
                        return faults.nextInt(100) == 0 ? Fault.CUT_AFTER : Fault.NONE;
                    }
                });
        cluster.data()
                .forEach(d ->
                        d.faults(op -> {
                            synchronized (faults) {
                                if (faults.nextInt(120) == 0) {
                                    cluster.evictAll();
                                }
                                return faults.nextInt(60) == 0 ? Fault.CUT_AFTER : Fault.NONE;
                            }
                        }));
    }

    /** May have to be repeated: whether a first attempt was executed nobody may know. */
    private static OpenFile create(CairnClient client) throws Exception {
        byte[] name = {'f'};
        while (true) {
            try {
                return await(client.create(1, name, 0100644, false, ClientFixture.WHO));
            } catch (FsException e) {
                assertThat(e.errno()).isEqualTo(Errno.EIO);
            }
        }
    }

    /** Returns the handle to go on with. */
    private OpenFile step(CairnClient client, OpenFile file) throws Exception {
        boolean told;
        switch (random.nextInt(10)) {
            case 0, 1, 2, 3 -> told = fails(write(file));
            case 4, 5 -> told = fails(append(file));
            case 6, 7 -> {
                told = fails(file.flush());
                if (!told) {
                    isFlushed();
                }
            }
            default -> {
                byte[] read = all(file);
                boolean same = Arrays.equals(read, seen);
                told = fails(file.flush());
                if (!told) {
                    assertThat(same).as("nothing was lost, says the flush").isTrue();
                    isFlushed();
                }
            }
        }
        return told ? reopened(client, file) : file;
    }

    private void isFlushed() {
        flushed = seen;
        since.clear();
    }

    private CompletableFuture<?> write(OpenFile file) {
        int offset =
                seen.length > LARGEST
                        ? random.nextInt(LARGEST / 2)
                        : random.nextInt(seen.length + 1);
        byte[] data = data();
        note(offset, data);
        return file.write(offset, Unpooled.wrappedBuffer(data), false);
    }

    private CompletableFuture<?> append(OpenFile file) {
        byte[] data = seen.length > LARGEST ? new byte[] {1} : data();
        note(seen.length, data);
        return file.append(Unpooled.wrappedBuffer(data), false, false);
    }

    private byte[] data() {
        byte[] data = new byte[1 + random.nextInt(6000)];
        random.nextBytes(data);
        return data;
    }

    private void note(int offset, byte[] data) {
        seen = Arrays.copyOf(seen, Math.max(seen.length, offset + data.length));
        System.arraycopy(data, 0, seen, offset, data.length);
        for (int i = 0; i < data.length; i++) {
            since.computeIfAbsent(offset + i, at -> new HashSet<>()).add(data[i]);
        }
    }

    /** Writes were lost: the file is what it was, but for any of what was written since. */
    private OpenFile reopened(CairnClient client, OpenFile lost) throws Exception {
        losses++;
        while (true) {
            OpenFile again = await(client.open(lost.inode()));
            byte[] read = all(again);
            if (!fails(again.flush())) {
                assertThat(read.length).isBetween(flushed.length, seen.length);
                for (int i = 0; i < read.length; i++) {
                    boolean before = i < flushed.length && read[i] == flushed[i];
                    if (!before && !since.getOrDefault(i, Set.of()).contains(read[i])) {
                        throw new AssertionError(
                                "byte " + i + " of " + read.length + " is of none");
                    }
                }
                await(lost.release());
                seen = read;
                isFlushed();
                return again;
            }
            await(again.release());
        }
    }

    private static byte[] all(OpenFile file) throws Exception {
        ByteBuf data = await(file.read(0, 10 * LARGEST));
        byte[] bytes = new byte[data.readableBytes()];
        data.readBytes(bytes);
        data.release();
        return bytes;
    }

    private static boolean fails(CompletableFuture<?> future) throws Exception {
        try {
            var _ = await(future);
            return false;
        } catch (FsException e) {
            assertThat(e.errno()).as(e.getMessage()).isEqualTo(Errno.EIO);
            return true;
        }
    }

    private static <T> T await(CompletableFuture<T> future) throws Exception {
        try {
            return future.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof FsException failure) {
                throw failure;
            }
            throw e;
        }
    }
}
