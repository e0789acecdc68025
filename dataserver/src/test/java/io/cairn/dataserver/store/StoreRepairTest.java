package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.data.Split;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A damaged block gets its content back: in order with writes, across crashes, never newer data.
 */
class StoreRepairTest {
    private static final int PAGE = 4096;
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 3);

    @TempDir Path directory;

    private byte[] payload = new byte[0];

    @BeforeEach
    void fill() {
        payload = new byte[3 * PAGE];
        new Random(9).nextBytes(payload);
    }

    @Test
    void theBitIsFlippedBackInItsPlace() throws Exception {
        try (StoreHarness h = stored()) {
            byte[] right = h.devices.bytes(h.config.data()).clone();
            VersionedBlock good = readBlock(h, 1);
            flip(h, 1);
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, 5, 2 * PAGE))
                    .isInstanceOfSatisfying(
                            CorruptBlockException.class, e -> assertThat(e.block()).isEqualTo(1));

            assertThat(repair(h, 1, good)).isEqualTo(RepairOutcome.LOGGED);
            h.compareAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            assertThat(h.devices.bytes(h.config.data())).isEqualTo(right);
            DiskInvariants.check(h.store());
            assertThat(readBlock(h, 1).version()).as("no change").isEqualTo(good.version());
        }
    }

    @Test
    void aCrashAtAnyPointLeavesItDamagedOrRepaired() throws Exception {
        for (int call = 1; call < 8; call++) {
            Path dir = Files.createDirectory(directory.resolve("call-" + call));
            try (StoreHarness h = stored(dir)) {
                byte[] right = h.devices.bytes(h.config.data()).clone();
                VersionedBlock good = readBlock(h, 1);
                flip(h, 1);
                assertThat(repair(h, 1, good)).isEqualTo(RepairOutcome.LOGGED);
                h.devices.cutPowerIn(call);
                h.store().flushThread().flushAll();
                h.crash(true);
                h.open();
                h.adoptRecovered();
                h.compareAll();
                h.store().flushThread().flushAll();
                h.compareAll();
                assertThat(h.devices.bytes(h.config.data())).isEqualTo(right);
                DiskInvariants.check(h.store());
                h.crash(true);
                h.open();
                h.adoptRecovered();
                h.compareAll();
            }
        }
    }

    @Test
    void neverOverNewerData() throws Exception {
        try (StoreHarness h = stored()) {
            VersionedBlock old = readBlock(h, 1);
            flip(h, 1);
            write(h, PAGE, new byte[PAGE]);
            assertThat(repair(h, 1, old)).isEqualTo(RepairOutcome.CHANGED);
            h.compareAll();
            flush(h);
            assertThat(repair(h, 1, old)).isEqualTo(RepairOutcome.CHANGED);
            h.compareAll();
        }
    }

    /** Another member then has nothing there either, of the same version. */
    @Test
    void ofWhatIsDeletedMeanwhileThereIsNothingToRepair() throws Exception {
        try (StoreHarness h = stored()) {
            flip(h, 1);
            h.appendDelete(0, 1);
            h.awaitDurable();
            h.commitAll();
            VersionedBlock none = readBlock(h, 1);
            assertThat(none.content().readableBytes()).isZero();
            assertThat(repair(h, 1, none)).isEqualTo(RepairOutcome.CHANGED);
            h.compareAll();
        }
    }

    /** Another member then has the same hole, of the same version. */
    @Test
    void ofAHoleThereIsNothingToRepair() throws Exception {
        try (StoreHarness h = stored()) {
            flip(h, 1);
            h.appendDelete(0, 1);
            write(h, 2 * PAGE, new byte[10]);
            flush(h);
            VersionedBlock hole = readBlock(h, 1);
            assertThat(hole.content().readableBytes()).isEqualTo(PAGE);
            assertThat(repair(h, 1, hole)).isEqualTo(RepairOutcome.CHANGED);
            byte[] some = Arrays.copyOf(payload, PAGE);
            VersionedBlock other = new VersionedBlock(hole.version(), Unpooled.wrappedBuffer(some));
            assertThat(repair(h, 1, other)).isEqualTo(RepairOutcome.DIFFERENT);
            h.compareAll();
        }
    }

    @Test
    void writesAfterItStandOverIt() throws Exception {
        try (StoreHarness h = stored()) {
            VersionedBlock good = readBlock(h, 1);
            flip(h, 1);
            assertThat(repair(h, 1, good)).isEqualTo(RepairOutcome.LOGGED);
            write(h, PAGE + 100, new byte[300]);
            h.compareAll();
            h.crash(true);
            h.open();
            h.adoptRecovered();
            h.compareAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    /** Of a chunk that the split takes, and of one that stays. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSplitWaitsForABlockThatWhatIsBeforeItNeeds(boolean taken) throws Exception {
        // Of one group the chunk goes to the second one; of three it stays with the first.
        Split split = taken ? new Split(1, 1, 1) : new Split(StoreHarness.PGS, 3, 1);
        assertThat(split.parent()).isZero();
        assertThat(split.takes(1, 0)).isEqualTo(taken);
        try (StoreHarness h = stored()) {
            splitBehindDamage(h, split);
            if (taken) { // what the parent is told of the file meanwhile, which cuts nothing
                long size = 4L * h.layout.chunkSize();
                long next = h.model(0).last() + 1;
                PgLogEntry e = Ops.truncate(0, split.epoch(), next, 1, 1, size, h.layout);
                h.append(0, e, 1, 0, new byte[0], size);
            }
            h.awaitDurable();
            h.commitAll();
            flush(h);
            assertThat(h.store().pgs()).doesNotContain(split.child());
            byte[] merged = repairMerged(h);
            flush(h);
            assertThat(h.store().pgs()).contains(split.child());
            int holder = taken ? split.child() : 0;
            for (boolean crashed : new boolean[] {false, true}) {
                assertThat(StoreHarness.read(h.store(), holder, 1, 0, PAGE, PAGE))
                        .isEqualTo(merged);
                h.commitAll();
                h.store().flushThread().flushAll();
                if (taken) {
                    assertThat(StoreHarness.read(h.store(), 0, 1, 0, PAGE, PAGE))
                            .as("left behind, crashed: %s", crashed)
                            .isEmpty();
                }
                DiskInvariants.check(h.store());
                h.crash(true);
                h.open();
            }
        }
    }

    /** The flusher has carried out the split, and comes to the repair behind it later. */
    @Test
    void whatASplitHasTakenIsNotShownByTheRepairBehindIt() throws Exception {
        Split split = new Split(1, 1, 1);
        assertThat(split.takes(1, 0)).isTrue();
        try (StoreHarness h = stored()) {
            splitBehindDamage(h, split);
            h.awaitDurable();
            h.commitAll();
            flush(h);
            byte[] merged = repairMerged(h);
            while (!h.store().pgs().contains(split.child())) {
                assertThat(h.store().flushThread().flusher().round()).isTrue();
            }
            for (boolean crashed : new boolean[] {false, true}) {
                assertThat(StoreHarness.read(h.store(), 0, 1, 0, PAGE, PAGE))
                        .as("left behind, crashed: %s", crashed)
                        .isEmpty();
                assertThat(StoreHarness.read(h.store(), split.child(), 1, 0, PAGE, PAGE))
                        .isEqualTo(merged);
                h.crash(true);
                h.open();
            }
            flush(h);
            DiskInvariants.check(h.store());
        }
    }

    /** A split that waits until a damaged block is repaired which a write before it needs. */
    private void splitBehindDamage(StoreHarness h, Split split) {
        flip(h, 1);
        write(h, PAGE + 100, new byte[300]);
        flush(h);
        long next = h.model(0).last() + 1;
        h.append(0, Ops.split(split.epoch(), next, split), 0, 0, new byte[0], 0);
    }

    /** With the content that the block has behind that write. */
    private byte[] repairMerged(StoreHarness h) throws Exception {
        byte[] merged = Arrays.copyOfRange(payload, PAGE, 2 * PAGE);
        Arrays.fill(merged, 100, 400, (byte) 0);
        ChunkVersion version = h.store().version(0, 1, 0);
        VersionedBlock other = new VersionedBlock(version, Unpooled.wrappedBuffer(merged));
        assertThat(repair(h, 1, other)).isEqualTo(RepairOutcome.LOGGED);
        return merged;
    }

    @Test
    void aBlockLostInAMergeIsReportedAndComesBack() throws Exception {
        try (StoreHarness h = stored()) {
            List<Integer> reported = new ArrayList<>();
            h.store().onDamage((pg, inode, chunk, block) -> reported.add(block));
            VersionedBlock before = readBlock(h, 1);
            flip(h, 1);
            write(h, PAGE + 100, new byte[300]);
            flush(h);
            assertThat(reported).containsExactly(1);
            assertThat(repair(h, 1, before)).isEqualTo(RepairOutcome.CHANGED);
            repairMerged(h);
            h.compareAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void damageInTheMiddleOfTheLogIsRepaired() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 7)) {
            h.open();
            for (int at = 0; at < payload.length; at += PAGE) {
                append(h, at, Arrays.copyOfRange(payload, at, at + PAGE));
            }
            h.awaitDurable();
            VersionedBlock good = readBlock(h, 1);
            h.shutDown();
            Path segment = h.config.wal().resolve("segment-00000");
            long at = StoreDamageTest.indexOf(h.devices.bytes(segment), payload, PAGE + 77, 8);
            h.devices.flipBit(segment, at * 8);
            h.open();
            h.adoptRecovered();
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, 0, 3 * PAGE))
                    .isInstanceOfSatisfying(
                            CorruptBlockException.class, e -> assertThat(e.block()).isEqualTo(1));
            assertThat(repair(h, 1, good)).isEqualTo(RepairOutcome.LOGGED);
            h.compareAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void fallsWithTheOperationItFollows() throws Exception {
        try (StoreHarness h = stored()) {
            flip(h, 1);
            append(h, 2 * PAGE, new byte[10]);
            h.awaitDurable();
            VersionedBlock read = readBlock(h, 2);
            byte[] content = Arrays.copyOfRange(payload, PAGE, 2 * PAGE);
            VersionedBlock good =
                    new VersionedBlock(read.version(), Unpooled.wrappedBuffer(content));
            assertThat(repair(h, 1, good)).isEqualTo(RepairOutcome.LOGGED);
            long kept = h.model(0).committed;
            CountDownLatch dropped = new CountDownLatch(1);
            h.store().dropTail(0, kept, dropped::countDown);
            assertThat(dropped.await(30, TimeUnit.SECONDS)).isTrue();
            h.model(0).keep(kept);
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE, 10))
                    .isInstanceOf(CorruptBlockException.class);
            write(h, 2 * PAGE, new byte[20]);
            h.crash(true);
            h.open();
            h.adoptRecovered();
            assertThatThrownBy(() -> StoreHarness.read(h.store(), 0, 1, 0, PAGE, 10))
                    .isInstanceOf(CorruptBlockException.class);
            assertThat(StoreHarness.read(h.store(), 0, 1, 0, 2 * PAGE, 20)).isEqualTo(new byte[20]);
        }
    }

    @Test
    void otherContentIsRefused() throws Exception {
        try (StoreHarness h = stored()) {
            VersionedBlock good = readBlock(h, 1);
            flip(h, 1);
            VersionedBlock other =
                    new VersionedBlock(good.version(), Unpooled.wrappedBuffer(new byte[PAGE]));
            assertThat(repair(h, 1, other)).isEqualTo(RepairOutcome.DIFFERENT);
            VersionedBlock shorter =
                    new VersionedBlock(good.version(), Unpooled.wrappedBuffer(new byte[5]));
            assertThat(repair(h, 1, shorter)).isEqualTo(RepairOutcome.DIFFERENT);
        }
    }

    @Test
    void theLastBlockOfAChunkKeepsItsLength() throws Exception {
        payload = Arrays.copyOf(payload, 2 * PAGE + 500);
        try (StoreHarness h = stored()) {
            VersionedBlock good = readBlock(h, 2);
            flip(h, 2);
            assertThat(repair(h, 2, good)).isEqualTo(RepairOutcome.LOGGED);
            h.compareAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    /** Random work, damage anywhere, repair from the model, crashes. */
    @Test
    void amongRandomWork() throws Exception {
        for (long seed : TestSeed.several("StoreRepairTest", RUNS).toArray()) {
            Path dir = Files.createDirectory(directory.resolve("run-" + seed));
            try (StoreHarness h = new StoreHarness(dir, seed)) {
                h.open();
                for (int crash = 0; crash < 5; crash++) {
                    for (int i = 0; i < 4; i++) {
                        h.work(40);
                        // A repair falls with what it follows: let that stand.
                        h.awaitDurable();
                        h.commitAll();
                        damageAndRepair(h);
                    }
                    h.work(20);
                    h.crash(h.random.nextBoolean());
                    h.open();
                    h.adoptRecovered();
                    h.compareAll();
                    DiskInvariants.check(h.store());
                }
            } catch (AssertionError e) {
                throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
            }
        }
    }

    private record Place(int pg, long inode, int chunk, int block, long location) {}

    private static void damageAndRepair(StoreHarness h) throws Exception {
        List<Place> places = new ArrayList<>();
        h.store().index().visit(new Places(places));
        for (int i = 0; i < 3 && !places.isEmpty(); i++) {
            Place p = places.get(h.random.nextInt(places.size()));
            ModelPg.Content c =
                    h.model(p.pg()).replay(h.layout).get(new ChunkId(p.inode(), p.chunk()));
            int from = p.block() * PAGE;
            int length = c == null ? 0 : c.bytes.length - from;
            if (c == null || length <= 0) {
                continue;
            }
            h.devices.flipBit(h.config.data(), p.location() * PAGE * 8 + h.random.nextInt(32768));
            byte[] content = Arrays.copyOfRange(c.bytes, from, from + Math.min(PAGE, length));
            ChunkVersion version = h.store().version(p.pg(), p.inode(), p.chunk());
            BlockRepair r =
                    new BlockRepair(
                            p.inode(),
                            p.chunk(),
                            p.block(),
                            version,
                            Unpooled.wrappedBuffer(content));
            CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
            h.store().repair(p.pg(), r, outcome::complete);
            assertThat(outcome.get(30, TimeUnit.SECONDS)).isEqualTo(RepairOutcome.LOGGED);
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

    private StoreHarness stored() throws Exception {
        return stored(directory);
    }

    private StoreHarness stored(Path dir) throws Exception {
        StoreHarness h = new StoreHarness(dir, 7);
        h.open();
        write(h, 0, payload);
        flush(h);
        return h;
    }

    private static void append(StoreHarness h, int offset, byte[] bytes) {
        long sequence = h.model(0).last() + 1;
        PgLogEntry e = Ops.write(0, h.epoch(), sequence, 1, 0, offset, bytes, 0, List.of());
        h.append(0, e, 1, 0, bytes, 0);
    }

    private static void write(StoreHarness h, int offset, byte[] bytes) {
        append(h, offset, bytes);
        h.awaitDurable();
        h.commitAll();
    }

    private static void flush(StoreHarness h) {
        h.store().flushThread().flushAll();
    }

    private void flip(StoreHarness h, int block) {
        long at =
                StoreDamageTest.indexOf(
                        h.devices.bytes(h.config.data()), payload, block * PAGE + 7, 8);
        h.devices.flipBit(h.config.data(), at * 8);
    }

    private static VersionedBlock readBlock(StoreHarness h, int block) throws Exception {
        CompletableFuture<VersionedBlock> read = new CompletableFuture<>();
        h.store()
                .readBlock(
                        0,
                        1,
                        0,
                        block,
                        (b, failure) -> {
                            if (b == null) {
                                read.completeExceptionally(new AssertionError(failure));
                            } else {
                                ByteBuf copy = Unpooled.copiedBuffer(b.content());
                                b.content().release();
                                read.complete(new VersionedBlock(b.version(), copy));
                            }
                        });
        return read.get(30, TimeUnit.SECONDS);
    }

    private static RepairOutcome repair(StoreHarness h, int block, VersionedBlock from)
            throws Exception {
        CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
        BlockRepair r = new BlockRepair(1, 0, block, from.version(), from.content());
        h.store().repair(0, r, outcome::complete);
        return outcome.get(30, TimeUnit.SECONDS);
    }
}
