package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.disk.DiskOpenException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Flipped bits end in repair or refusal, never in wrong data or a shorter history. */
class StoreDamageTest {
    private static final int FLIPS = Integer.getInteger("cairn.test.flips", 24);
    private static final int PAGE = 4096;

    @TempDir Path directory;

    @Test
    void flippedBitsInTheLogAreNeverServedNorPassedOver() throws Exception {
        long seed = TestSeed.of("StoreDamageTest");
        Random random = new Random(seed);
        for (int i = 0; i < FLIPS; i++) {
            long runSeed = random.nextLong();
            Path dir = Files.createDirectory(directory.resolve("flip-" + i));
            try (StoreHarness h = new StoreHarness(dir, runSeed)) {
                h.open();
                h.work(60);
                h.awaitDurable();
                h.shutDown();
                flipInLog(h, random);
                try {
                    h.open();
                } catch (DiskOpenException e) {
                    assertThat(e).hasMessageContaining("damaged");
                    continue;
                }
                h.adoptRecovered();
                h.compareAllAllowingCorruption();
                h.store().flushThread().flushAll();
                h.compareAllAllowingCorruption();
                DiskInvariants.check(h.store());
            } catch (AssertionError e) {
                throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
            }
        }
    }

    @Test
    void flippedBitsInBlocksAreRefusedUntilOverwritten() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 3)) {
            h.open();
            byte[] payload = new byte[3 * PAGE];
            h.random.nextBytes(payload);
            h.append(0, Ops.write(0, 1, 1, 1, 0, 0, payload, 0, List.of()), 1, 0, payload, 0);
            h.awaitDurable();
            h.commitAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            byte[] data = h.devices.bytes(h.config.data());
            long at = indexOf(data, payload[PAGE + 7], payload[PAGE + 8], payload[PAGE + 9]);
            h.devices.flipBit(h.config.data(), at * 8);

            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE + 5, 10))
                    .isInstanceOf(CorruptBlockException.class)
                    .hasMessageContaining("inode 1");
            assertThat(StoreHarness.read(h.store(), 0, 1, 0, 0, PAGE)).hasSize(PAGE);

            writeAndFlush(h, new byte[10], PAGE + 100);
            assertThat(StoreHarness.read(h.store(), 0, 1, 0, PAGE + 100, 10))
                    .as("what was written is in the log")
                    .isEqualTo(new byte[10]);
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE + 105, 10))
                    .as("the rest of the block is as bad as before")
                    .isInstanceOf(CorruptBlockException.class);

            writeAndFlush(h, new byte[PAGE], PAGE);
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    /** Without the mark the last batch is the end of the log, torn or not. */
    @Test
    void damageInTheLastBatchOfAnIdleLogIsNoEnd() throws Exception {
        for (boolean idle : new boolean[] {false, true}) {
            Path dir = Files.createDirectory(directory.resolve("idle-" + idle));
            try (StoreHarness h = new StoreHarness(dir, 6)) {
                h.open();
                h.awaitDurable();
                long last = h.store().wal().syncedLsn();
                long clock = 5_000_000_000L;
                h.store().wal().markIdle(clock);
                h.store().wal().markIdle(clock + (idle ? 1_000_000_000L : 999_999_999L));
                if (idle) {
                    Awaitility.await().until(() -> h.store().wal().markedLsn() == last);
                }
                h.crash(true);
                // The record's sequence: behind the headers of segment and batch.
                h.devices.flipBit(h.config.wal().resolve("segment-00000"), (PAGE + 64 + 32) * 8L);
                if (idle) {
                    assertThatThrownBy(h::open)
                            .isInstanceOf(DiskOpenException.class)
                            .hasMessageContaining("LSN " + last + " was synced but cannot be read")
                            .hasMessageEndingWith(DiskOpenException.KEEP_AS_IT_IS);
                } else {
                    h.open();
                    assertThat(h.store().logState(0).lastSequence()).isZero();
                }
            }
        }
    }

    @Test
    void aDiskWhosePartsAreGoneIsNotOpened() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 4)) {
            h.open();
            h.work(20);
            h.shutDown();
            Path index = directory.resolve("index");
            Path saved = directory.resolve("index-saved");
            Files.move(index, saved);
            assertThatThrownBy(h::open)
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining("the index of disk")
                    .hasMessageContaining("is gone")
                    .hasMessageEndingWith(DiskOpenException.KEEP_AS_IT_IS);
            Files.move(saved, index);
            Path wal = directory.resolve("wal");
            Files.move(wal, directory.resolve("wal-saved"));
            assertThatThrownBy(h::open)
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining("the write-ahead log of disk")
                    .hasMessageContaining("is gone")
                    .hasMessageEndingWith(DiskOpenException.KEEP_AS_IT_IS);
            Files.move(directory.resolve("wal-saved"), wal);
            h.devices.flipBit(h.config.data(), 300);
            assertThatThrownBy(h::open)
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining("superblock");
            h.devices.flipBit(h.config.data(), 300);
            h.open();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    /** The end of a log is no place to guess: what one file had may have been acknowledged. */
    @Test
    void aLogThatLacksAFileIsNotOpened() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 8)) {
            h.open();
            h.work(60);
            h.awaitDurable();
            h.crash(false);
            for (int file : new int[] {0, 1, 5, 11}) {
                Path segment = h.config.wal().resolve("segment-%05d".formatted(file));
                Path away = directory.resolve("away");
                Files.move(segment, away);
                List<String> before = names(h.config.wal());
                assertThatThrownBy(h::open)
                        .as("without file %d", file)
                        .isInstanceOf(DiskOpenException.class)
                        .hasMessageContaining(segment.toString())
                        .hasMessageContaining("is missing")
                        .hasMessageContaining("put it back")
                        .hasMessageEndingWith(DiskOpenException.KEEP_AS_IT_IS);
                assertThat(names(h.config.wal())).as("nothing is deleted").isEqualTo(before);
                Files.move(away, segment);
            }
            h.open();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(Path::toString).sorted().toList();
        }
    }

    /** Between an operation that is void and the record that says so there may be a crash. */
    @Test
    void theLogIsNotTrimmedBetweenADropAndWhatItDropped() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 9)) {
            h.open();
            h.awaitDurable();
            h.commitAll();
            noop(h);
            h.awaitDurable();
            h.devices.holdForcesBelow(h.config.wal());
            noop(h);
            Awaitility.await().until(() -> h.devices.heldForces() > 0);
            h.store().dropTail(0, h.model(0).committed, () -> {});
            h.store().flushThread().flushAll();
            h.devices.cutPower();
            h.devices.holdForcesBelow(null);
            h.crash(false);
            h.open();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    private static void noop(StoreHarness h) {
        PgLogEntry e = Ops.noop(0, h.epoch(), h.model(0).last() + 1);
        h.append(0, e, 0, 0, new byte[0], 0);
    }

    @Test
    void aFailedWriteStopsTheProcess() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 5)) {
            h.open();
            h.awaitDurable();
            h.devices.failNextWrite(new IOException("Input/output error"));
            h.write(0);
            h.awaitDurable();
            assertThat(h.devices.isCut()).as("the fatal handler was called").isTrue();
            assertThat(h.model(0).acknowledged).isEqualTo(1);
            h.crash(true);
            h.open();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    private static void writeAndFlush(StoreHarness h, byte[] payload, int offset) {
        long sequence = h.model(0).last() + 1;
        PgLogEntry e = Ops.write(0, 1, sequence, 1, 0, offset, payload, 0, List.of());
        h.append(0, e, 1, 0, payload, 0);
        h.awaitDurable();
        h.commitAll();
        h.store().flushThread().flushAll();
    }

    private static long indexOf(byte[] data, byte... pattern) {
        for (int i = 0; i < data.length - pattern.length; i++) {
            int n = 0;
            while (n < pattern.length && data[i + n] == pattern[n]) {
                n++;
            }
            if (n == pattern.length) {
                return i;
            }
        }
        throw new AssertionError("not stored");
    }

    /** Where the bytes [from, from + length) of the pattern lie. */
    static long indexOf(byte[] data, byte[] pattern, int from, int length) {
        return indexOf(data, Arrays.copyOfRange(pattern, from, from + length));
    }

    /** One bit in a page that is in use. */
    private static void flipInLog(StoreHarness h, Random random) throws IOException {
        List<Path> segments;
        try (Stream<Path> files = Files.list(h.config.wal())) {
            segments =
                    files.filter(p -> p.getFileName().toString().startsWith("segment"))
                            .sorted()
                            .toList();
        }
        List<long[]> pages = new ArrayList<>();
        for (int s = 0; s < segments.size(); s++) {
            byte[] bytes = h.devices.bytes(segments.get(s));
            for (int p = 0; p < bytes.length / PAGE; p++) {
                if (bytes[p * PAGE] != 0) {
                    pages.add(new long[] {s, p});
                }
            }
        }
        long[] page = pages.get(random.nextInt(pages.size()));
        int within = random.nextInt(random.nextBoolean() ? 200 : PAGE);
        h.devices.flipBit(
                segments.get((int) page[0]), (page[1] * PAGE + within) * 8 + random.nextInt(8));
    }
}
