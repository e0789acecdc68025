package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Writers, truncations, readers and the flusher at once, on real files, while a small log wraps. A
 * read sees the chunk as one operation left it, and no older than the last one appended before the
 * read.
 */
class StoreConcurrencyTest {
    private static final int PGS = 2;
    private static final long INODE = 5;
    private static final int OPERATIONS = Integer.getInteger("cairn.test.writes", 4000);

    @TempDir Path directory;

    @Test
    void readsAreNeverTornNorOld() throws Exception {
        long seed = TestSeed.of("StoreConcurrencyTest");
        DiskConfig config =
                new DiskConfig(
                        directory.resolve("data"),
                        directory.resolve("wal"),
                        directory.resolve("index"),
                        8 << 20,
                        64L * (64 << 10),
                        64 << 10,
                        256 << 10,
                        0,
                        20,
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
        List<UnitHistory> histories = List.of(new UnitHistory(), new UnitHistory());
        try (LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<Void>> writers = new ArrayList<>();
            for (int pg = 0; pg < PGS; pg++) {
                writers.add(threads.submit(new Writer(store, pg, histories.get(pg), seed + pg)));
            }
            List<Future<Void>> readers = new ArrayList<>();
            for (int pg = 0; pg < PGS; pg++) {
                readers.add(
                        threads.submit(
                                reader(store, pg, histories.get(pg), writers, seed + PGS + pg)));
            }
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
            for (int pg = 0; pg < PGS; pg++) {
                assertThat(store.logState(pg).lastSequence()).isEqualTo(OPERATIONS);
                check(store, pg, histories.get(pg), 0, UnitHistory.UNITS);
            }
        }
        databases.memory().close();
    }

    /** The only client of a PG, and the MDS that truncates its file. */
    private static final class Writer implements Callable<Void> {
        private static final int WINDOW = 256;
        private static final int MAX_PENDING = 4;
        private static final TestLayout LAYOUT =
                new TestLayout(UnitHistory.CHUNK_BYTES, 1, UnitHistory.CHUNK_BYTES);

        private final LocalDiskStore store;
        private final int pg;
        private final UnitHistory history;
        private final Random random;
        private final Semaphore window = new Semaphore(WINDOW);
        private final ArrayDeque<Cut> pending = new ArrayDeque<>();
        private long newest;
        private long applied;

        Writer(LocalDiskStore store, int pg, UnitHistory history, long seed) {
            this.store = store;
            this.pg = pg;
            this.history = history;
            this.random = new Random(seed);
        }

        @Override
        public Void call() throws InterruptedException {
            for (int sequence = 1; sequence <= OPERATIONS; sequence++) {
                append(next(sequence));
            }
            window.acquire(WINDOW);
            return null;
        }

        private PgLogEntry next(int sequence) {
            int what = random.nextInt(100);
            if (what < 10 && pending.size() < MAX_PENDING) {
                int units = random.nextInt(UnitHistory.UNITS);
                pending.add(new Cut(++newest, units * UnitHistory.UNIT_BYTES));
            }
            if (what == 99) {
                applied = 0;
                history.cut(sequence, 0);
                return Ops.delete(pg, 1, sequence, INODE);
            }
            Cut oldest = what >= 90 ? pending.poll() : null;
            if (oldest != null) {
                cut(sequence, oldest);
                return Ops.truncate(
                        pg, 1, sequence, INODE, oldest.sequence(), oldest.lengthBytes(), LAYOUT);
            }
            return write(sequence);
        }

        private PgLogEntry write(int sequence) {
            int first = random.nextInt(UnitHistory.UNITS);
            int count = 1 + random.nextInt(Math.min(6, UnitHistory.UNITS - first));
            ByteBuffer payload = ByteBuffer.allocate(count * UnitHistory.UNIT_BYTES);
            while (payload.hasRemaining()) {
                payload.putInt(sequence);
            }
            pending.forEach(c -> cut(sequence, c));
            applied = Math.max(applied, newest);
            history.fill(sequence, first, first + count);
            return Ops.write(
                    pg,
                    1,
                    sequence,
                    INODE,
                    0,
                    first * UnitHistory.UNIT_BYTES,
                    payload.array(),
                    newest,
                    List.copyOf(pending));
        }

        private void cut(int sequence, Cut cut) {
            if (cut.sequence() > applied) {
                applied = cut.sequence();
                history.cut(sequence, cut.lengthBytes() / UnitHistory.UNIT_BYTES);
            }
        }

        private void append(PgLogEntry e) throws InterruptedException {
            int sequence = (int) e.sequence();
            window.acquire();
            history.begins(sequence);
            store.append(
                    e,
                    () -> {
                        store.commit(pg, sequence);
                        window.release();
                    });
            history.appended(sequence);
        }
    }

    private static Callable<Void> reader(
            LocalDiskStore store,
            int pg,
            UnitHistory history,
            List<Future<Void>> writers,
            long seed) {
        return () -> {
            Random random = new Random(seed);
            while (!writers.stream().allMatch(Future::isDone)) {
                int first = random.nextInt(UnitHistory.UNITS);
                check(store, pg, history, first, 1 + random.nextInt(UnitHistory.UNITS - first));
            }
            return null;
        };
    }

    private static void check(
            LocalDiskStore store, int pg, UnitHistory history, int first, int count)
            throws CorruptBlockException {
        int oldest = history.appended();
        int unit = UnitHistory.UNIT_BYTES;
        byte[] bytes = StoreHarness.read(store, pg, INODE, 0, first * unit, count * unit);
        history.check(bytes, first, count, oldest);
    }
}
