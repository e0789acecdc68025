package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.Split;
import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Splits of placement groups on a disk, which is cut off after every batch of rows. {@code
 * -Dcairn.test.seed} repeats one seed.
 */
class StoreSplitTest {
    private static final int PARENT = 1;
    private static final int BASE = 2;
    private static final int CHILD = StoreHarness.PGS;
    private static final int MOST_STEPS = 60;

    @TempDir Path directory;

    /** A disk with random content, all of it flushed, and a split that is committed. */
    private final class Disk implements AutoCloseable {
        final StoreHarness harness;
        final Split split;
        final long sequence;
        final ModelPg.State before;

        Disk(String name, long seed, boolean childIsThere) throws Exception {
            harness = new StoreHarness(Files.createDirectory(directory.resolve(name)), seed);
            harness.open();
            harness.work(150);
            harness.awaitDurable();
            harness.commitAll();
            if (childIsThere) {
                assertThat(harness.store().begin(CHILD, PARENT, false)).isTrue();
            }
            ModelPg model = harness.model(PARENT);
            split = new Split(CHILD, BASE, harness.epoch() + 1);
            sequence = model.last() + 1;
            before = model.replay(harness.layout, model.last());
            PgLogEntry entry = Ops.split(harness.epoch() + 1, sequence, split);
            harness.append(PARENT, entry, 0, 0, new byte[0], 0);
            harness.newEpoch();
            for (int i = 0; i < 5; i++) {
                writeWhatStays();
            }
            harness.awaitDurable();
        }

        /** To chunks that are not the child's: nobody would admit others. */
        private void writeWhatStays() {
            Random random = harness.random;
            long inode = 1L + random.nextInt(StoreHarness.INODES);
            int chunk = random.nextInt(StoreHarness.CHUNKS);
            if (!split.takes(inode, chunk)) {
                byte[] payload = new byte[1 + random.nextInt(5000)];
                random.nextBytes(payload);
                harness.append(
                        PARENT,
                        Ops.write(
                                PARENT,
                                harness.epoch(),
                                harness.model(PARENT).last() + 1,
                                inode,
                                chunk,
                                random.nextInt(2) * 4096,
                                payload,
                                1000,
                                List.of()),
                        inode,
                        chunk,
                        payload,
                        0);
            }
        }

        LocalDiskStore store() {
            return harness.store();
        }

        boolean isDone() {
            return !store().pg(PARENT).makes(CHILD, false) && store().pgs().contains(CHILD);
        }

        /** Both groups have what they should, and the disk is what it should be. */
        void check() throws Exception {
            harness.compareAll();
            PgLogState state = store().logState(CHILD);
            assertThat(state.lastSequence()).isEqualTo(sequence);
            assertThat(state.lastEpoch()).isEqualTo(split.epoch());
            assertThat(state.isComplete()).isTrue();
            for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
                for (int chunk = 0; chunk < StoreHarness.CHUNKS; chunk++) {
                    checkChunk(inode, chunk);
                }
            }
            DiskInvariants.check(store());
        }

        private void checkChunk(long inode, int chunk) throws Exception {
            byte[] found =
                    StoreHarness.read(
                            store(), CHILD, inode, chunk, 0, harness.layout.chunkSize() + 4096);
            boolean taken = split.takes(inode, chunk);
            assertThat(found)
                    .as("inode %d, chunk %d", inode, chunk)
                    .isEqualTo(taken ? before.bytes(inode, chunk) : new byte[0]);
            if (taken) {
                assertThat(store().truncateSequence(CHILD, inode, chunk))
                        .isEqualTo(before.truncateSequence(inode, chunk));
            }
        }

