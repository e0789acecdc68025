package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Full disks, freed space, a log that is written round and round. */
class StoreSpaceTest {
    private static final int PAGE = 4096;

    @TempDir Path directory;

    @Test
    void whatWasAdmittedAlwaysFitsAndDeletesGiveSpaceBack() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1, 2 << 20, 16, 64 << 10)) {
            h.open();
            AtomicLong told = new AtomicLong();
            h.store().onSpace(told::set);
            long empty = h.store().admissibleBytes();
            int chunk = 0;
            while (h.store().admissibleBytes() >= 2 * PAGE) {
                write(h, 1, chunk++ % 4, chunk * 777 % 20_000 / PAGE * PAGE, PAGE + 1);
                if (chunk % 16 == 0) {
                    flush(h);
                }
                if (chunk > 400) {
                    write(h, 100 + chunk, 0, 0, 2 * PAGE);
                }
            }
            flush(h);
            h.compareAll();
            DiskInvariants.check(h.store());
            assertThat(h.store().usage().freeBytes()).isLessThan(512 << 10);

            long sequence = h.model(0).last();
            for (int inode = 1; inode < 1000; inode++) {
                PgLogEntry e = Ops.delete(0, 1, ++sequence, inode);
                h.append(0, e, inode, 0, new byte[0], 0);
            }
            flush(h);
            assertThat(h.store().admissibleBytes()).isEqualTo(empty);
            assertThat(h.store().usage().usedBytes()).isEqualTo(PAGE);
            assertThat(told.get()).as("the listener heard of it").isPositive();
            DiskInvariants.check(h.store());
        }
    }

    /** Each was told the same space, and neither knows what the other one sends. */
    @Test
    void whatTwoPrimariesPromiseTwiceIsRefusedBeforeItIsLogged() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 4, 2 << 20, 64, 64 << 10)) {
            h.open();
            while (h.store().admissibleBytes() > 600 << 10) {
                write(h, 1000 + h.model(0).last(), 0, 0, PAGE);
                flush(h);
            }
            long told = h.store().admissibleBytes();
            int taken = 0;
            for (int pg = 0; pg < 2; pg++) {
                for (long sent = 0; sent + PAGE <= told; sent += PAGE) {
                    taken += writeIfRoom(h, pg, 5000 + sent) ? 1 : 0;
                }
            }
            assertThat(taken).isGreaterThanOrEqualTo((int) (told / PAGE));
            for (int pg = 0; pg < 2; pg++) {
                PgLogEntry e = Ops.delete(pg, h.epoch(), h.model(pg).last() + 1, 5000);
                assertThat(h.store().appendIfRoom(e, () -> {})).as("deletes always").isTrue();
                h.model(pg)
                        .history()
                        .add(new ModelPg.Op(e, 5000, 0, new byte[0], 0, new long[] {5000}));
            }
            for (int pg = 0; pg < 2; pg++) {
                h.append(pg, Ops.noop(pg, h.epoch(), h.model(pg).last() + 1), 0, 0, new byte[0], 0);
            }
            flush(h);
            flush(h);
            assertThat(h.fatal).isEmpty();
            for (int pg = 0; pg < 2; pg++) {
                assertThat(h.store().logState(pg).flushedSequence())
                        .as("all that was acknowledged is flushed")
                        .isEqualTo(h.model(pg).last());
            }
            DiskInvariants.check(h.store());
        }
    }

    private static boolean writeIfRoom(StoreHarness h, int pg, long inode) {
        byte[] payload = new byte[PAGE];
        h.random.nextBytes(payload);
        ModelPg m = h.model(pg);
        PgLogEntry e = Ops.write(pg, h.epoch(), m.last() + 1, inode, 0, 0, payload, 0, List.of());
        if (!h.store().appendIfRoom(e, () -> {})) {
            return false;
        }
        m.history().add(new ModelPg.Op(e, inode, 0, payload, 0, new long[] {inode}));
        return true;
    }

    @Test
    void overwritesAreKnownByLogAndIndexAndLeaveTheSpaceTheyFind() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 5, 2 << 20, 64, 64 << 10)) {
            h.open();
            write(h, 1, 0, 0, 3 * PAGE);
            assertThat(overwrites(h, 100, 3 * PAGE - 100)).as("in the log").isTrue();
            flush(h);
            assertThat(overwrites(h, 0, 3 * PAGE)).as("in the index").isTrue();
            assertThat(overwrites(h, 0, 3 * PAGE + 1)).isFalse();
            write(h, 1, 0, 3 * PAGE, 10);
            assertThat(overwrites(h, PAGE, 2 * PAGE + 1)).as("in both").isTrue();
            assertThat(overwrites(h, 5 * PAGE, 1)).isFalse();
            flush(h);
            long before = h.store().admissibleBytes();
            for (int i = 0; i < 50; i++) {
                write(h, 1, 0, 100 * i, 3000);
                write(h, 1, 0, i % 3 * PAGE, PAGE);
                flush(h);
            }
            assertThat(h.store().admissibleBytes()).isEqualTo(before);
            PgLogEntry cut =
                    Ops.truncate(0, h.epoch(), h.model(0).last() + 1, 1, 1, PAGE, h.layout);
            h.append(0, cut, 1, 0, new byte[0], PAGE);
            assertThat(overwrites(h, 0, PAGE)).isTrue();
            assertThat(overwrites(h, 0, PAGE + 1)).as("cut off").isFalse();
        }
    }

    private static boolean overwrites(StoreHarness h, int offset, int length) {
        return h.store()
                .overwrites(Ops.write(0, 1, 1, 1, 0, offset, new byte[length], 0, List.of()).op());
    }

    @Test
    void aWrappingLogReplaysNothingOld() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 2, 8 << 20, 4, 32 << 10)) {
            h.open();
            for (int i = 0; i < 100; i++) {
                write(h, 1 + i % 3, i % 4, 0, PAGE + i);
                if (i % 4 == 3) {
                    flush(h);
                }
                if (i % 20 == 19) {
                    h.crash(i % 40 == 39);
                    h.open();
                    h.adoptRecovered();
                    h.compareAll();
                }
            }
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void uncommittedOperationsStayInTheLogAndCanBeListed() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 3)) {
            h.open();
            for (int i = 0; i < 6; i++) {
                write(h, 1, 0, i * 100, 50);
            }
            h.awaitDurable();
            h.store().commit(0, 2);
            h.store().flushThread().flushAll();
            assertThat(h.store().logState(0).flushedSequence()).isEqualTo(2);
            List<PgLogEntry> entries = h.store().entries(0, 3, 100);
            assertThat(entries).extracting(PgLogEntry::sequence).containsExactly(4L, 5L);
            for (PgLogEntry e : entries) {
                byte[] bytes = new byte[50];
                e.payload().readBytes(bytes);
                assertThat(bytes)
                        .isEqualTo(h.model(0).history().get((int) e.sequence() - 1).payload());
                e.payload().release();
            }
            h.model(0).committed = 2;
            h.crash(true);
            h.open();
            assertThat(h.store().logState(0).lastSequence()).isGreaterThanOrEqualTo(6);
            assertThat(h.store().logState(0).answered().getFirst().numbers()).contains(3, 4, 5, 6);
            h.adoptRecovered();
            h.compareAll();
        }
    }

    private static void write(StoreHarness h, long inode, int chunk, int offset, int length) {
        byte[] payload = new byte[length];
        h.random.nextBytes(payload);
        PgLogEntry e =
                Ops.write(
                        0,
                        h.epoch(),
                        h.model(0).last() + 1,
                        inode,
                        chunk,
                        offset,
                        payload,
                        0,
                        List.of());
        h.append(0, e, inode, chunk, payload, 0);
    }

    private static void flush(StoreHarness h) {
        h.awaitDurable();
        h.commitAll();
        h.store().flushThread().flushAll();
    }
}
