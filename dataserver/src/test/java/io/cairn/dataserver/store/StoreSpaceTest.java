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