        @Override
        public void close() {
            harness.close();
        }
    }

    @Test
    void survivesACrashAfterEveryBatch() throws Exception {
        long seed = TestSeed.of("StoreSplitTest");
        boolean done = false;
        for (int steps = 0; !done; steps++) {
            assertThat(steps).isLessThan(MOST_STEPS);
            try (Disk disk = new Disk("crash-" + steps, seed, false)) {
                disk.harness.commitAll();
                disk.store().splits().inBatches(2, 1);
                for (int i = 0; i < steps; i++) {
                    disk.store().flushThread().step();
                    if (disk.harness.random.nextBoolean()) {
                        disk.store().flushThread().flusher().flushIndex();
                    }
                }
                done = disk.isDone();
                disk.harness.crash(steps % 3 > 0);
                disk.harness.open();
                disk.harness.adoptRecovered();
                disk.store().flushThread().flushAll();
                disk.check();
                disk.harness.crash(true);
                disk.harness.open();
                disk.harness.adoptRecovered();
                disk.check();
            }
        }
    }

    /** Its first operations are in the log when the power goes, perhaps before the next flush. */
    @Test
    void whatTheNewGroupLogsIsNotTakenForTheRestOfAHistory() throws Exception {
        try (Disk disk = new Disk("logs", TestSeed.of("StoreSplitTest"), false)) {
            disk.harness.commitAll();
            while (!disk.isDone()) {
                disk.store().flushThread().step();
            }
            disk.store()
                    .append(Ops.noop(CHILD, disk.split.epoch() + 1, disk.sequence + 1), () -> {});
            disk.harness.awaitDurable();
            disk.harness.crash(true);
            disk.harness.open();
            assertThat(disk.store().logState(CHILD).lastSequence()).isEqualTo(disk.sequence + 1);
        }
    }

    /** Else it would have to be undone. */
    @Test
    void isNotCarriedOutBeforeItIsCommitted() throws Exception {
        try (Disk disk = new Disk("uncommitted", TestSeed.of("StoreSplitTest"), false)) {
            disk.store().commit(PARENT, disk.sequence - 1);
            for (int i = 0; i < 50; i++) {
                disk.store().flushThread().step();
            }
            assertThat(disk.store().pgs()).doesNotContain(CHILD);
            assertThat(disk.store().begin(CHILD, PARENT, true)).isFalse();
            assertThat(disk.store().hasSplit(PARENT, disk.split)).isTrue();
            CountDownLatch dropped = new CountDownLatch(1);
            disk.store().dropTail(PARENT, disk.sequence - 1, dropped::countDown);
            assertThat(dropped.await(1, TimeUnit.MINUTES)).isTrue();
            assertThat(disk.store().hasSplit(PARENT, disk.split)).isFalse();
            assertThat(disk.store().begin(CHILD, PARENT, true)).isTrue();
            disk.harness.model(PARENT).keep(disk.sequence - 1);
            disk.harness.compareAll();
        }
    }

    /** Exactly once holds for what is sent again, to the new group now. */
    @Test
    void theNewGroupKnowsWhatWasAnswered() throws Exception {
        try (Disk disk = new Disk("answers", TestSeed.of("StoreSplitTest"), false)) {
            Map<Long, Answered> before = answers(disk.store().logState(PARENT));
            disk.harness.commitAll();
            disk.store().flushThread().flushAll();
            Map<Long, Answered> after = answers(disk.store().logState(CHILD));
            assertThat(after.keySet()).isEqualTo(before.keySet());
            after.forEach((session, a) -> {
                assertThat(a.numbers()).isNotEmpty();
                assertThat(a.ackedBelow()).isPositive();
                for (long number : a.numbers()) {
                    assertThat(number).isLessThan(disk.sequence);
                }
            });
        }
    }

    private static Map<Long, Answered> answers(PgLogState state) {
        Map<Long, Answered> answers = new HashMap<>();
        state.answered().forEach(a -> answers.put(a.session(), a));
        return answers;
    }

    /**
     * A group that has begun otherwise keeps what it has; the rows are removed, their blocks free.
     */
    @Test
    void removesWhatAGroupThatIsThereDoesNotNeed() throws Exception {
        long seed = TestSeed.of("StoreSplitTest");
        boolean done = false;
        for (int steps = 0; !done; steps++) {
            assertThat(steps).isLessThan(MOST_STEPS);
            try (Disk disk = new Disk("there-" + steps, seed, true)) {
                disk.harness.commitAll();
                disk.store().splits().inBatches(2, 1);
                for (int i = 0; i < steps; i++) {
                    disk.store().flushThread().step();
                    if (disk.harness.random.nextBoolean()) {
                        disk.store().flushThread().flusher().flushIndex();
                    }
                }
                done = disk.isDone();
                if (steps % 2 == 1 && disk.store().pgs().contains(CHILD)) {
                    disk.harness.crash(true);
                    disk.harness.open();
                    // Without anything logged or removed it is as if it had never begun.
                    boolean begins = disk.store().begin(CHILD, PARENT, false);
                    assertThat(begins).isTrue();
                    disk.harness.adoptRecovered();
                }
                disk.store().flushThread().flushAll();
                disk.harness.compareAll();
                assertThat(disk.store().logState(CHILD).lastSequence()).isZero();
                for (Map.Entry<ChunkId, ModelPg.Content> e : disk.before.chunks().entrySet()) {
                    ChunkId id = e.getKey();
                    assertThat(
                                    StoreHarness.read(
                                            disk.store(), CHILD, id.inode(), id.chunk(), 0, 4096))
                            .isEmpty();
                }
                DiskInvariants.check(disk.store());
            }
        }
    }
}
