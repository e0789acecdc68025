package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.FatalHandler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How long a disk takes to open whose index has many chunks: {@code OpenBenchmark DIRECTORY [CHUNKS
 * [CHUNK_KIB]]}. Only the index is filled; the data file is sparse, and taken for a raw device. The
 * disk is opened as after a kill: what the page cache has of the index is forgotten. First without
 * the summary of the content, as a disk of an earlier release is opened once, then with it. Not a
 * test.
 */
final class OpenBenchmark {
    private static final int BLOCK_KIB = 4;
    private static final int PGS = 64;
    private static final int CHUNKS_PER_UPDATE = 500;

    private OpenBenchmark() {}

    public static void main(String[] args) throws Exception {
        int chunks = args.length > 1 ? Integer.parseInt(args[1]) : 1_000_000;
        int blocks = (args.length > 2 ? Integer.parseInt(args[2]) : 4096) / BLOCK_KIB;
        Path directory = Files.createTempDirectory(Path.of(args[0]), "open");
        long capacityMib = ((long) chunks * blocks * BLOCK_KIB >> 10) * 9 / 8 + 1024;
        DiskConfig config = TestDisks.in(directory, "capacity = '" + capacityMib + "MiB'");
        open(config, "new").close();
        LocalDiskStore empty = open(config, "empty");
        long start = System.nanoTime();
        fill(empty.index(), chunks, blocks);
        System.out.printf(
                "%d chunks of %d KiB, %d MiB of index, in %d s%n",
                chunks,
                blocks * BLOCK_KIB,
                bytes(config.index()) >> 20,
                (System.nanoTime() - start) / 1_000_000_000);
        empty.index().forgetSummary();
        empty.close();
        open(config, "without the summary").close();
        open(config, "with the summary").close();
        open(config, "with the summary").close();
    }

    private static LocalDiskStore open(DiskConfig config, String how) throws Exception {
        DiskRuntime runtime =
                new DiskRuntime(StoreHarness.databases(), new Raw(), FatalHandler.halt(), false);
        if (Files.exists(config.wal())) {
            Files.writeString(config.wal().resolve("running"), "");
        }
        long start = System.nanoTime();
        LocalDiskStore store = LocalDiskStore.open(config, StoreHarness.CLUSTER, runtime);
        System.out.printf("%-20s open in %,d ms%n", how, (System.nanoTime() - start) / 1_000_000);
        return store;
    }

    /** Files whose space nobody asks for. */
    private static final class Raw implements DeviceFiles {
        private final DeviceFiles files = DeviceFiles.system();

        @Override
        public DeviceFile open(Path path) throws IOException {
            return new RawFile(files.open(path));
        }

        @Override
        public DeviceFile openDirect(Path path) throws IOException {
            return files.openDirect(path);
        }

        @Override
        public void dropCache(Path path) throws IOException {
            files.dropCache(path);
        }

        @Override
        public DeviceFile create(Path path, long sizeBytes) throws IOException {
            return files.create(path, sizeBytes);
        }

        @Override
        public void forceDirectory(Path directory) throws IOException {
            files.forceDirectory(directory);
        }
    }

    private record RawFile(DeviceFile file) implements DeviceFile {
        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            file.write(source, position);
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            file.read(target, position);
        }

        @Override
        public void force() throws IOException {
            file.force();
        }

        @Override
        public long sizeBytes() throws IOException {
            return file.sizeBytes();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }

    private static long bytes(Path directory) throws Exception {
        try (var files = Files.walk(directory)) {
            return files.mapToLong(f -> f.toFile().length()).sum();
        }
    }

    /** Chunks in the order of their keys, with checksums that do not compress. */
    private static void fill(ChunkIndex index, int chunks, int blocks) {
        long next = 1;
        for (int c = 0; c < chunks; ) {
            try (ChunkIndex.Update update = new ChunkIndex.Update()) {
                int end = Math.min(chunks, c + CHUNKS_PER_UPDATE);
                for (; c < end; c++) {
                    int pg = (int) ((long) c * PGS / chunks);
                    update.putHead(
                            pg, c + 1, 0, new ChunkHead(1, c + 1, 0, blocks * BLOCK_KIB << 10));
                    for (int b = 0; b < blocks; b += ChunkKeys.GROUP_BLOCKS) {
                        BlockGroup group = new BlockGroup();
                        for (int i = 0; i < Math.min(ChunkKeys.GROUP_BLOCKS, blocks - b); i++) {
                            group.set(i, next, (int) (next * 0x9E3779B97F4A7C15L >>> 32), 1);
                            next++;
                        }
                        int number = b / ChunkKeys.GROUP_BLOCKS;
                        update.putGroup(pg, c + 1, 0, number, new BlockGroup(), group);
                    }
                }
                index.apply(update);
            }
        }
        index.flush();
    }
}
