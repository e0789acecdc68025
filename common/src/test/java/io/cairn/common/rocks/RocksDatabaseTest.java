package io.cairn.common.rocks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.file.FileTree;
import io.cairn.common.metrics.Meters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rocksdb.FlushOptions;
import org.rocksdb.WriteBatch;

class RocksDatabaseTest {
    private final RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(16));
    private final Meters meters = Meters.unpublished();

    @TempDir Path dir;

    @AfterEach
    void freeMemory() {
        memory.close();
    }

    private RocksDatabase open(Path directory, String toml) throws IOException {
        RocksConfig config =
                Config.parse(dir.resolve("r.toml").toString(), toml, RocksConfig.class);
        return RocksDatabase.open(directory, "test", config, memory, meters, problem -> {});
    }

    private static void put(RocksDatabase database, String key, String value) throws Exception {
        try (WriteBatch batch = new WriteBatch()) {
            batch.put(key.getBytes(UTF_8), value.getBytes(UTF_8));
            database.write(batch);
        }
    }

    private static String get(RocksDatabase database, String key) throws Exception {
        byte[] value = database.db().get(key.getBytes(UTF_8));
        return value == null ? "none" : new String(value, UTF_8);
    }

    @ParameterizedTest
    @EnumSource(RocksPreset.class)
    void everyPresetOpensWithExactlyItsOptions(RocksPreset preset) throws Exception {
        String toml =
                "preset = '"
                        + preset.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-')
                        + "'";
        try (RocksDatabase database = open(dir.resolve("db"), toml)) {
            put(database, "k", "v");
            assertThat(get(database, "k")).isEqualTo("v");
        }
    }

    @Test
    void optionsThatRocksDbSilentlyChangesAreRefused() {
        assertThatThrownBy(() -> open(dir.resolve("db"), "[options]\natomic_flush = true"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(
                        "min_write_buffer_number_to_merge = 16 was requested, RocksDB uses 1");
    }

    @Test
    void whatIsFlushedIsThereAgain() throws Exception {
        try (RocksDatabase database = open(dir.resolve("db"), "")) {
            put(database, "k", "v");
            database.flush();
        }
        try (RocksDatabase database = open(dir.resolve("db"), "")) {
            assertThat(get(database, "k")).isEqualTo("v");
        }
    }

    @Test
    void aCheckpointHoldsWhatWasWrittenBeforeIt() throws Exception {
        Path checkpoint = dir.resolve("checkpoint");
        Path restored = dir.resolve("restored");
        try (RocksDatabase database = open(dir.resolve("db"), "")) {
            put(database, "k", "before");
            database.checkpoint(checkpoint);
            put(database, "k", "after");
            assertThatThrownBy(() -> database.checkpoint(checkpoint))
                    .isInstanceOf(IOException.class);
        }
        RocksDatabase.restore(checkpoint, restored, "test", RocksConfig.defaults());
        for (Path directory : new Path[] {restored, checkpoint}) {
            try (RocksDatabase database = open(directory, "")) {
                assertThat(get(database, "k")).isEqualTo("before");
            }
        }
    }

    @Test
    void aDatabaseOnTwoDevicesIsCheckpointedAndRestored() throws Exception {
        String toml =
                "fast_path = 'fast'\nslow_path = 'slow'\nfast_size = '3GiB'\nlevel_sizing = 'auto'";
        Path checkpoint = dir.resolve("checkpoint");
        try (RocksDatabase database = open(dir.resolve("db"), toml)) {
            put(database, "k", "before");
            database.flush();
            put(database, "l", "too");
            database.checkpoint(checkpoint);
            put(database, "k", "after");
            database.flush();
            database.measure();
            assertThat(database.levels()).extracting(LevelUse::slowBytes).containsOnly(0L);
            assertThat(database.remarks()).isEqualTo(Remarks.NONE);
        }
        try (Stream<Path> tables = Files.list(dir.resolve("fast/test"))) {
            assertThat(tables).anyMatch(f -> f.toString().endsWith(".sst"));
        }
        RocksConfig config =
                Config.parse(dir.resolve("r.toml").toString(), toml, RocksConfig.class);
        RocksDatabase.restore(checkpoint, dir.resolve("db"), "test", config);
        FileTree.delete(checkpoint);
        assertThat(tables(dir.resolve("fast/test"))).isNotEmpty().noneMatch(Files::isSymbolicLink);
        try (RocksDatabase database = open(dir.resolve("db"), toml)) {
            assertThat(get(database, "k")).isEqualTo("before");
            assertThat(get(database, "l")).isEqualTo("too");
        }
    }

    /**
     * As where the devices, and so the file systems, are different ones: nothing leaves its own.
     */
    @Test
    void aCheckpointLinksEachTableOnItsOwnDevice() throws Exception {
        String toml = "fast_path = 'fast'\nslow_path = 'slow'\nfast_size = '3GiB'";
        Path checkpoints = Files.createDirectory(dir.resolve("checkpoints"));
        try (RocksDatabase database = open(dir.resolve("db"), toml)) {
            put(database, "k", "v");
            database.checkpoint(checkpoints.resolve("made"));
            Files.move(checkpoints.resolve("made"), checkpoints.resolve("first"));
            List<Path> tables = tables(checkpoints.resolve("first/tables-0"));
            assertThat(tables).isNotEmpty().allMatch(Files::isSymbolicLink);
            for (Path table : tables) {
                Path link = Files.readSymbolicLink(table);
                assertThat(link).startsWith(dir.toRealPath().resolve("fast/test.checkpoints"));
                assertThat(
                                Files.isSameFile(
                                        link,
                                        dir.resolve("fast/test").resolve(table.getFileName())))
                        .isTrue();
            }
            Path firstLinks = Files.readSymbolicLink(tables.get(0)).getParent();

            put(database, "k", "w");
            database.checkpoint(checkpoints.resolve("second"));
            assertThat(firstLinks).isNotEmptyDirectory();
            FileTree.delete(checkpoints.resolve("first"));
            database.checkpoint(checkpoints.resolve("third"));
            assertThat(firstLinks).doesNotExist();
            assertThat(tables(checkpoints.resolve("second/tables-0"))).allMatch(Files::exists);
        }
    }

    private static List<Path> tables(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(f -> f.toString().endsWith(".sst")).toList();
        }
    }

    @Test
    void anotherNumberOfPathsIsRefusedBeforeRocksDbAborts() throws Exception {
        open(dir.resolve("db"), "fast_path = 'fast'\nslow_path = 'slow'\nfast_size = '3GiB'")
                .close();
        assertThatThrownBy(() -> open(dir.resolve("db"), ""))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("was written with 2 path(s) but 1 configured");
    }

    @Test
    void aFailedBackgroundFlushIsReported() throws Exception {
        CountDownLatch reported = new CountDownLatch(1);
        Path directory = dir.resolve("db");
        try (RocksDatabase database =
                RocksDatabase.open(
                        directory,
                        "test",
                        RocksConfig.defaults(),
                        memory,
                        meters,
                        problem -> reported.countDown())) {
            put(database, "k", "v");
            FileTree.delete(directory);
            try (FlushOptions background = new FlushOptions().setWaitForFlush(false)) {
                database.db().flush(background);
            }
            assertThat(reported.await(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void metricsAreThereWhileOpen() throws Exception {
        RocksDatabase database = open(dir.resolve("db"), "");
        put(database, "k", "v");
        assertThat(meters.registry().get("cairn.rocksdb.memtables").gauge().value()).isPositive();
        database.close();
        database.close();
        assertThat(meters.registry().getMeters()).isEmpty();
    }
}
