package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.FatalHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;

/**
 * Appends of 4 KiB at depth 1 and 128 and random reads of them, on a real disk: {@code
 * AppendBenchmark DIRECTORY [SECONDS]}. With a third argument, ROUNDS: appends at depth 1 and 64 to
 * a log written past the page cache and to one written through it, in turn, and the medians. Not a
 * test.
 */
final class AppendBenchmark {
    private static final int CHUNK = 4 << 20;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private AppendBenchmark() {}

    public static void main(String[] args) throws Exception {
        Path directory = Files.createTempDirectory(Path.of(args[0]), "append");
        double seconds = args.length > 1 ? Double.parseDouble(args[1]) : 3;
        if (args.length > 2) {
            compare(directory, seconds, Integer.parseInt(args[2]));
            return;
        }
        DiskConfig config = TestDisks.in(directory, "capacity = '4GiB'");
        DiskRuntime runtime =
                new DiskRuntime(
                        StoreHarness.databases(), DeviceFiles.system(), FatalHandler.halt(), true);
        try (LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime)) {
            Run run = new Run(store);
            for (int depth : new int[] {1, 128, 1, 128}) {
                run.appends(depth, seconds);
            }
            for (int depth : new int[] {1, 128}) {
                run.reads(depth, seconds);
            }
        }
    }

    private static void compare(Path directory, double seconds, int rounds) throws Exception {
        int[] depths = {1, 64};
        double[][][] perSecond = new double[2][depths.length][rounds];
        for (int round = 0; round < rounds; round++) {
            for (int kind = 0; kind < 2; kind++) {
                Path disk = Files.createDirectory(directory.resolve(round + "-" + kind));
                DeviceFiles files = DeviceFiles.system();
                DiskRuntime runtime =
                        new DiskRuntime(
                                StoreHarness.databases(),
                                kind == 0 ? files : new Cached(files),
                                FatalHandler.halt(),
                                true);
                DiskConfig config = TestDisks.in(disk, "capacity = '4GiB'");
                try (LocalDiskStore store =
                        LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime)) {
                    Run run = new Run(store);
                    for (int d = 0; d < depths.length; d++) {
                        perSecond[kind][d][round] = run.appends(depths[d], seconds);
                    }
                }
            }
        }
        for (int d = 0; d < depths.length; d++) {
            System.out.printf(
                    "median of %d, depth %2d: past the cache %.0f/s, through it %.0f/s%n",
                    rounds, depths[d], median(perSecond[0][d]), median(perSecond[1][d]));
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** Without direct I/O. */
    private record Cached(DeviceFiles real) implements DeviceFiles {
        @Override
        public DeviceFile open(Path path) throws IOException {
            return real.open(path);
        }

        @Override
        public DeviceFile create(Path path, long sizeBytes) throws IOException {
            return real.create(path, sizeBytes);
        }

        @Override
        public void forceDirectory(Path path) throws IOException {
            real.forceDirectory(path);
        }
    }

    /** One PG, one appending thread, as an event loop would be. */
    private static final class Run {
        private final LocalDiskStore store;
        private final Random random = new Random(1);
        private final ByteBuf payload = Unpooled.directBuffer(4096).writeZero(4096);
        private final int[] crcs = BlockCrc.compute(payload, 0);
        private long sequence;

        Run(LocalDiskStore store) {
            this.store = store;
        }

        double appends(int depth, double seconds) throws InterruptedException {
            Semaphore window = new Semaphore(depth);
            long syncs = store.wal().syncs();
            long cpu = THREADS.getCurrentThreadCpuTime();
            long from = sequence;
            long start = System.nanoTime();
            long end = start + (long) (seconds * 1e9);
            while (System.nanoTime() < end) {
                window.acquire();
                PgLogEntry entry = new PgLogEntry(1, ++sequence, op(), payload);
                store.append(entry, window::release);
                store.commit(1, sequence);
            }
            cpu = THREADS.getCurrentThreadCpuTime() - cpu;
            window.acquire(depth);
            double took = (System.nanoTime() - start) / 1e9;
            long n = sequence - from;
            System.out.printf(
                    "append depth %3d: %8.0f/s, %6.0f syncs/s, %5.2f us CPU of the appender, log %.0f %%%n",
                    depth,
                    n / took,
                    (store.wal().syncs() - syncs) / took,
                    cpu / 1e3 / n,
                    store.walFillRatio() * 100);
            return n / took;
        }

        void reads(int depth, double seconds) throws InterruptedException {
            Semaphore window = new Semaphore(depth);
            LongAdder bytes = new LongAdder();
            long start = System.nanoTime();
            long end = start + (long) (seconds * 1e9);
            long n = 0;
            for (; System.nanoTime() < end; n++) {
                window.acquire();
                store.read(
                        1,
                        1 + random.nextInt(64),
                        0,
                        random.nextInt(CHUNK / 4096) * 4096,
                        4096,
                        (data, blockCrcs, failure) -> {
                            if (data == null) {
                                throw new IllegalStateException(failure);
                            }
                            bytes.add(data.readableBytes());
                            data.release();
                            window.release();
                        });
            }
            window.acquire(depth);
            double took = (System.nanoTime() - start) / 1e9;
            System.out.printf(
                    "read   depth %3d: %8.0f/s, %d bytes%n", depth, n / took, bytes.sum());
        }

        private DataOp op() {
            long inode = 1 + random.nextInt(64);
            int offset = random.nextInt(CHUNK / 4096) * 4096;
            return DataOp.write(
                    1,
                    new DataOp.Range(inode, 0, offset, 4096),
                    new DataOp.Caller(7, sequence, sequence - 200),
                    DataOp.Known.map(1),
                    crcs);
        }
    }
}
