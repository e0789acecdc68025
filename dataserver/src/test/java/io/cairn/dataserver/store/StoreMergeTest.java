package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.store.ContentHead.Key;
import io.netty.buffer.Unpooled;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Merges of placement groups on a disk, which is cut off after every batch of rows. {@code
 * -Dcairn.test.seed} repeats one seed.
 */
class StoreMergeTest {
    private static final int PARENT = 1;
    private static final int BASE = 2;
    private static final int CHILD = StoreHarness.PGS;
    private static final int MOST_STEPS = 80;

    @TempDir Path directory;

    /** A disk with two groups that were one, each with operations of its own, and a merge. */
    private final class Disk implements AutoCloseable {
        final StoreHarness harness;
        final Split split;
        final Map<ChunkId, byte[]> expected = new HashMap<>();
        final Map<ChunkId, Long> truncated = new HashMap<>();
        long childSequence;

        /** A chunk of the child that has all its blocks. */
        ChunkId written = new ChunkId(0, 0);

        Merge merge;
        long sequence;

        Disk(String name, long seed) throws Exception {
            // With room in its log, so that rounds of the flusher take all of it.
            harness =
                    new StoreHarness(
                            Files.createDirectory(directory.resolve(name)),
                            seed,
                            8 << 20,
                            36,
                            64 << 10);
            harness.open();
            harness.work(120);
            harness.awaitDurable();
            harness.commitAll();
            ModelPg model = harness.model(PARENT);
            split = new Split(CHILD, BASE, harness.epoch() + 1);
            ModelPg.State before = model.replay(harness.layout, model.last());
            childSequence = model.last() + 1;
            harness.append(
                    PARENT,
                    Ops.split(harness.epoch() + 1, childSequence, split),
                    0,
                    0,
                    new byte[0],
                    0);
            harness.newEpoch();
            harness.awaitDurable();
            harness.commitAll();
            while (!store().pgs().contains(CHILD)) {
                store().flushThread().step();
            }
            for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
                for (int chunk = 0; chunk < StoreHarness.CHUNKS; chunk++) {
                    if (split.takes(inode, chunk)) {
                        ChunkId id = new ChunkId(inode, chunk);
                        expected.put(id, before.bytes(inode, chunk));
                        truncated.put(id, before.truncateSequence(inode, chunk));
                    }
                }
            }
            store().flushThread().flushAll();
            for (int i = 0; i < 6; i++) {
                writeToChild();
            }
            for (int i = 0; i < 6; i++) {
                writeToParent();
            }
            logEnd();
        }

        private Random random() {
            return harness.random;
        }

        private ChunkId some(boolean ofChild) {
            while (true) {
                long inode = 1L + random().nextInt(StoreHarness.INODES);
                int chunk = random().nextInt(StoreHarness.CHUNKS);
                if (split.takes(inode, chunk) == ofChild) {
                    return new ChunkId(inode, chunk);
                }
            }
        }

        /** A whole chunk, so that what is expected is simple. */
        private void writeToChild() {
            ChunkId id = some(true);
            byte[] payload = new byte[harness.layout.chunkSize()];
            random().nextBytes(payload);
            store().append(
                            Ops.write(
                                    CHILD,
                                    harness.epoch(),
                                    ++childSequence,
                                    id.inode(),
                                    id.chunk(),
                                    0,
                                    payload,
                                    1000,
                                    List.of()),
                            () -> {});
            written = id;
            expected.put(id, payload);
            truncated.merge(id, 1000L, Math::max);
        }

        private void writeToParent() {
            ChunkId id = some(false);
            byte[] payload = new byte[1 + random().nextInt(5000)];
            random().nextBytes(payload);
            harness.append(
                    PARENT,
                    Ops.write(
                            PARENT,
                            harness.epoch(),
                            harness.model(PARENT).last() + 1,
                            id.inode(),
                            id.chunk(),
                            random().nextInt(2) * 4096,
                            payload,
                            1000,
                            List.of()),
                    id.inode(),
                    id.chunk(),
                    payload,
                    0);
        }

