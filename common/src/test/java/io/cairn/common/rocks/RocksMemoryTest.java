package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksdb.WriteBatch;

/** The limit of {@code [rocksdb_memory]}, by what RocksDB itself says that it uses. */
class RocksMemoryTest {
    private static final long MIB = 1 << 20;
    private static final ByteSize WRITE_BUFFERS = ByteSize.ofMiB(32);
    private static final int BATCH_ROWS = 50;

    private final RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), WRITE_BUFFERS);

    @TempDir Path dir;

    @AfterEach
    void freeMemory() {
        memory.close();
    }

    /** The preset merges 16 full memtables of 8 MiB: 128 MiB of each database. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 12})
    void memtablesStayWithinTheirLimitWithTheDefaultPreset(int databases) throws Exception {
        List<RocksDatabase> open = open(databases);
        try {
            long most = 0;
            long mostOfCache = 0;
            for (int i = 0; i < 100 * MIB / (BATCH_ROWS * 4000); i++) {
                writeBatch(open.get(i % databases), i);
                most = Math.max(most, memtables(open));
                mostOfCache = Math.max(mostOfCache, memory.blockCache().getPinnedUsage());
            }
            assertThat(most).as("bytes in memtables").isLessThanOrEqualTo(WRITE_BUFFERS.bytes());
            // The WriteBufferManager takes from the cache what memtables have, and gives it back a
            // quarter late: the rest of the 64 MiB is for blocks.
            assertThat(mostOfCache).isLessThan(WRITE_BUFFERS.bytes() / 2 * 3);
        } finally {
            open.forEach(RocksDatabase::close);
        }
    }

    @Test
    void writersOfSeveralThreadsKeepTheLimitTogether() throws Exception {
        List<RocksDatabase> open = open(4);
        AtomicLong most = new AtomicLong();
        try (ExecutorService writers = Executors.newFixedThreadPool(4)) {
            List<Future<?>> done = new ArrayList<>();
            for (RocksDatabase database : open) {
                done.add(
                        writers.submit(() -> {
                            for (int i = 0; i < 150; i++) {
                                writeBatch(database, i);
                                most.accumulateAndGet(memtables(open), Math::max);
                            }
                            return null;
                        }));
            }
            for (Future<?> writer : done) {
                writer.get();
            }
        } finally {
            open.forEach(RocksDatabase::close);
        }
        assertThat(most.get()).isLessThanOrEqualTo(WRITE_BUFFERS.bytes());
    }

    @Test
    void aScanDoesNotTakeTheCacheFromFilters() throws Exception {
        RocksOptions options = RocksOptions.resolve(RocksConfig.defaults());
        try (RocksMemory small = new RocksMemory(ByteSize.ofMiB(2), ByteSize.ofMiB(1));
                Statistics statistics = new Statistics();
                ColumnFamilyOptions table = options.newColumnFamilyOptions(small);
                DBOptions plain = options.newDbOptions()) {
            plain.setCreateIfMissing(true).setStatistics(statistics);
            List<ColumnFamilyHandle> handles = new ArrayList<>();
            try (RocksDB db =
                            RocksDB.open(
                                    plain,
                                    dir.resolve("db").toString(),
                                    List.of(
                                            new ColumnFamilyDescriptor(
                                                    RocksDB.DEFAULT_COLUMN_FAMILY, table)),
                                    handles);
                    FlushOptions wait = new FlushOptions()) {
                for (int i = 0; i < 20_000; i++) {
                    db.put(key(i), new byte[1000]);
                }
                db.flush(wait);
                db.compactRange(); // what lies in level 0 is pinned anyway
                assertThat(db.get(key(7))).isNotNull();
                scan(db);
                long before = statistics.getTickerCount(TickerType.BLOCK_CACHE_FILTER_MISS);
                assertThat(db.get(key(7))).isNotNull();
                assertThat(statistics.getTickerCount(TickerType.BLOCK_CACHE_FILTER_MISS))
                        .isEqualTo(before);
                handles.forEach(ColumnFamilyHandle::close);
            }
        }
    }

    private static void scan(RocksDB db) {
        try (RocksIterator all = db.newIterator()) {
            int rows = 0;
            for (all.seekToFirst(); all.isValid(); all.next()) {
                rows++;
            }
            assertThat(rows).isEqualTo(20_000);
        }
    }

    private List<RocksDatabase> open(int databases) throws Exception {
        List<RocksDatabase> open = new ArrayList<>();
        for (int i = 0; i < databases; i++) {
            open.add(
                    RocksDatabase.open(
                            dir.resolve("db" + i),
                            "db" + i,
                            RocksConfig.defaults(),
                            memory,
                            Meters.unpublished(),
                            problem -> {
                                throw new AssertionError(problem);
                            }));
        }
        return open;
    }

    private static void writeBatch(RocksDatabase database, int number) throws Exception {
        try (WriteBatch batch = new WriteBatch()) {
            for (int i = 0; i < BATCH_ROWS; i++) {
                batch.put(key(number * BATCH_ROWS + i), new byte[4000]);
            }
            database.write(batch);
        }
    }

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    /**
     * What all had at one moment: a sum of what was read one after the other counts twice what one
     * has flushed and another has written meanwhile.
     */
    private static long memtables(List<RocksDatabase> databases) throws Exception {
        long[] bytes = eachMemtables(databases);
        while (true) {
            long[] then = eachMemtables(databases);
            boolean flushed = false;
            for (int i = 0; i < bytes.length; i++) {
                flushed |= then[i] < bytes[i];
            }
            if (!flushed) {
                return Arrays.stream(bytes).sum();
            }
            bytes = then;
        }
    }

    private static long[] eachMemtables(List<RocksDatabase> databases) throws Exception {
        long[] bytes = new long[databases.size()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = databases.get(i).db().getLongProperty("rocksdb.cur-size-all-mem-tables");
        }
        return bytes;
    }
}
