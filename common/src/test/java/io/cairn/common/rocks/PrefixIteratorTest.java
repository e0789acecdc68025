package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;

class PrefixIteratorTest {
    private static final HexFormat HEX = HexFormat.of();

    private final RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(16));

    @TempDir Path dir;
    private RocksDatabase database;

    @BeforeEach
    void open() throws Exception {
        database =
                RocksDatabase.open(
                        dir.resolve("db"),
                        "test",
                        RocksConfig.defaults(),
                        memory,
                        Meters.unpublished(),
                        problem -> {});
    }

    @AfterEach
    void close() {
        database.close();
        memory.close();
    }

    private void put(String... keys) throws Exception {
        try (WriteBatch batch = new WriteBatch()) {
            for (String key : keys) {
                batch.put(HEX.parseHex(key), new byte[] {1});
            }
            database.write(batch);
        }
    }

    private PrefixIterator rows(@Nullable Snapshot snapshot, String prefix, String from) {
        return database.rows(
                snapshot, HEX.parseHex(prefix), HEX.parseHex(from), IllegalStateException::new);
    }

    private List<String> keys(@Nullable Snapshot snapshot, String prefix, String from) {
        List<String> keys = new ArrayList<>();
        try (PrefixIterator it = rows(snapshot, prefix, from)) {
            for (; it.isValid(); it.next()) {
                assertThat(it.value()).containsExactly(1);
                keys.add(HEX.formatHex(it.key()));
            }
        }
        return keys;
    }

    @Test
    void rowsOfThePrefixInOrder() throws Exception {
        put("00", "12", "1200", "12ff", "12ffff", "12fffff0", "13", "fe", "feff", "ffff01");
        assertThat(keys(null, "12", "12"))
                .containsExactly("12", "1200", "12ff", "12ffff", "12fffff0");
        assertThat(keys(null, "12", "1201")).containsExactly("12ff", "12ffff", "12fffff0");
        assertThat(keys(null, "12ff", "12ff")).containsExactly("12ff", "12ffff", "12fffff0");
        assertThat(keys(null, "12ffff", "12fffff1")).isEmpty();
        assertThat(keys(null, "fe", "fe")).containsExactly("fe", "feff");
        assertThat(keys(null, "ffff", "ffff")).as("nothing is above").containsExactly("ffff01");
        assertThat(keys(null, "", "")).as("all").hasSize(10);
        assertThat(keys(null, "77", "77")).isEmpty();
        assertThat(keys(null, "12", "13")).as("from beyond the prefix").isEmpty();
        try (PrefixIterator it = rows(null, "12", "12")) {
            it.seek(HEX.parseHex("12ff00"));
            assertThat(it.key()).isEqualTo(HEX.parseHex("12ffff"));
        }
    }

    @Test
    void rowsOfASnapshot() throws Exception {
        put("1201");
        Snapshot snapshot = database.db().getSnapshot();
        put("1202");
        assertThat(keys(snapshot, "12", "12")).containsExactly("1201");
        assertThat(keys(null, "12", "12")).containsExactly("1201", "1202");
        database.db().releaseSnapshot(snapshot);
        snapshot.close();
    }

    @Test
    void deletedRowsBehindAreNotWalkedOver() throws Exception {
        put("1201");
        for (int i = 0; i < 1000; i++) {
            put("13" + HEX.toHexDigits(i));
        }
        try (WriteBatch batch = new WriteBatch()) {
            for (int i = 0; i < 1000; i++) {
                batch.delete(HEX.parseHex("13" + HEX.toHexDigits(i)));
            }
            database.write(batch);
        }
        assertThat(
                        DeletedRows.walkedOver(
                                dir.resolve("any"),
                                () -> assertThat(keys(null, "12", "12")).containsExactly("1201")))
                .isZero();
        assertThat(DeletedRows.walkedOver(dir.resolve("any"), this::scanWithoutEnd))
                .as("what the count is without an end")
                .isEqualTo(1000);
    }

    private void scanWithoutEnd() {
        try (RocksIterator it = database.db().newIterator()) {
            it.seek(HEX.parseHex("1202"));
            assertThat(it.isValid()).isFalse();
        }
    }
}
