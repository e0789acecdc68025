package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.metrics.Meters;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/**
 * Real tables, placed by RocksDB itself: plans of real devices at a scale at which their levels are
 * filled in seconds. A level is full when there is something in the next.
 */
class LevelPlacementTest {
    private static final long BASE = 64 << 10;
    private static final int VALUE_BYTES = 4000;
    private static final int BATCH_ROWS = 25;

    private final RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32));
    private final Random random = new Random(1);

    @TempDir Path dir;

    @AfterEach
    void freeMemory() {
        memory.close();
    }

    @ParameterizedTest
    @CsvSource({
        "20, 10, auto, 2",
        "80, 10, auto, 3",
        "30, 10, auto, 3",
        "80, 10, auto-compact-safe, 3",
        "80, 8, auto, 3",
        "52, 8, auto, 3",
        "20, 8, auto-compact-safe, 2",
        "300, 8, auto, 4",
    })
    void everyPlannedLevelLiesOnTheFastDeviceAndNoOther(
            int gib, int multiplier, String sizing, int levels) throws Exception {
        RocksOptions real =
                options(
                        "fast_size = '%dGiB'\nlevel_sizing = '%s'\nmax_bytes_for_level_multiplier = %d"
                                .formatted(gib, sizing, multiplier));
        LevelPlan plan = real.plan().orElseThrow();
        assertThat(plan.levels()).isEqualTo(levels);
        double scale = (double) plan.baseBytes() / BASE;
        try (RocksDatabase database = open(scaled(real, plan, scale))) {
            fill(database, plan.levels() + 1);
            Map<Integer, Long> slow = new HashMap<>();
            Map<Integer, Long> fast = new HashMap<>();
            for (LiveFileMetaData table : database.db().getLiveFilesMetaData()) {
                boolean isFast = table.path().endsWith("/fast/test");
                assertThat(Path.of(table.path(), table.fileName())).isRegularFile();
                (isFast ? fast : slow).merge(table.level(), table.size(), Long::sum);
            }
            assertThat(slow).containsOnlyKeys(plan.levels() + 1);
            assertThat(fast.keySet()).allMatch(plan::isFast).contains(plan.levels());
            double fastBytes = ((long) gib << 30) / scale;
            assertThat((double) bytes("fast/test")).isLessThan(fastBytes);

            database.measure();
            assertThat(database.remarks().warnings()).as("it is as configured").isEmpty();
            assertThat(database.remarks().notes())
                    .singleElement()
                    .asString()
                    .startsWith("level %d of database test (".formatted(plan.levels() + 1))
                    .contains("has room for levels 0 to " + plan.levels());
        }
    }

    /** RocksDB's own count of levels with a base that is given: what remarks go by. */
    @Test
    void aFixedBaseIsPlacedAndNotedToo() throws Exception {
        RocksOptions real = options("fast_size = '80GiB'\nmax_bytes_for_level_base = '2GiB'");
        LevelPlan plan = real.plan().orElseThrow(); // 2 + 2 + 16 of 78 GiB; 128 more do not fit
        assertThat(plan.levels()).isEqualTo(2);
        try (RocksDatabase database = open(scaled(real, plan, (double) plan.baseBytes() / BASE))) {
            fill(database, 3);
            database.measure();
            assertThat(database.levels())
                    .allSatisfy(use ->
                            assertThat(use.level() <= 2 ? use.slowBytes() : use.fastBytes())
                                    .isZero());
            assertThat(database.remarks().warnings()).isEmpty();
            assertThat(database.remarks().notes()).singleElement().asString().contains("level 3");
        }
    }

    /**
     * The fast device has become larger, or smaller: RocksDB alone leaves each table where it is.
     */
    @ParameterizedTest
    @CsvSource({"80, 20, slow, fast", "20, 80, fast, slow"})
    void aCompactionMovesTheTablesToWhereANewSizeHasThem(
            int now, int before, String from, String to) throws Exception {
        String toml =
                "fast_size = '%dGiB'\nmax_bytes_for_level_multiplier = 10\nlevel_sizing = 'auto'";
        RocksOptions old = options(toml.formatted(before));
        double scale = (double) old.plan().orElseThrow().baseBytes() / BASE;
        try (RocksDatabase database = open(scaled(old, old.plan().orElseThrow(), scale))) {
            fill(database, 3);
            assertThat(bytes(from + "/test")).isGreaterThan(BASE);
        }
        RocksOptions other = options(toml.formatted(now));
        LevelPlan plan = other.plan().orElseThrow();
        scale = (double) plan.baseBytes() / BASE;
        try (RocksDatabase database = open(scaled(other, plan, scale))) {
            long rows = rows(database);
            settle(database);
            database.measure();
            assertThat(database.remarks().warnings())
                    .anyMatch(w -> w.endsWith("cairn compact moves them"));
            assertThat(database.status().hasCompaction()).isFalse();
            List<LevelUse> levelsBefore = database.levels();
            database.compact();
            await().atMost(Duration.ofMinutes(2))
                    .until(() -> !database.status().getCompaction().getRunning());
            assertThat(database.status().getCompaction().getError()).isEmpty();
            assertThat(database.status().getCompaction().getDoneBytes())
                    .isPositive()
                    .isEqualTo(database.status().getCompaction().getTotalBytes());
            assertThat(database.levels())
                    .as("before: %s, now: %s", levelsBefore, database.levels())
                    .singleElement()
                    .satisfies(use ->
                            assertThat(to.equals("fast") ? use.slowBytes() : use.fastBytes())
                                    .isZero());
            assertThat(database.remarks().warnings()).noneMatch(w -> w.contains("cairn compact"));
            assertThat(rows(database)).isEqualTo(rows);
        }
        assertThat(bytes(to + "/test")).isGreaterThan(BASE);
        assertThat(bytes(from + "/test")).isZero();
    }

    /** A server that is stopped does not wait for the hours that a compaction may take. */
    @Test
    void closingEndsACompaction() throws Exception {
        RocksOptions real = options("fast_size = '20GiB'\nlevel_sizing = 'auto'");
        LevelPlan plan = real.plan().orElseThrow();
        double scale = (double) plan.baseBytes() / BASE;
        long rows;
        try (RocksDatabase database = open(scaled(real, plan, scale))) {
            fill(database, 3);
            rows = rows(database);
            database.compact();
        }
        try (RocksDatabase database = open(scaled(real, plan, scale))) {
            assertThat(rows(database)).isEqualTo(rows);
        }
    }

    private static long rows(RocksDatabase database) {
        long rows = 0;
        try (PrefixIterator all =
                database.rows(null, new byte[0], new byte[0], IllegalStateException::new)) {
            for (; all.isValid(); all.next()) {
                rows++;
            }
        }
        return rows;
    }

    private RocksOptions options(String toml) {
        return RocksOptions.resolve(
                Config.parse(
                        dir.resolve("r.toml").toString(),
                        "fast_path = 'fast'\nslow_path = 'slow'\n" + toml,
                        RocksConfig.class));
    }

    /** The same plan with everything so much smaller. */
    private static RocksOptions scaled(RocksOptions real, LevelPlan plan, double scale) {
        LevelPlan small =
                new LevelPlan(BASE, plan.levels(), true, Math.round(plan.pathBytes() / scale));
        Map<String, String> requested = new HashMap<>(real.requested());
        requested.put("max_bytes_for_level_base", Long.toString(BASE));
        requested.put("target_file_size_base", Long.toString(BASE));
        requested.put("write_buffer_size", Long.toString(BASE));
        requested.put("min_write_buffer_number_to_merge", "1");
        requested.put("level0_file_num_compaction_trigger", "2");
        return new RocksOptions(real.config(), requested, Optional.of(small));
    }

    private RocksDatabase open(RocksOptions options) throws Exception {
        return RocksDatabase.open(
                dir.resolve("db"), "test", options, memory, Meters.unpublished(), problem -> {});
    }

    /** Until there is something in the level, and RocksDB has put everything where it belongs. */
    private void fill(RocksDatabase database, int level) throws Exception {
        long rows = 0;
        long size = BASE;
        for (int above = 1; above < level; above++, size *= 8) {
            rows += size / VALUE_BYTES;
        }
        for (long i = 0; i < rows / BATCH_ROWS; i++) {
            writeBatch(database);
        }
        do {
            for (int i = 0; i < 20; i++) {
                writeBatch(database);
            }
            database.flush();
            settle(database);
        } while (database.db().getLiveFilesMetaData().stream()
                .noneMatch(table -> table.level() == level));
    }

    private void writeBatch(RocksDatabase database) throws Exception {
        try (WriteBatch batch = new WriteBatch()) {
            for (int i = 0; i < BATCH_ROWS; i++) {
                byte[] value = new byte[VALUE_BYTES];
                random.nextBytes(value);
                batch.put(ByteBuffer.allocate(8).putLong(random.nextLong()).array(), value);
            }
            database.write(batch);
        }
    }

    private static void settle(RocksDatabase database) {
        await().atMost(Duration.ofMinutes(2))
                .pollInterval(Duration.ofMillis(5))
                .until(() ->
                        Stream.of(
                                        "rocksdb.compaction-pending",
                                        "rocksdb.num-running-compactions",
                                        "rocksdb.mem-table-flush-pending",
                                        "rocksdb.num-running-flushes")
                                .allMatch(property -> number(database, property) == 0));
    }

    private static long number(RocksDatabase database, String property) {
        try {
            return database.db().getLongProperty(property);
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    private long bytes(String directory) throws Exception {
        try (Stream<Path> files = Files.list(dir.resolve(directory))) {
            List<Path> tables = files.filter(f -> f.toString().endsWith(".sst")).toList();
            long sum = 0;
            for (Path table : tables) {
                sum += Files.size(table);
            }
            return sum;
        }
    }
}
