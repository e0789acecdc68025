package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.rocks.PrefixIterator;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.ChunkIndex;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.WriteBatch;

/**
 * A start believes the summary of the index's content only if it is whole and of the content's
 * time. {@code -Dcairn.test.seed} repeats a run.
 */
class StoreSummaryTest {
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 4);
    private static final byte[] ALL_ROWS = {'S'};
    private static final byte[] DISK_STATE = {'D'};

    private final long seed = TestSeed.of("StoreSummaryTest");

    @TempDir Path directory;

    /** What lies between two looks at a summary. */
    private interface Harm {
        /**
         * @param rows of the summary, to be changed
         * @param before as they were some work ago
         */
        void change(TreeMap<String, byte[]> rows, Map<String, byte[]> before, Random random);
    }

    @Test
    void aDiskOfAnEarlierReleaseIsReadOnceAsAWhole() throws Exception {
        harmed(
                (rows, before, random) -> rows.clear(),
                database -> {
                    byte[] state = database.db().get(DISK_STATE);
                    state[0] = 1;
                    CRC32C crc = new CRC32C();
                    crc.update(state, 0, state.length - 4);
                    ByteBuffer.wrap(state)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putInt(state.length - 4, (int) crc.getValue());
                    database.db().put(DISK_STATE, state);
                });
    }

    /** As after a crash while it was made anew. */
    @Test
    void withoutItsFirstRowNothingIsBelieved() throws Exception {
        harmed((rows, before, random) -> rows.remove(rows.firstKey()));
    }

    @Test
    void aRowThatIsMissingIsFound() throws Exception {
        harmed((rows, before, random) -> rows.remove(one(rows, random)));
    }

    @Test
    void aRowOfAnEarlierTimeIsFound() throws Exception {
        harmed((rows, before, random) -> {
            List<String> changed = new ArrayList<>(rows.keySet());
            changed.removeIf(k -> Arrays.equals(rows.get(k), before.get(k)));
            String key = changed.get(random.nextInt(changed.size()));
            byte[] earlier = before.get(key);
            if (earlier == null) {
                rows.remove(key);
            } else {
                rows.put(key, earlier);
            }
        });
    }

    @Test
    void aFlippedBitIsFound() throws Exception {
        harmed((rows, before, random) -> {
            String key = one(rows, random);
            byte[] row = Objects.requireNonNull(rows.get(key)).clone();
            row[random.nextInt(row.length)] ^= (byte) (1 << random.nextInt(8));
            rows.put(key, row);
        });
    }

    @Test
    void aRowInAnotherOnesPlaceIsFound() throws Exception {
        harmed((rows, before, random) -> {
            List<String> pages = new ArrayList<>(rows.tailMap("5300").keySet());
            String from = pages.get(random.nextInt(pages.size()));
            String to = from.substring(0, 4) + "%08x".formatted(1000 + random.nextInt(9));
            rows.put(to, rows.remove(from));
        });
    }

    private static String one(TreeMap<String, byte[]> rows, Random random) {
        return List.copyOf(rows.keySet()).get(random.nextInt(rows.size()));
    }

    private void harmed(Harm harm) throws Exception {
        harmed(harm, database -> {});
    }

    private interface Also {
        void change(RocksDatabase database) throws Exception;
    }

    private void harmed(Harm harm, Also also) throws Exception {
        for (int run = 0; run < RUNS; run++) {
            Path dir = Files.createDirectory(directory.resolve("run-" + run));
            try (StoreHarness h = new StoreHarness(dir, seed + run)) {
                harmed(h, harm, also);
            } catch (AssertionError | Exception e) {
                throw new AssertionError(
                        "failed; repeat with -Dcairn.test.seed=" + (seed + run), e);
            }
        }
    }

    private static void harmed(StoreHarness h, Harm harm, Also also) throws Exception {
        h.open();
        work(h);
        Map<String, byte[]> before = rows(h.store().index());
        work(h);
        TreeMap<String, byte[]> rows = rows(h.store().index());
        harm.change(rows, before, h.random);
        RocksDatabase database = h.store().index().database();
        write(database, rows);
        also.change(database);
        database.flush();
        reopen(h);
        assertThat(h.store().content().readBecause()).isNotNull();
        check(h);
        reopen(h);
        assertThat(h.store().content().readBecause()).as("it was made anew").isNull();
        check(h);
        work(h);
        check(h);
    }

    private static void reopen(StoreHarness h) throws Exception {
        h.crash(false);
        h.open();
        h.adoptRecovered();
    }

    private static void check(StoreHarness h) throws Exception {
        h.compareAll();
        DiskInvariants.check(h.store());
    }

    /** With a truncated inode and a block in use at the end. */
    private static void work(StoreHarness h) throws Exception {
        h.work(120);
        for (int i = 0; i < 3; i++) {
            h.write(h.random.nextInt(StoreHarness.PGS));
        }
        h.awaitDurable();
        h.commitAll();
        h.store().flushThread().flushAll();
    }

    private static TreeMap<String, byte[]> rows(ChunkIndex index) {
        TreeMap<String, byte[]> rows = new TreeMap<>();
        try (PrefixIterator it =
                index.database().rows(null, ALL_ROWS, ALL_ROWS, IllegalStateException::new)) {
            for (; it.isValid(); it.next()) {
                rows.put(HexFormat.of().formatHex(it.key()), it.value());
            }
        }
        return rows;
    }

    private static void write(RocksDatabase database, Map<String, byte[]> rows) throws Exception {
        try (WriteBatch batch = new WriteBatch()) {
            batch.deleteRange(ALL_ROWS, new byte[] {'S' + 1});
            for (Map.Entry<String, byte[]> e : rows.entrySet()) {
                batch.put(HexFormat.of().parseHex(e.getKey()), e.getValue());
            }
            database.write(batch);
        }
    }
}