        /** The child ends, and the parent takes it in; both have something behind that. */
        private void logEnd() throws Exception {
            harness.newEpoch();
            long epoch = harness.epoch();
            store().append(Ops.noop(CHILD, epoch, ++childSequence), () -> {});
            merge = new Merge(CHILD, BASE, epoch, epoch, childSequence);
            CountDownLatch durable = new CountDownLatch(1);
            store().append(Ops.noop(CHILD, epoch + 1, childSequence + 1), durable::countDown);
            sequence = harness.model(PARENT).last() + 1;
            harness.append(PARENT, Ops.merge(epoch, sequence, merge), 0, 0, new byte[0], 0);
            for (int i = 0; i < 3; i++) {
                writeToParent();
            }
            harness.awaitDurable();
            assertThat(durable.await(1, TimeUnit.MINUTES)).isTrue();
        }

        LocalDiskStore store() {
            return harness.store();
        }

        boolean isDone() {
            return store().isMerged(CHILD, merge.epoch());
        }

        /** As the loop that owns the child does. */
        void release() {
            store().toRelease().forEach(store()::release);
        }

        /** Only its owner is waited for. */
        void awaitToRelease() {
            harness.commitAll();
            for (int i = 0; i < 50; i++) {
                store().toRelease(); // tells the child what is committed
                store().flushThread().step();
            }
            assertThat(isDone()).isFalse();
            assertThat(store().toRelease()).containsExactly(CHILD);
        }

        /** A block of the child, as it is. */
        RepairOutcome repairSome() throws Exception {
            ChunkId id = written;
            byte[] content = Arrays.copyOf(Objects.requireNonNull(expected.get(id)), 4096);
            BlockRepair repair =
                    new BlockRepair(
                            id.inode(),
                            id.chunk(),
                            0,
                            store().version(CHILD, id.inode(), id.chunk()),
                            Unpooled.wrappedBuffer(content));
            CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
            store().repair(CHILD, repair, outcome::complete);
            return outcome.get(1, TimeUnit.MINUTES);
        }

        void step() {
            release();
            store().flushThread().step();
        }

        void finish() {
            harness.commitAll();
            for (int i = 0; i < 200 && !isDone(); i++) {
                step();
            }
            assertThat(isDone())
                    .as("%s, %s", store().logState(PARENT), store().logState(CHILD))
                    .isTrue();
            store().flushThread().flushAll();
        }

