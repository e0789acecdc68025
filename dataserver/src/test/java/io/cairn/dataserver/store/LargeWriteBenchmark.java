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
import java.util.concurrent.Semaphore;

/**
 * New chunks of 4 MiB at depth 16, through the log and straight to the data file by turns: {@code
 * LargeWriteBenchmark DIRECTORY [ROUNDS [CHUNKS]]}. The time ends when everything is acknowledged;
 * the second one when it is also flushed. Not a test.
 */
final class LargeWriteBenchmark {
    private static final int CHUNK = 4 << 20;
    private static final int DEPTH = 16;

    private LargeWriteBenchmark() {}

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 5;
        int chunks = args.length > 2 ? Integer.parseInt(args[2]) : 192;
        double[][] acknowledged = new double[2][rounds];
        double[][] flushed = new double[2][rounds];
        for (int i = 0; i < 2 * rounds; i++) {
            Path directory = Files.createTempDirectory(Path.of(args[0]), "large");
            double[] took = round(directory, i % 2 == 1, chunks);
            acknowledged[i % 2][i / 2] = took[0];
            flushed[i % 2][i / 2] = took[1];
        }
        for (int way = 0; way < 2; way++) {
            System.out.printf(
                    "%-9s acknowledged %5.0f MiB/s, flushed %5.0f MiB/s (medians of %d)%n",
                    way == 0 ? "log" : "direct",
                    chunks * 4 / median(acknowledged[way]),
                    chunks * 4 / median(flushed[way]),
                    rounds);
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** Seconds until acknowledged and until flushed. Eight PGs, as of several files. */
    private static double[] round(Path directory, boolean direct, int chunks) throws Exception {
        DiskConfig config =
                TestDisks.in(
                        directory, "capacity = '4GiB'" + (direct ? "" : "\ndirect_write = '0B'"));
        ByteBuf payload = Unpooled.directBuffer(CHUNK);
        while (payload.isWritable()) {
            payload.writeLong(payload.writerIndex() * 0x9E3779B97F4A7C15L);
        }
        int[] crcs = BlockCrc.compute(payload, 0);
        DiskRuntime runtime =
                new DiskRuntime(
                        StoreHarness.databases(), DeviceFiles.system(), FatalHandler.halt(), true);
        LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime);
        Semaphore window = new Semaphore(DEPTH);
        long start = System.nanoTime();
        for (int i = 0; i < chunks; i++) {
            int pg = i % 8;
            long sequence = 1 + i / 8;
            window.acquire();
            store.append(
                    new PgLogEntry(1, sequence, op(pg, sequence, i, crcs), payload),
                    () -> {
                        store.commit(pg, sequence);
                        window.release();
                    });
        }
        window.acquire(DEPTH);
        double acknowledged = (System.nanoTime() - start) / 1e9;
        store.close();
        double flushed = (System.nanoTime() - start) / 1e9;
        try (var files = Files.walk(directory)) {
            for (Path p : files.sorted((a, b) -> b.compareTo(a)).toList()) {
                Files.delete(p);
            }
        }
        return new double[] {acknowledged, flushed};
    }

    private static DataOp op(int pg, long sequence, int inode, int[] crcs) {
        return DataOp.write(
                pg,
                new DataOp.Range(1 + inode, 0, 0, CHUNK),
                new DataOp.Caller(7, sequence, sequence),
                DataOp.Known.map(1),
                crcs);
    }
}
