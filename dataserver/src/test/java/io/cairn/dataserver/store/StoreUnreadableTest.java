package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.disk.DiskOpenException;
import io.netty.buffer.Unpooled;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A block that cannot be read is a damaged one: nothing stops, and an operation on a part of it
 * waits in the log until the block is repaired, or no longer needed. {@code -Dcairn.test.seed}
 * repeats the random test.
 */
class StoreUnreadableTest {
    private static final int PAGE = 4096;
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 6);

    @TempDir Path directory;

    private final byte[] payload = new byte[3 * PAGE];
    private final List<Integer> reported = new ArrayList<>();

    @Test
    void aReadNamesTheBlockAndARepairBringsItBack() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, 0, 3 * PAGE))
                    .isInstanceOfSatisfying(
                            CorruptBlockException.class, e -> assertThat(e.block()).isEqualTo(1));
            assertThat(StoreHarness.read(h.store(), 0, 1, 0, 0, PAGE)).hasSize(PAGE);
            assertThat(StoreHarness.read(h.store(), 0, 1, 0, 2 * PAGE, PAGE)).hasSize(PAGE);
            repair(h, 0, 1, 0, 1);
            h.compareAll();
            flush(h);
            h.compareAll();
            assertThat(h.devices.isCut()).isFalse();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void aPartialWriteOverAnUnreadableBlockWaitsForItsRepair() throws Exception {
        partialWriteWaits(true);
    }

    @Test
    void aPartialWriteOverARottenBlockWaitsForItsRepair() throws Exception {
        partialWriteWaits(false);
    }

    private void partialWriteWaits(boolean unreadable) throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, unreadable);
            write(h, 1, PAGE + 100, 300);
            write(h, 2, 0, 5000);
            flush(h);
            assertThat(h.devices.isCut()).as("the server stopped").isFalse();
            assertThat(reported).containsExactly(1);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            assertThat(h.store().index().head(0, 2, 0)).as("others go on").isNotNull();
            assertRefused(h);
            DiskInvariants.check(h.store());

            for (boolean power : new boolean[] {false, true}) {
                reopen(h, power);
                write(h, 2, 5000, 10);
                write(h, 1, 2 * PAGE, 20);
                flush(h);
                assertThat(h.store().waitingForRepair()).isEqualTo(1);
                assertThat(h.store().logState(0).committedSequence()).isEqualTo(h.model(0).last());
                assertRefused(h);
                DiskInvariants.check(h.store());
            }
            repair(h, 0, 1, 0, 1);
            h.compareAll();
            flush(h);
            assertThat(h.store().waitingForRepair()).isZero();
            h.compareAll();
            DiskInvariants.check(h.store());
            reopen(h, true);
            h.compareAll();
            assertThat(h.store().wal().usedBytes()).as("the log was trimmed").isZero();
        }
    }

    /** What came after it must not be applied a second time: a cut would be an old one by then. */
    @Test
    void whatIsInTheIndexBeyondAWaitingOperationIsNotReplayed() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            write(h, 1, PAGE + 100, 300);
            write(h, 2, 0, 2 * PAGE);
            truncate(h, 2, 1, 50);
            flush(h);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            h.compareAllAllowingCorruption();
            reopen(h, true);
            assertThat(StoreHarness.read(h.store(), 0, 2, 0, 0, 2 * PAGE)).hasSize(50);
            h.compareAllAllowingCorruption();
        }
    }

    @Test
    void anOverwriteACutOrADeletionEndsTheWaiting() throws Exception {
        for (int how = 0; how < 3; how++) {
            Path dir = Files.createDirectory(directory.resolve("how-" + how));
            try (StoreHarness h = stored(dir)) {
                fail(h, 1, true);
                write(h, 1, PAGE + 100, 300);
                flush(h);
                assertThat(h.store().waitingForRepair()).isEqualTo(1);
                switch (how) {
                    case 0 -> write(h, 1, PAGE, PAGE);
                    case 1 -> truncate(h, 1, 1, 100);
                    default -> delete(h, 1, 3);
                }
                flush(h);
                assertThat(h.store().waitingForRepair()).isZero();
                h.compareAll();
                DiskInvariants.check(h.store());
                reopen(h, true);
                h.compareAll();
            }
        }
    }

    /** The other inode's older operations must not go into the index without the deletion. */
    @Test
    void aDeletionOfSeveralInodesWaitsAsAWhole() throws Exception {
        try (StoreHarness h = stored()) {
            write(h, 3, 0, 100);
            flush(h);
            write(h, 3, 50, 100);
            delete(h, 1, 3);
            byte[] lost = new byte[PAGE];
            h.random.nextBytes(lost);
            append(h, 1, 0, lost);
            write(h, 3, 10, 20);
            flipInLog(h, lost);
            flush(h);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            assertThat(reported).containsExactly(0);
            assertThat(h.store().index().head(0, 3, 0))
                    .as("as before all that waits")
                    .satisfies(head -> assertThat(head.lengthBytes()).isEqualTo(100));
            h.compareAllAllowingCorruption();
            write(h, 2, 0, 10);
            flush(h);
            assertThat(h.store().index().head(0, 2, 0)).as("others go on").isNotNull();

            reopen(h, true);
            h.compareAllAllowingCorruption();
            flush(h);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            repair(h, 0, 1, 0, 0);
            flush(h);
            assertThat(h.store().waitingForRepair()).isZero();
            h.compareAll();
            DiskInvariants.check(h.store());
            reopen(h, true);
            h.compareAll();
        }
    }

    private static void flipInLog(StoreHarness h, byte[] bytes) {
        for (int file = 0; file < h.config.walSegments(); file++) {
            Path segment = h.config.wal().resolve("segment-%05d".formatted(file));
            long at = find(h.devices.bytes(segment), bytes);
            if (at >= 0) {
                h.devices.flipBit(segment, at * 8);
                return;
            }
        }
        throw new AssertionError("not in the log");
    }

    private static long find(byte[] all, byte[] part) {
        for (int i = 0; i <= all.length - part.length; i++) {
            if (Arrays.equals(all, i, i + part.length, part, 0, part.length)) {
                return i;
            }
        }
        return -1;
    }

    /** The waiting operation moves along, so that one bad block does not fill the log. */
    @Test
    void theLogIsTrimmedAlthoughAnOperationWaits() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            write(h, 1, PAGE + 100, 300);
            write(h, 1, PAGE + 200, 300);
            for (int i = 0; i < 400; i++) {
                write(h, 2, i % 7 * 3000, 4000); // longer ones do not go through the log
                if (i % 5 == 0) {
                    h.store().flushThread().step();
                }
                if (i % 150 == 100) {
                    reopen(h, i % 2 == 0);
                }
            }
            flush(h);
            assertThat(h.store().walFillRatio()).isLessThan(0.7);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            assertRefused(h);
            reopen(h, true);
            assertRefused(h);
            repair(h, 0, 1, 0, 1);
            flush(h);
            assertThat(h.store().waitingForRepair()).isZero();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void aRecoveryTakesTheNewestRecordOfWhatWasLoggedAgain() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            write(h, 1, PAGE + 100, 300);
            flush(h);
            long first = lsnOfWaiting(h);
            for (int i = 0; i < 400 && lsnOfWaiting(h) == first; i++) {
                h.store().flushThread().step();
                write(h, 2, i % 7 * 3000, 4000);
                // Not the durable index yet: a recovery meets both records.
                h.store().flushThread().flusher().publish();
            }
            long again = lsnOfWaiting(h);
            assertThat(again).isGreaterThan(first);
            reopen(h, false);
            assertThat(lsnOfWaiting(h)).isEqualTo(again);
            assertRefused(h);
        }
    }

    /** It would take the room of what is in the way, be that of another group. */
    @Test
    void whatWaitsInTheNewerHalfOfTheLogStaysThere() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            write(h, 1, PAGE + 100, 300);
            flush(h);
            long first = lsnOfWaiting(h);
            while (h.store().walFillRatio() < 0.4) {
                write(h, 2, 0, 4000);
                flush(h);
            }
            write(h, 1, PAGE + 200, 300);
            flush(h);
            long second = h.store().pg(0).deferred().getLast().record().lsn();
            for (int i = 0; i < 400 && lsnOfWaiting(h) == first; i++) {
                h.store().flushThread().step();
                write(h, 2, 0, 4000);
                // Tells of what has moved; the next round may move what is left by then.
                h.store().flushThread().flusher().publish();
            }
            assertThat(lsnOfWaiting(h)).isGreaterThan(second);
            assertThat(h.store().pg(0).deferred().getLast().record().lsn()).isEqualTo(second);
            reopen(h, true);
            flush(h);
            assertThat(h.store().waitingForRepair()).isEqualTo(1);
            assertRefused(h);
        }
    }

    private static long lsnOfWaiting(StoreHarness h) {
        return h.store().pg(0).deferred().getFirst().record().lsn();
    }

    @Test
    void aRepairThatWaitsForAnotherOneDoesNotHoldTheLog() throws Exception {
        try (StoreHarness h = stored()) {
            fail(h, 1, true);
            fail(h, 2, true);
            write(h, 1, PAGE + 100, 300);
            write(h, 1, 2 * PAGE + 100, 300);
            flush(h);
            repair(h, 0, 1, 0, 1);
            h.awaitDurable();
            for (int i = 0; i < 400; i++) {
                write(h, 2, i % 7 * 3000, 4000);
                if (i % 5 == 0) {
                    h.store().flushThread().step();
                }
                assertThat(h.store().walFillRatio()).isLessThan(0.9);
            }
            reopen(h, true);
            repairAll(h);
            flush(h);
            assertThat(h.store().waitingForRepair()).isZero();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void operationsThatCannotBeReadBackAreNotCalledDamaged() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            write(h, 1, 0, PAGE); // longer ones do not go through the log
            h.crash(false);
            h.open();
            h.devices.failReads(h.config.wal().resolve("segment-00000"), 2 * PAGE);
            assertThatThrownBy(() -> h.store().entries(0, 0, 1 << 20))
                    .isInstanceOfSatisfying(
                            FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EIO));
            h.crash(false);
        }
    }

    /** Else whoever is to be sent them would wait for them, though the index has all. */
    @Test
    void flushedOperationsThatCannotBeReadBackAreNotInTheLogAnyMore() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            write(h, 1, 0, PAGE); // longer ones do not go through the log
            flush(h);
            assertThat(h.compareLog(0, 0)).isFalse();
            h.devices.failReads(h.config.wal().resolve("segment-00000"), 2 * PAGE);
            assertThatThrownBy(() -> h.store().entries(0, 0, 1 << 20))
                    .isInstanceOfSatisfying(
                            FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENODATA));
            assertThat(h.compareLog(0, h.model(0).last())).isFalse();
        }
    }

    @Test
    void aLargeWriteThatCannotBeReadIsNotReadAgainAndAgain() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            h.random.nextBytes(payload);
            append(h, 1, 0, payload);
            fail(h, 1, true);
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE, PAGE))
                    .isInstanceOfSatisfying(
                            CorruptBlockException.class, e -> assertThat(e.block()).isEqualTo(1));
            // Twice, each time as a whole and then by blocks.
            assertThat(h.devices.failedReads()).isEqualTo(4);
        }
    }

    @Test
    void aLogThatCannotBeReadIsTheDisksFailure() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            write(h, 1, 0, PAGE); // longer ones do not go through the log
            Path segment = h.config.wal().resolve("segment-00000");
            h.crash(false);
            h.devices.failReads(segment, 2 * PAGE);
            assertThatThrownBy(h::open)
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining(segment.toString())
                    .hasMessageContaining("Input/output error");
        }
    }

    @Test
    void aLogThatCannotBeReadInServiceStopsTheDiskWithItsReason() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            write(h, 1, 0, PAGE); // longer ones do not go through the log
            h.crash(false);
            h.open();
            Path segment = h.config.wal().resolve("segment-00000");
            h.devices.failReads(segment, 2 * PAGE);
            h.store().commit(0, h.model(0).last());
            flush(h);
            assertThat(h.devices.isCut()).isTrue();
            assertThat(h.fatal).anySatisfy(told -> assertThat(told).contains(segment.toString()));
            h.crash(false);
        }
    }

    /** Random work over blocks that rot or cannot be read, crashes, then repair from the model. */
    @Test
    void amongRandomWork() throws Exception {
        for (long seed : TestSeed.several("StoreUnreadableTest", RUNS).toArray()) {
            Path dir = Files.createDirectory(directory.resolve("run-" + seed));
            try (StoreHarness h = new StoreHarness(dir, seed)) {
                h.open();
                if (seed % 2 == 1) {
                    h.crowd();
                }
                for (int round = 0; round < 8; round++) {
                    h.work(40);
                    h.awaitDurable();
                    h.commitAll();
                    flush(h);
                    damageSome(h);
                    h.tolerate(true);
                    h.work(12);
                    h.awaitDurable();
                    h.commitAll();
                    flush(h);
                    h.compareAllAllowingCorruption();
                    if (h.random.nextBoolean()) {
                        reopen(h, h.random.nextBoolean());
                        h.compareAllAllowingCorruption();
                    }
                    h.tolerate(false);
                    repairAll(h);
                    h.compareAll();
                    flush(h);
                    assertThat(h.store().waitingForRepair()).isZero();
                    h.compareAll();
                    DiskInvariants.check(h.store());
                }
                assertThat(h.devices.isCut()).isFalse();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
            }
        }
    }

    // ---- damage and repair

    private record Place(int pg, long inode, int chunk, int block, long location) {}

    private static void damageSome(StoreHarness h) {
        List<Place> places = new ArrayList<>();
        h.store().index().visit(new Places(places));
        for (int i = 0; i < 4 && !places.isEmpty(); i++) {
            Place p = places.get(h.random.nextInt(places.size()));
            if (h.random.nextBoolean()) {
                h.devices.failReads(h.config.data(), p.location() * PAGE);
            } else {
                h.devices.flipBit(
                        h.config.data(), p.location() * PAGE * 8 + h.random.nextInt(32768));
            }
        }
    }

    private record Places(List<Place> places) implements ChunkIndex.Visitor {
        @Override
        public void inodeHead(int pg, long inode, long truncateSequence) {}

        @Override
        public void chunkHead(int pg, long inode, int chunk, ChunkHead head) {}

        @Override
        public void group(int pg, long inode, int chunk, int group, BlockGroup blocks) {
            for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
                if (blocks.stored(i)) {
                    int block = group * ChunkKeys.GROUP_BLOCKS + i;
                    places.add(new Place(pg, inode, chunk, block, blocks.location(i)));
                }
            }
        }
    }

    /** As the server does: read, repair the first bad block, until nothing is bad. */
    private static void repairAll(StoreHarness h) throws Exception {
        for (int pg = 0; pg < StoreHarness.PGS; pg++) {
            for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
                for (int chunk = 0; chunk < StoreHarness.CHUNKS; chunk++) {
                    int bad = firstBad(h, pg, inode, chunk);
                    for (; bad >= 0; bad = firstBad(h, pg, inode, chunk)) {
                        repair(h, pg, inode, chunk, bad);
                    }
                }
            }
        }
    }

    private static int firstBad(StoreHarness h, int pg, long inode, int chunk) {
        try {
            StoreHarness.read(h.store(), pg, inode, chunk, 0, h.layout.chunkSize());
            return -1;
        } catch (CorruptBlockException e) {
            return e.block();
        }
    }

    private static void repair(StoreHarness h, int pg, long inode, int chunk, int block)
            throws Exception {
        byte[] all = h.model(pg).replay(h.layout, h.model(pg).last()).bytes(inode, chunk);
        int from = block * PAGE;
        byte[] content = Arrays.copyOfRange(all, from, Math.min(from + PAGE, all.length));
        BlockRepair r =
                new BlockRepair(
                        inode,
                        chunk,
                        block,
                        h.store().version(pg, inode, chunk),
                        Unpooled.wrappedBuffer(content));
        CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
        h.store().repair(pg, r, outcome::complete);
        assertThat(outcome.get(30, TimeUnit.SECONDS)).isEqualTo(RepairOutcome.LOGGED);
    }

    private StoreHarness stored() throws Exception {
        return stored(directory);
    }

    private StoreHarness stored(Path dir) throws Exception {
        StoreHarness h = new StoreHarness(dir, 7);
        h.open();
        h.random.nextBytes(payload);
        append(h, 1, 0, payload);
        flush(h);
        reported.clear();
        h.store().onDamage((pg, inode, chunk, block) -> reported.add(block));
        return h;
    }

    private void fail(StoreHarness h, int block, boolean unreadable) {
        byte[] data = h.devices.bytes(h.config.data());
        long at = StoreDamageTest.indexOf(data, payload, block * PAGE, 16);
        if (unreadable) {
            h.devices.failReads(h.config.data(), at);
        } else {
            h.devices.flipBit(h.config.data(), at * 8);
        }
    }

    private static void assertRefused(StoreHarness h) throws Exception {
        assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE, 50))
                .isInstanceOfSatisfying(
                        CorruptBlockException.class, e -> assertThat(e.block()).isEqualTo(1));
        byte[] written = StoreHarness.read(h.store(), 0, 1, 0, PAGE + 100, 300);
        byte[] all = h.model(0).replay(h.layout, h.model(0).last()).bytes(1, 0);
        assertThat(written).isEqualTo(Arrays.copyOfRange(all, PAGE + 100, PAGE + 400));
        h.compareAllAllowingCorruption();
    }

    private static void reopen(StoreHarness h, boolean power) throws Exception {
        h.crash(power);
        h.open();
        h.adoptRecovered();
    }

    private static void append(StoreHarness h, long inode, int offset, byte[] bytes) {
        long sequence = h.model(0).last() + 1;
        PgLogEntry e = Ops.write(0, h.epoch(), sequence, inode, 0, offset, bytes, 0, List.of());
        h.append(0, e, inode, 0, bytes, 0);
        h.awaitDurable();
        h.commitAll();
    }

    private static void write(StoreHarness h, long inode, int offset, int length) {
        byte[] bytes = new byte[length];
        h.random.nextBytes(bytes);
        append(h, inode, offset, bytes);
    }

    private static void truncate(StoreHarness h, long inode, long sequence, long size) {
        long next = h.model(0).last() + 1;
        PgLogEntry e = Ops.truncate(0, h.epoch(), next, inode, sequence, size, h.layout);
        h.append(0, e, inode, 0, new byte[0], size);
        h.awaitDurable();
        h.commitAll();
    }

    private static void delete(StoreHarness h, long... inodes) {
        long next = h.model(0).last() + 1;
        PgLogEntry e = Ops.delete(0, h.epoch(), next, inodes);
        h.model(0).history().add(new ModelPg.Op(e, inodes[0], 0, new byte[0], 0, inodes));
        h.store().append(e, () -> {});
        h.awaitDurable();
        h.commitAll();
    }

    private static void flush(StoreHarness h) {
        h.store().flushThread().flushAll();
    }
}