        void check() throws Exception {
            assertThat(store().pgs()).doesNotContain(CHILD);
            assertThat(store().hasMerge(PARENT, CHILD, merge.epoch())).isTrue();
            Map<ChunkId, ModelPg.Content> own = harness.model(PARENT).replay(harness.layout);
            for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
                for (int chunk = 0; chunk < StoreHarness.CHUNKS; chunk++) {
                    ChunkId id = new ChunkId(inode, chunk);
                    ModelPg.Content c = own.get(id);
                    byte[] there = c == null ? new byte[0] : c.bytes;
                    assertThat(read(PARENT, id))
                            .as("inode %d, chunk %d", inode, chunk)
                            .isEqualTo(split.takes(inode, chunk) ? expected.get(id) : there);
                    assertThat(read(CHILD, id)).isEmpty();
                }
            }
            expected.forEach((id, bytes) -> {
                if (bytes.length > 0) {
                    assertThat(store().version(PARENT, id.inode(), id.chunk()))
                            .isEqualTo(new ChunkVersion(merge.epoch(), sequence));
                    assertThat(store().truncateSequence(PARENT, id.inode(), id.chunk()))
                            .isEqualTo(truncated.get(id));
                }
            });
            assertThat(store().logState(PARENT).isComplete()).isTrue();
            assertThat(store().logState(CHILD).lastSequence()).isZero();
            assertThat(store().heads(CHILD, Key.FIRST, 10)).isEmpty();
            DiskInvariants.check(store());
        }

        private byte[] read(int pg, ChunkId id) throws CorruptBlockException {
            int length = harness.layout.chunkSize() + 4096;
            return StoreHarness.read(store(), pg, id.inode(), id.chunk(), 0, length);
        }

        void reopen(boolean power) throws Exception {
            harness.crash(power);
            harness.open();
            harness.adoptRecovered();
        }

        @Override
        public void close() {
            harness.close();
        }
    }

    @Test
    void survivesACrashAfterEveryBatch() throws Exception {
        long seed = TestSeed.of("StoreMergeTest");
        boolean done = false;
        for (int steps = 0; !done; steps++) {
            assertThat(steps).isLessThan(MOST_STEPS);
            try (Disk disk = new Disk("crash-" + steps, seed)) {
                disk.harness.commitAll();
                disk.store().merges().inBatches(2, 1);
                for (int i = 0; i < steps; i++) {
                    disk.step();
                    if (disk.harness.random.nextBoolean()) {
                        disk.store().flushThread().flusher().flushIndex();
                    }
                }
                done = disk.isDone();
                disk.reopen(steps % 3 > 0);
                disk.finish();
                disk.check();
                disk.reopen(true);
                disk.check();
            }
        }
    }

    /** Else it would have to be undone. */
    @Test
    void isNotCarriedOutBeforeItIsCommitted() throws Exception {
        try (Disk disk = new Disk("uncommitted", TestSeed.of("StoreMergeTest"))) {
            disk.store().commit(PARENT, disk.sequence - 1);
            disk.store().commit(CHILD, disk.childSequence);
            for (int i = 0; i < 50; i++) {
                disk.step();
            }
            assertThat(disk.store().toRelease()).isEmpty();
            assertThat(disk.store().isTakenIn(CHILD)).isFalse();
            assertThat(disk.store().mayBeTakenIn(CHILD)).isTrue();
            assertThat(disk.store().firstMerge(PARENT)).isEqualTo(disk.sequence);
            assertThat(disk.store().pgs()).contains(CHILD);
            CountDownLatch dropped = new CountDownLatch(1);
            disk.store().dropTail(PARENT, disk.sequence - 1, dropped::countDown);
            assertThat(dropped.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(disk.store().hasMerge(PARENT, CHILD, disk.merge.epoch())).isFalse();
            assertThat(disk.store().mayBeTakenIn(CHILD)).isFalse();
            disk.harness.model(PARENT).keep(disk.sequence - 1);
            disk.harness.compareAll();
        }
    }

    /** What owns it could log something, or ask for it. */
    @Test
    void waitsUntilTheOwnerHasLetGo() throws Exception {
        try (Disk disk = new Disk("owned", TestSeed.of("StoreMergeTest"))) {
            disk.awaitToRelease();
            disk.finish();
            disk.check();
        }
    }

    /** Flushed beside the merge, it would bring back the group that has ended. */
    @Test
    void waitsForTheNoopOfALaterEpochOfTheGroupThatEnds() throws Exception {
        try (Disk disk = new Disk("behind", TestSeed.of("StoreMergeTest"))) {
            disk.awaitToRelease();
            disk.store().commit(CHILD, disk.childSequence + 1);
            disk.finish();
            disk.check();
            disk.reopen(true);
            disk.check();
        }
    }

    /** Who repairs does not ask the loop that owns the group. */
    @Test
    void waitsForARepairThatIsLoggedBeforeTheGroupIsReleased() throws Exception {
        try (Disk disk = new Disk("repaired", TestSeed.of("StoreMergeTest"))) {
            disk.store().commit(CHILD, disk.childSequence + 1);
            disk.awaitToRelease();
            assertThat(disk.repairSome()).isEqualTo(RepairOutcome.LOGGED);
            disk.store().release(CHILD);
            disk.finish();
            disk.check();
            disk.reopen(true);
            disk.check();
        }
    }

    /** Exactly once holds for what is sent again, to the group that goes on. */
    @Test
    void theGroupThatGoesOnKnowsWhatWasAnswered() throws Exception {
        try (Disk disk = new Disk("answers", TestSeed.of("StoreMergeTest"))) {
            Answered logged = onlyAnswers(disk.store().logState(PARENT));
            Answered child = onlyAnswers(disk.store().logState(CHILD));
            assertThat(child.numbers()).isNotEmpty();
            for (long number : child.numbers()) {
                assertThat(number < logged.ackedBelow() || has(logged, number))
                        .as("%d, from the moment that the merge is logged", number)
                        .isTrue();
            }
            disk.finish();
            disk.reopen(true);
            Answered after = onlyAnswers(disk.store().logState(PARENT));
            assertThat(after.ackedBelow()).isEqualTo(logged.ackedBelow());
            assertThat(after.numbers()).isEqualTo(logged.numbers());
        }
    }

    private static boolean has(Answered answered, long number) {
        for (long n : answered.numbers()) {
            if (n == number) {
                return true;
            }
        }
        return false;
    }

    private static Answered onlyAnswers(PgLogState state) {
        assertThat(state.answered()).hasSize(1);
        return state.answered().getFirst();
    }

    /**
     * What one group was cut to, and the other one not yet: sent again to both in one, it cuts what
     * it has not cut.
     */
    @Test
    void aTruncationOfOneOfBothIsNotTakenForOneOfTheOther() throws Exception {
        try (Disk disk = new Disk("truncated", TestSeed.of("StoreMergeTest"))) {
            long inode = 1;
            int ofChild = -1;
            for (int chunk = 0; chunk < 100 && ofChild < 0; chunk++) {
                ofChild = disk.split.takes(inode, chunk) ? chunk : -1;
            }
            disk.finish();
            // As if the parent had been cut before the merge, so that the inode says so.
            long cut = 5000;
            byte[] payload = new byte[8192];
            disk.harness.random.nextBytes(payload);
            LocalDiskStore store = disk.store();
            long last = store.logState(PARENT).lastSequence();
            try (ChunkIndex.Update update = new ChunkIndex.Update()) {
                update.putInodeHead(PARENT, inode, cut);
                store.index().apply(update);
            }
            boolean exists = store.version(PARENT, inode, ofChild) != ChunkVersion.NONE;
            long seen = store.truncateSequence(PARENT, inode, ofChild);
            if (exists && seen > 0) {
                assertThat(seen).isLessThan(cut);
            }
            store.append(
                    Ops.write(
                            PARENT,
                            disk.harness.epoch() + 2,
                            last + 1,
                            inode,
                            ofChild,
                            0,
                            payload,
                            cut,
                            List.of(new Cut(cut, 0))),
                    () -> {});
            assertThat(disk.read(PARENT, new ChunkId(inode, ofChild))).isEqualTo(payload);
        }
    }

    /** A group of the same number begins anew, beside records of the one that was merged. */
    @Test
    void anotherGroupOfTheNumberBegins() throws Exception {
        long seed = TestSeed.of("StoreMergeTest");
        for (int crash = 0; crash < 3; crash++) {
            try (Disk disk = new Disk("again-" + crash, seed)) {
                disk.finish();
                long epoch = disk.harness.epoch() + 5;
                Split again = new Split(CHILD, BASE, epoch);
                long at = disk.harness.model(PARENT).last() + 1;
                disk.harness.append(PARENT, Ops.split(epoch, at, again), 0, 0, new byte[0], 0);
                assertThat(disk.store().begin(CHILD, PARENT, true)).isFalse();
                disk.harness.awaitDurable();
                disk.store().commit(PARENT, at);
                disk.store().flushThread().flushAll();
                assertThat(disk.store().pgs()).contains(CHILD);
                disk.store().append(Ops.noop(CHILD, epoch + 1, at + 1), () -> {});
                disk.store().append(Ops.noop(CHILD, epoch + 1, at + 2), () -> {});
                disk.harness.awaitDurable();
                if (crash > 0) {
                    disk.harness.crash(crash > 1);
                    disk.harness.open();
                }
                PgLogState state = disk.store().logState(CHILD);
                assertThat(state.isComplete()).isTrue();
                if (crash < 2) {
                    assertThat(state.lastSequence()).isEqualTo(at + 2);
                }
                for (Map.Entry<ChunkId, byte[]> e : disk.expected.entrySet()) {
                    assertThat(disk.read(CHILD, e.getKey())).isEqualTo(e.getValue());
                    assertThat(disk.read(PARENT, e.getKey())).isEmpty();
                }
                DiskInvariants.check(disk.store());
            }
        }
    }

    /** The merge is not in the log here, and the group that was merged elsewhere is still here. */
    private static void dropMerge(Disk disk) throws Exception {
        CountDownLatch dropped = new CountDownLatch(1);
        disk.store().dropTail(PARENT, disk.sequence - 1, dropped::countDown);
        assertThat(dropped.await(1, TimeUnit.MINUTES)).isTrue();
        disk.harness.model(PARENT).keep(disk.sequence - 1);
        disk.store().commit(CHILD, disk.childSequence + 1);
    }

    /** What is here of the group that was merged elsewhere goes. */
    private static void end(Disk disk) throws Exception {
        LocalDiskStore store = disk.store();
        CountDownLatch discarded = new CountDownLatch(1);
        store.discard(CHILD, discarded::countDown);
        for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
            store.removeContent(CHILD, inode, () -> {});
        }
        disk.harness.awaitDurable();
        assertThat(discarded.await(1, TimeUnit.MINUTES)).isTrue();
        CountDownLatch ended = new CountDownLatch(1);
        store.end(CHILD, ended::countDown);
        store.flushThread().flushAll();
        store.flushThread().step();
        assertThat(ended.getCount()).isZero();
    }

    /** Else it would never be logged, and the new group never be made. */
    @Test
    void theSplitThatMakesTheNumberAgainIsMissingWhileTheMergedGroupIsHere() throws Exception {
        try (Disk disk = new Disk("missing", TestSeed.of("StoreMergeTest"))) {
            LocalDiskStore store = disk.store();
            dropMerge(disk);
            long epoch = disk.harness.epoch() + 5;
            Split again = new Split(CHILD, BASE, epoch);
            assertThat(store.hasSplit(PARENT, disk.split)).isTrue();
            assertThat(store.hasSplit(PARENT, again)).isFalse();
            long at = disk.harness.model(PARENT).last() + 1;
            disk.harness.append(PARENT, Ops.split(epoch, at, again), 0, 0, new byte[0], 0);
            assertThat(store.hasSplit(PARENT, again)).isTrue();
            disk.harness.awaitDurable();
            store.commit(PARENT, at);
            store.flushThread().flushAll();
            assertThat(store.lastEpoch(CHILD)).isLessThan(epoch);
            end(disk);
            store.flushThread().flushAll();
            assertThat(store.logState(CHILD).lastSequence()).isEqualTo(at);
            assertThat(store.logState(CHILD).isComplete()).isTrue();
            assertThat(store.lastEpoch(CHILD)).isEqualTo(epoch);
            assertThat(store.hasSplit(PARENT, again)).isTrue();
            DiskInvariants.check(store);
        }
    }

    /** Where nothing of the number is left but what was merged elsewhere, it ends when told. */
    @Test
    void whatWasMergedElsewhereEnds() throws Exception {
        try (Disk disk = new Disk("elsewhere", TestSeed.of("StoreMergeTest"))) {
            LocalDiskStore store = disk.store();
            dropMerge(disk);
            end(disk);
            assertThat(store.pgs()).doesNotContain(CHILD);
            disk.harness.crash(true);
            disk.harness.open();
            assertThat(disk.store().pgs()).doesNotContain(CHILD);
            assertThat(disk.store().lastEpoch(CHILD)).isZero();
            assertThat(disk.store().begin(CHILD, PARENT, false)).isTrue();
            assertThat(disk.store().pgs()).contains(CHILD);
            disk.harness.adoptRecovered();
            disk.harness.compareAll();
            DiskInvariants.check(disk.store());
        }
    }

    /**
     * What is here of the group that was merged was never committed: dropped, it would count as a
     * group that begins, and the split would not make another one beside it.
     */
    @Test
    void theSplitThatMakesTheNumberAgainWaitsForTheEndOfWhatWasNeverCommitted() throws Exception {
        for (int crash = 0; crash < 4; crash++) {
            try (Disk disk = new Disk("never-" + crash, TestSeed.of("StoreMergeTest"))) {
                disk.finish();
                long epoch = disk.harness.epoch() + 5;
                beginUncommitted(disk, epoch);
                Split again = new Split(CHILD, BASE, epoch + 2);
                long at = disk.harness.model(PARENT).last() + 1;
                disk.harness.append(PARENT, Ops.split(epoch + 2, at, again), 0, 0, new byte[0], 0);
                disk.harness.awaitDurable();
                disk.harness.commitAll();
                disk.store().flushThread().flushAll();
                assertThat(disk.store().lastEpoch(CHILD)).isEqualTo(epoch);
                if (crash % 2 > 0) {
                    disk.reopen(true);
                    disk.store().commit(PARENT, at);
                }
                assertThat(disk.store().logState(CHILD).isNeverCommitted()).isTrue();
                CountDownLatch ended = new CountDownLatch(1);
                disk.store().end(CHILD, ended::countDown);
                disk.store().flushThread().flushAll();
                disk.store().flushThread().step();
                assertThat(ended.getCount()).isZero();
                if (crash > 1) {
                    disk.reopen(true);
                    disk.store().commit(PARENT, at);
                }
                disk.store().flushThread().flushAll();
                assertThat(disk.store().logState(CHILD).lastSequence()).isEqualTo(at);
                assertThat(disk.store().lastEpoch(CHILD)).isEqualTo(epoch + 2);
                for (Map.Entry<ChunkId, byte[]> e : disk.expected.entrySet()) {
                    assertThat(disk.read(CHILD, e.getKey())).isEqualTo(e.getValue());
                }
                DiskInvariants.check(disk.store());
            }
        }
    }

    /** Of the one that ended is only in the index that it did. */
    @Test
    void theNextGroupOfTheNumberIsThereAfterARestart() throws Exception {
        try (Disk disk = new Disk("next", TestSeed.of("StoreMergeTest"))) {
            disk.finish();
            beginUncommitted(disk, disk.harness.epoch() + 5);
            PgLogState before = disk.store().logState(CHILD);
            disk.reopen(true);
            assertThat(disk.store().pgs()).contains(CHILD);
            assertThat(disk.store().lastEpoch(CHILD)).isEqualTo(before.lastEpoch());
            assertThat(disk.store().logState(CHILD).lastSequence()).isEqualTo(2);
        }
    }

    /** With a write so large that it has blocks of the data file already. */
    private static void beginUncommitted(Disk disk, long epoch) throws Exception {
        assertThat(disk.store().begin(CHILD, PARENT, false)).isTrue();
        CountDownLatch durable = new CountDownLatch(2);
        disk.store().append(Ops.noop(CHILD, epoch, 1), durable::countDown);
        byte[] payload = new byte[disk.harness.layout.chunkSize()];
        disk.random().nextBytes(payload);
        disk.store()
                .append(
                        Ops.write(CHILD, epoch, 2, 1, 0, 0, payload, 1000, List.of()),
                        durable::countDown);
        assertThat(durable.await(1, TimeUnit.MINUTES)).isTrue();
    }
}
