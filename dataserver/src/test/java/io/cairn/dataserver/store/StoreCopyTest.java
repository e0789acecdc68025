package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.store.ChunkCopy.Run;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.netty.buffer.Unpooled;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a learner logs besides operations: its place among them, what it replaces, what it needs.
 */
class StoreCopyTest {
    private static final int PAGE = 4096;
    private static final int PG = 0;
    private static final long INODE = 1;

    @TempDir Path directory;

    private final Random random = new Random(5);

    @Test
    void theHistoryGoesOnFromThePositionOfAReset() throws Exception {
        try (StoreHarness h = open()) {
            write(h, 0, bytes(PAGE));
            write(h, PAGE, bytes(PAGE));
            List<Answered> answered = List.of(new Answered(9, 3, new long[] {3, 5}));
            assertThatThrownBy(() -> h.store().reset(PG, 1, 1, answered, false, () -> {}))
                    .as("not committed")
                    .isInstanceOf(IllegalArgumentException.class);
            commit(h, 2);
            assertThatThrownBy(() -> h.store().reset(PG, 1, 1, answered, false, () -> {}))
                    .as("before what is committed")
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> h.store().reset(PG, 0, 100, answered, false, () -> {}))
                    .as("an older epoch")
                    .isInstanceOf(IllegalArgumentException.class);
            reset(h, 4, 100, answered);
            for (int again = 0; again < 3; again++) {
                PgLogState state = h.store().logState(PG);
                assertThat(state.lastEpoch()).isEqualTo(4);
                assertThat(state.lastSequence()).isEqualTo(100);
                assertThat(state.committedSequence()).isEqualTo(100);
                assertThat(state.content().sequence()).isEqualTo(2);
                assertThat(state.answered())
                        .usingRecursiveComparison()
                        .isEqualTo(List.of(new Answered(9, 3, new long[] {3, 5})));
                assertThatThrownBy(() -> h.store().entries(PG, 1))
                        .isInstanceOfSatisfying(
                                FsException.class,
                                e -> assertThat(e.errno()).isEqualTo(Errno.ENODATA));
                assertThat(h.store().entries(PG, 100)).isEmpty();
                if (again == 1) {
                    flush(h);
                }
                h.crash(true);
                h.open();
            }
            append(h, 4, 101, 2 * PAGE, bytes(10));
            commit(h, 101);
            reset(h, 5, 200, List.of());
            assertThat(h.store().logState(PG).content().sequence())
                    .as("the older one")
                    .isEqualTo(2);
            completed(h);
            assertThat(h.store().logState(PG).isComplete()).isTrue();
            h.crash(true);
            h.open();
            assertThat(h.store().logState(PG).isComplete()).isTrue();
            assertThat(h.store().logState(PG).answered()).isEmpty();
        }
    }

    @Test
    void stepsAreNoOperations() throws Exception {
        try (StoreHarness h = open()) {
            reset(h, 1, 10, List.of());
            append(h, 1, 11, 0, bytes(PAGE));
            copy(h, piece(7, 0, bytes(PAGE), new ChunkVersion(1, 1)));
            append(h, 1, 12, PAGE, bytes(PAGE));
            completed(h);
            List<PgLogEntry> entries = h.store().entries(PG, 10);
            assertThat(entries).extracting(PgLogEntry::sequence).containsExactly(11L, 12L);
            entries.forEach(e -> e.payload().release());
            assertThat(h.store().logState(PG).lastSequence()).isEqualTo(12);
            ChunkCopy late = piece(7, 0, bytes(PAGE), new ChunkVersion(1, 1));
            assertThatThrownBy(() -> h.store().copy(PG, late, () -> {}))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> h.store().removeContent(PG, 7, () -> {}))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(h.store().version(PG, 7, 0)).isEqualTo(new ChunkVersion(1, 1));
        }
    }

    @Test
    void whatFollowsADroppedOperationIsDroppedToo() throws Exception {
        try (StoreHarness h = open()) {
            byte[] old = bytes(2 * PAGE);
            write(h, 0, old);
            commit(h, 1);
            reset(h, 1, 10, List.of());
            append(h, 1, 11, 100, bytes(10));
            copy(h, piece(INODE, 0, bytes(PAGE), new ChunkVersion(1, 11)));
            completed(h);
            assertThat(h.store().logState(PG).isComplete()).isTrue();
            CountDownLatch done = new CountDownLatch(1);
            h.store().dropTail(PG, 10, done::countDown);
            assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
            for (int again = 0; again < 3; again++) {
                assertThat(h.store().logState(PG).content().sequence()).isEqualTo(1);
                assertThat(h.store().logState(PG).lastSequence()).isEqualTo(10);
                assertThat(read(h, 0)).isEqualTo(old);
                if (again == 1) {
                    flush(h);
                }
                h.crash(true);
                h.open();
            }
            DiskInvariants.check(h.store());
        }
    }

    /** The log still has the repair, because another PG needs its oldest part. */
    @Test
    void aRepairFromBeforeACopyIsVoidAfterACrash() throws Exception {
        try (StoreHarness h = open()) {
            PgLogEntry other = Ops.write(1, 1, 1, 1, 0, 0, bytes(10), 0, List.of());
            h.store().append(other, () -> {});
            byte[] old = bytes(PAGE);
            write(h, 0, old);
            commit(h, 1);
            reset(h, 1, 1, List.of());
            flush(h);
            assertThat(repair(h, 0, new ChunkVersion(1, 1), old)).isEqualTo(RepairOutcome.LOGGED);
            byte[] copied = bytes(PAGE);
            copy(h, piece(INODE, 0, copied, new ChunkVersion(1, 1)));
            flush(h);
            assertThat(read(h, 0)).isEqualTo(copied);
            h.crash(true);
            h.open();
            assertThat(read(h, 0)).isEqualTo(copied);
            flush(h);
            assertThat(read(h, 0)).isEqualTo(copied);
            DiskInvariants.check(h.store());
        }
    }

    /** What is written to a chunk gives it the version that it has elsewhere, with other blocks. */
    @Test
    void aBlockThatIsYetToBeCopiedIsNotCalledDifferent() throws Exception {
        try (StoreHarness h = open()) {
            byte[] old = bytes(3 * PAGE);
            write(h, 0, old);
            commit(h, 1);
            flush(h);
            reset(h, 1, 10, List.of());
            append(h, 1, 11, PAGE, bytes(PAGE));
            commit(h, 11);
            ChunkVersion version = new ChunkVersion(1, 11);
            byte[] copied = bytes(3 * PAGE);
            byte[] block = Arrays.copyOf(copied, PAGE);
            assertThat(repair(h, 0, version, block)).isEqualTo(RepairOutcome.LACKING);
            assertThat(repair(h, 2, version, bytes(10)))
                    .as("a chunk that was cut meanwhile")
                    .isEqualTo(RepairOutcome.LACKING);
            assertThat(repair(h, 2, version, Arrays.copyOfRange(old, 2 * PAGE, 3 * PAGE)))
                    .as("as it was")
                    .isEqualTo(RepairOutcome.LOGGED);
            copy(h, piece(INODE, 0, copied, version));
            h.store().copiedTo(PG, new Key(INODE, 0));
            flush(h);
            assertThat(repair(h, 0, version, Arrays.copyOf(old, PAGE)))
                    .isEqualTo(RepairOutcome.DIFFERENT);
            assertThat(repair(h, 0, version, block)).isEqualTo(RepairOutcome.LOGGED);
            assertThat(read(h, 0)).isEqualTo(copied);
        }
    }

    private static RepairOutcome repair(
            StoreHarness h, int block, ChunkVersion version, byte[] content) throws Exception {
        CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
        BlockRepair repair =
                new BlockRepair(INODE, 0, block, version, Unpooled.wrappedBuffer(content));
        h.store().repair(PG, repair, outcome::complete);
        return outcome.get(30, TimeUnit.SECONDS);
    }

    /**
     * Two chunks of the inode have damaged blocks that writes need: the copy of one of them waits
     * with them in the log, survives, and the copy of the other one ends the wait.
     */
    @Test
    void aCopyThatWaitsWithItsInodeSurvivesACrash() throws Exception {
        try (StoreHarness h = open()) {
            byte[] first = bytes(PAGE);
            byte[] second = bytes(PAGE);
            append(h, 1, 1, 0, 0, first);
            append(h, 1, 2, 1, 0, second);
            commit(h, 2);
            flush(h);
            reset(h, 1, 10, List.of());
            flip(h, first);
            flip(h, second);
            append(h, 1, 11, 0, 100, bytes(10));
            append(h, 1, 12, 1, 100, bytes(10));
            commit(h, 12);
            flush(h);
            assertThat(h.store().waitingForRepair()).isEqualTo(2);
            byte[] copied = bytes(PAGE);
            copy(h, piece(INODE, 0, copied, new ChunkVersion(1, 11)));
            completed(h);
            flush(h);
            roundTheLog(h);
            assertThat(h.store().index().pgStates().getFirst().flushedSequence()).isGreaterThan(12);
            for (int again = 0; again < 2; again++) {
                h.crash(again == 0);
                h.open();
                assertThat(h.store().logState(PG).isComplete()).isTrue();
                assertThat(read(h, 0)).isEqualTo(copied);
                assertThat(h.store().version(PG, INODE, 0)).isEqualTo(new ChunkVersion(1, 11));
                assertThatThrownBy(() -> read(h, 1)).isInstanceOf(CorruptBlockException.class);
                flush(h);
            }
            reset(h, 1, h.store().logState(PG).lastSequence(), List.of());
            byte[] other = bytes(2 * PAGE - 5);
            copy(h, piece(INODE, 1, other, new ChunkVersion(1, 12)));
            flush(h);
            assertThat(h.store().waitingForRepair()).isZero();
            h.crash(true);
            h.open();
            flush(h);
            assertThat(read(h, 0)).isEqualTo(copied);
            assertThat(read(h, 1)).isEqualTo(other);
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void aDamagedBlockIsNotCopied() throws Exception {
        try (StoreHarness h = open()) {
            byte[] all = bytes(3 * PAGE);
            write(h, 0, all);
            commit(h, 1);
            flush(h);
            flip(h, Arrays.copyOfRange(all, PAGE, 2 * PAGE));
            CompletableFuture<@Nullable CorruptBlockException> failure = new CompletableFuture<>();
            h.store()
                    .readCopy(
                            PG,
                            INODE,
                            0,
                            new Rest(0, 0, 0),
                            8 * PAGE,
                            (piece, why) -> failure.complete(why));
            CorruptBlockException why = failure.get(30, TimeUnit.SECONDS);
            assertThat(why).isNotNull();
            assertThat(Objects.requireNonNull(why).block()).isEqualTo(1);
        }
    }

    /** An end within what was there, and a piece with nothing. */
    @Test
    void whatIsNotCopiedStaysUpToTheEnd() throws Exception {
        try (StoreHarness h = open()) {
            byte[] before = bytes(8 * PAGE);
            write(h, 0, before);
            commit(h, 1);
            reset(h, 1, 1, List.of());
            flush(h);
            byte[] content = bytes(PAGE + 100);
            int length = 6 * PAGE + 50;
            int[] crcs = BlockCrc.compute(Unpooled.wrappedBuffer(content, 0, PAGE), 0);
            ChunkVersion version = new ChunkVersion(1, 1);
            copy(
                    h,
                    new ChunkCopy(
                            INODE,
                            0,
                            true,
                            false,
                            version,
                            3,
                            length,
                            List.of(new Run(2 * PAGE, PAGE)),
                            crcs,
                            Unpooled.wrappedBuffer(content, 0, PAGE)));
            assertThat(h.store().version(PG, INODE, 0)).isEqualTo(ChunkVersion.NONE);
            flush(h);
            copy(
                    h,
                    new ChunkCopy(
                            INODE,
                            0,
                            false,
                            true,
                            version,
                            3,
                            length,
                            List.of(),
                            new int[0],
                            Unpooled.EMPTY_BUFFER));
            byte[] expected = Arrays.copyOf(before, length);
            System.arraycopy(content, 0, expected, 2 * PAGE, PAGE);
            for (int again = 0; again < 3; again++) {
                assertThat(read(h, 0)).isEqualTo(expected);
                assertThat(h.store().heads(PG, Key.FIRST, 5))
                        .containsExactly(new ContentHead(new Key(INODE, 0), version, 3, length));
                if (again == 1) {
                    flush(h);
                    DiskInvariants.check(h.store());
                }
                h.crash(true);
                h.open();
            }
        }
    }

    @Test
    void readsWhatHasChangedAndZerosWhereTheReceiverMayHaveSomething() throws Exception {
        try (StoreHarness h = open()) {
            write(h, 0, bytes(PAGE));
            write(h, 4 * PAGE, bytes(PAGE));
            commit(h, 2);
            for (int again = 0; again < 2; again++) {
                assertThat(runs(h, new Rest(0, 0, 0)))
                        .containsExactly(new Run(0, PAGE), new Run(4 * PAGE, PAGE));
                assertThat(runs(h, new Rest(0, 1, 0))).containsExactly(new Run(4 * PAGE, PAGE));
                assertThat(runs(h, new Rest(0, 1, 2 * PAGE + 1)))
                        .containsExactly(new Run(PAGE, 2 * PAGE), new Run(4 * PAGE, PAGE));
                assertThat(runs(h, new Rest(0, 2, 8 * PAGE))).isEmpty();
                flush(h);
            }
        }
    }

    /** Bytes of it are cut off, and nothing else is done with it, in the log and in the index. */
    @Test
    void aBlockThatWasCutHasChanged() throws Exception {
        try (StoreHarness h = open()) {
            write(h, 0, bytes(3 * PAGE));
            commit(h, 1);
            flush(h);
            write(h, 5 * PAGE, bytes(PAGE));
            append(h, 3, 7 * PAGE, new DataOp.Cut(1, 5 * PAGE + 100));
            commit(h, 3);
            for (int again = 0; again < 2; again++) {
                assertThat(runs(h, new Rest(0, 2, 0)))
                        .containsExactly(new Run(5 * PAGE, PAGE), new Run(7 * PAGE, PAGE));
                flush(h);
            }
            append(h, 4, 6 * PAGE, new DataOp.Cut(2, PAGE + 50));
            commit(h, 4);
            for (int again = 0; again < 2; again++) {
                assertThat(runs(h, new Rest(0, 3, 0)))
                        .containsExactly(new Run(PAGE, PAGE), new Run(6 * PAGE, PAGE));
                flush(h);
            }
        }
    }

    /** A page that comes with a cut. */
    private void append(StoreHarness h, long sequence, int offset, DataOp.Cut cut)
            throws Exception {
        CountDownLatch durable = new CountDownLatch(1);
        long known = cut.sequence();
        PgLogEntry entry =
                Ops.write(PG, 1, sequence, INODE, 0, offset, bytes(PAGE), known, List.of(cut));
        h.store().append(entry, durable::countDown);
        assertThat(durable.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private static List<Run> runs(StoreHarness h, Rest rest) throws Exception {
        ChunkCopy read = LearnerPair.readCopy(h.store(), new ChunkId(INODE, 0), rest, 64 << 10);
        read.content().release();
        assertThat(read.last()).isTrue();
        return read.runs();
    }

    @Test
    void aFullDiskTakesNoCopyButRemovesContent() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1, 2 << 20, 16, 64 << 10)) {
            h.open();
            reset(h, 1, 1, List.of());
            int taken = 0;
            while (h.store().copy(PG, piece(taken, 0, bytes(PAGE), ChunkVersion.NONE), () -> {})) {
                taken++;
                if (taken % 8 == 0) {
                    settle(h);
                    flush(h);
                }
            }
            assertThat(taken).isGreaterThan(100);
            settle(h);
            flush(h);
            DiskInvariants.check(h.store());
            for (int inode = 0; inode < taken; inode++) {
                h.store().removeContent(PG, inode, () -> {});
                if (inode % 50 == 0) {
                    settle(h);
                    flush(h);
                }
            }
            settle(h);
            flush(h);
            assertThat(h.store().heads(PG, Key.FIRST, 5)).isEmpty();
            assertThat(h.store().usage().usedBytes()).isEqualTo(PAGE);
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void malformedPiecesAreRefused() {
        byte[] two = bytes(2 * PAGE);
        assertMalformed(List.of(new Run(1, PAGE)), 2 * PAGE, true, two, 2);
        assertMalformed(List.of(new Run(0, 2 * PAGE)), PAGE, true, two, 2);
        assertMalformed(List.of(new Run(0, 2 * PAGE)), 2 * PAGE, true, two, 1);
        assertMalformed(List.of(new Run(0, PAGE), new Run(0, PAGE)), 2 * PAGE, true, two, 2);
        assertMalformed(List.of(new Run(-PAGE, 2 * PAGE)), 2 * PAGE, true, two, 2);
        assertMalformed(List.of(new Run(0, 0), new Run(0, 2 * PAGE)), 2 * PAGE, true, two, 2);
        assertMalformed(
                List.of(new Run(Integer.MAX_VALUE & -PAGE, 2 * PAGE)), 2 * PAGE, true, two, 2);
        byte[] part = bytes(PAGE + 1);
        assertMalformed(List.of(new Run(0, PAGE + 1)), PAGE + 1, false, part, 2);
    }

    private static void assertMalformed(
            List<Run> runs, int length, boolean last, byte[] content, int crcs) {
        assertThatThrownBy(() ->
                        new ChunkCopy(
                                INODE,
                                0,
                                true,
                                last,
                                ChunkVersion.NONE,
                                0,
                                length,
                                runs,
                                new int[crcs],
                                Unpooled.wrappedBuffer(content)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    // ----

    private StoreHarness open() throws Exception {
        StoreHarness h = new StoreHarness(directory, 3);
        h.open();
        return h;
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static ChunkCopy piece(long inode, int chunk, byte[] content, ChunkVersion version) {
        return new ChunkCopy(
                inode,
                chunk,
                true,
                true,
                version,
                0,
                content.length,
                List.of(new Run(0, content.length)),
                BlockCrc.compute(Unpooled.wrappedBuffer(content), 0),
                Unpooled.wrappedBuffer(content));
    }

    private static void write(StoreHarness h, int offset, byte[] payload) throws Exception {
        append(h, 1, h.store().logState(PG).lastSequence() + 1, offset, payload);
    }

    private static void append(
            StoreHarness h, long epoch, long sequence, int offset, byte[] payload)
            throws Exception {
        append(h, epoch, sequence, 0, offset, payload);
    }

    private static void append(
            StoreHarness h, long epoch, long sequence, int chunk, int offset, byte[] payload)
            throws Exception {
        CountDownLatch durable = new CountDownLatch(1);
        h.store()
                .append(
                        Ops.write(PG, epoch, sequence, INODE, chunk, offset, payload, 0, List.of()),
                        durable::countDown);
        assertThat(durable.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private static void copy(StoreHarness h, ChunkCopy piece) throws Exception {
        CountDownLatch durable = new CountDownLatch(1);
        assertThat(h.store().copy(PG, piece, durable::countDown)).isTrue();
        assertThat(durable.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private static void reset(StoreHarness h, long epoch, long sequence, List<Answered> answered)
            throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        h.store().reset(PG, epoch, sequence, answered, false, done::countDown);
        assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private static void completed(StoreHarness h) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        h.store().completed(PG, done::countDown);
        assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
    }

    /** As much is written as the log has, twice: what waits in it is moved on. */
    private void roundTheLog(StoreHarness h) throws Exception {
        long bytes = 2 * h.store().wal().capacityBytes();
        for (long written = 0; written < bytes; written += 6 * PAGE) {
            long sequence = h.store().logState(PG).lastSequence() + 1;
            CountDownLatch durable = new CountDownLatch(1);
            byte[] payload = bytes(PAGE);
            for (int i = 0; i < 6; i++) {
                Runnable then = i == 5 ? durable::countDown : () -> {};
                PgLogEntry e =
                        Ops.write(PG, 1, sequence + i, 9, 0, i * PAGE, payload, 0, List.of());
                h.store().append(e, then);
            }
            assertThat(durable.await(30, TimeUnit.SECONDS)).as("room in the log").isTrue();
            commit(h, sequence + 5);
            flush(h);
        }
    }

    /** Everything logged so far is durable then. */
    private static void settle(StoreHarness h) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        AtomicInteger tries = new AtomicInteger();
        h.store().copyInode(PG, 77, 0, done::countDown);
        while (!done.await(20, TimeUnit.MILLISECONDS)) {
            flush(h);
            assertThat(tries.incrementAndGet()).isLessThan(1000);
        }
    }

    private static void commit(StoreHarness h, long sequence) {
        h.store().commit(PG, sequence);
    }

    private static void flush(StoreHarness h) {
        h.store().flushThread().flushAll();
    }

    private static void flip(StoreHarness h, byte[] block) {
        long at = StoreDamageTest.indexOf(h.devices.bytes(h.config.data()), block, 0, 16);
        h.devices.flipBit(h.config.data(), (at + 200) * 8);
    }

    private static byte[] read(StoreHarness h, int chunk) throws CorruptBlockException {
        return StoreHarness.read(h.store(), PG, INODE, chunk, 0, 9 * PAGE);
    }
}
