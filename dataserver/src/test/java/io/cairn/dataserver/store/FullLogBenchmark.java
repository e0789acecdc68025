package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.FatalHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Semaphore;

/**
 * New chunks of 4 KiB in 128 groups, 256 at a time, faster than they leave the log, which is 256
 * MiB: {@code FullLogBenchmark DIRECTORY [SECONDS]}. How many there are per second, and how long
 * one takes. Not a test.
 */
final class FullLogBenchmark {
    private static final int GROUPS = 128;
    private static final int DEPTH = 256;
    private static final int MOST = 10_000_000;

    private FullLogBenchmark() {}

    public static void main(String[] args) throws Exception {
        Path directory = Files.createTempDirectory(Path.of(args[0]), "full-log");
        double seconds = args.length > 1 ? Double.parseDouble(args[1]) : 60;
        DiskConfig config =
                TestDisks.in(
                        directory,
                        "capacity = '32GiB'\nwal_size = '256MiB'\nwal_segment = '16MiB'");
        DiskRuntime runtime =
                new DiskRuntime(
                        StoreHarness.databases(), DeviceFiles.system(), FatalHandler.halt(), true);
        try (LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime)) {
            run(store, seconds);
        }
    }

    private static void run(LocalDiskStore store, double seconds) throws InterruptedException {
        Random random = new Random(1);
        ByteBuf payload = Unpooled.directBuffer(4096).writeZero(4096);
        int[] crcs = BlockCrc.compute(payload, 0);
        Semaphore window = new Semaphore(DEPTH);
        long[] sequences = new long[GROUPS];
        float[] millis = new float[MOST];
        int n = 0;
        long start = System.nanoTime();
        long end = start + (long) (seconds * 1e9);
        while (System.nanoTime() < end && n < MOST) {
            window.acquire();
            int pg = random.nextInt(GROUPS);
            int number = n++;
            long begun = System.nanoTime();
            DataOp op =
                    DataOp.write(
                            pg,
                            new DataOp.Range(3, number, 0, 4096),
                            new DataOp.Caller(7, number + 1L, number - 2L * DEPTH),
                            DataOp.Known.map(1),
                            crcs);
            store.append(
                    new PgLogEntry(1, ++sequences[pg], op, payload),
                    () -> {
                        millis[number] = (System.nanoTime() - begun) / 1e6f;
                        window.release();
                    });
            store.commit(pg, sequences[pg]);
        }
        window.acquire(DEPTH);
        double took = (System.nanoTime() - start) / 1e9;
        float[] sorted = Arrays.copyOf(millis, n);
        Arrays.sort(sorted);
        System.out.printf(
                "%.0f/s, longest %.0f ms, 99.9 %% %.1f ms, half %.2f ms, log %.0f %%%n",
                n / took,
                sorted[n - 1],
                sorted[(int) (n * 0.999)],
                sorted[n / 2],
                store.walFillRatio() * 100);
    }
}
