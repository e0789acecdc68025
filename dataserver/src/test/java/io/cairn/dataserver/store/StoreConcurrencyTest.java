package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Writers, readers and the flusher at once, on real files, while a small log wraps. A read sees
 * every half block as one write left it, and no older than the last one appended before the read.
 */
class StoreConcurrencyTest {
    private static final int UNIT = 2048;
    private static final int UNITS = 64;
    private static final int WRITES = Integer.getInteger("cairn.test.writes", 3000);

    @TempDir Path directory;

    @Test
    void readsAreNeverTornNorOld() throws Exception {
        long seed = Long.getLong("cairn.test.seed", new Random().nextLong());
        DiskConfig config =
                new DiskConfig(
                        directory.resolve("data"),
                        directory.resolve("wal"),
                        directory.resolve("index"),
                        8 << 20,
                        24L * (64 << 10),
                        64 << 10,
                        256 << 10,
                        0,
                        1,
                        2,
                        8 << 10);
        IndexDatabases databases = StoreHarness.databases();
        AtomicReference<String> fatal = new AtomicReference<>();
        DiskRuntime runtime =
                new DiskRuntime(
                        databases,
                        DeviceFiles.system(),
                        (what, cause) -> fatal.set(what + ": " + cause),
                        true);
        AtomicIntegerArray[] versions = {
            new AtomicIntegerArray(UNITS), new AtomicIntegerArray(UNITS)
        };
        try (LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<Void>> writers =
                    List.of(
                            threads.submit(writer(store, 0, versions[0], seed)),
                            threads.submit(writer(store, 1, versions[1], seed + 1)));
            List<Future<Void>> readers =
                    List.of(
                            threads.submit(reader(store, 0, versions[0], writers, seed + 2)),
                            threads.submit(reader(store, 1, versions[1], writers, seed + 3)));
            for (Future<Void> f : writers) {
                f.get();
            }
            for (Future<Void> f : readers) {
                f.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
        }
        assertThat(fatal.get()).isNull();
        try (LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime)) {
            for (int pg = 0; pg < 2; pg++) {
                assertThat(store.logState(pg).lastSequence()).isEqualTo(WRITES);
                check(store, pg, versions[pg], 0, UNITS);
            }
        }
        databases.memory().close();
    }

    private static Callable<Void> writer(
            LocalDiskStore store, int pg, AtomicIntegerArray versions, long seed) {
        return () -> {
            Random random = new Random(seed);
            Semaphore window = new Semaphore(16);
            for (int sequence = 1; sequence <= WRITES; sequence++) {
                int first = random.nextInt(UNITS);
                int count = 1 + random.nextInt(Math.min(6, UNITS - first));
                ByteBuffer payload = ByteBuffer.allocate(count * UNIT);
                while (payload.hasRemaining()) {
                    payload.putInt(sequence);
                }
                window.acquire();
                long durable = sequence;
                store.append(
                        Ops.write(
                                pg, 1, sequence, 5, 0, first * UNIT, payload.array(), 0, List.of()),
                        () -> {
                            store.commit(pg, durable);
                            window.release();
                        });
                for (int u = first; u < first + count; u++) {
                    versions.set(u, sequence);
                }
            }
            window.acquire(16);
            return null;
        };
    }

    private static Callable<Void> reader(
            LocalDiskStore store,
            int pg,
            AtomicIntegerArray versions,
            List<Future<Void>> writers,
            long seed) {
        return () -> {
            Random random = new Random(seed);
            while (!writers.stream().allMatch(Future::isDone)) {
                int first = random.nextInt(UNITS);
                check(store, pg, versions, first, 1 + random.nextInt(UNITS - first));
            }
            return null;
        };
    }

    private static void check(
            LocalDiskStore store, int pg, AtomicIntegerArray versions, int first, int count)
            throws CorruptBlockException {
        int[] before = new int[count];
        for (int i = 0; i < count; i++) {
            before[i] = versions.get(first + i);
        }
        ByteBuffer bytes =
                ByteBuffer.wrap(StoreHarness.read(store, pg, 5, 0, first * UNIT, count * UNIT));
        for (int i = 0; i < count && bytes.hasRemaining(); i++) {
            int version = bytes.getInt();
            assertThat(version)
                    .as("version of unit %d", first + i)
                    .isGreaterThanOrEqualTo(before[i]);
            for (int k = 4; k < UNIT; k += 4) {
                if (bytes.getInt() != version) {
                    throw new AssertionError("unit " + (first + i) + " is torn");
                }
            }
        }
    }
}
