package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.disk.DiskOpenException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Large writes go to the data file and not into the log; nothing points at what was not synced. */
class StoreDirectTest {
    private static final int PAGE = 4096;
    private static final int LARGE = 7 * PAGE;
    private static final int CALLS = 40;

    @TempDir Path directory;

    @Test
    void theLogHasOnlyTheRecord() throws Exception {
        try (StoreHarness h = open(directory)) {
            byte[] payload = write(h, 1, 0, 0, LARGE);
            h.awaitDurable();
            assertThat(h.store().direct().written()).isEqualTo(1);
            assertThat(h.store().wal().usedBytes()).isLessThan(5 * PAGE);
            long at = StoreDamageTest.indexOf(h.devices.bytes(h.config.data()), payload, 0, LARGE);
            h.compareAll();
            h.commitAll();
            h.store().flushThread().flushAll();
            h.compareAll();
            DiskInvariants.check(h.store());
            byte[] after = h.devices.bytes(h.config.data());
            assertThat(StoreDamageTest.indexOf(after, payload, 0, LARGE)).isEqualTo(at);
            h.crash(true);
            h.open();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    @Test
    void overBlocksThatAreThereItGoesThroughTheLog() throws Exception {
        try (StoreHarness h = open(directory)) {
            write(h, 1, 0, 0, PAGE);
            flush(h);
            write(h, 1, 0, 0, LARGE);
            write(h, 1, 0, 100, 200);
            flush(h);
            assertThat(h.store().direct().written()).isZero();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    /** Beginning and ending within blocks, under and over small writes, deleted. */
    @Test
    void mixedWithSmallWrites() throws Exception {
        for (boolean crash : new boolean[] {false, true}) {
            Path dir = Files.createDirectory(directory.resolve("crash-" + crash));
            try (StoreHarness h = open(dir)) {
                write(h, 1, 0, 3000, 3000);
                write(h, 1, 0, 100, LARGE + 500);
                write(h, 1, 0, 5 * PAGE, 10);
                write(h, 1, 0, LARGE, 1000);
                write(h, 2, 1, PAGE, LARGE);
                write(h, 2, 1, PAGE, LARGE - 1);
                write(h, 3, 2, 17, LARGE);
                h.append(0, Ops.delete(0, 1, h.model(0).last() + 1, 3), 3, 0, new byte[0], 0);
                h.compareAll();
                h.awaitDurable();
                assertThat(h.store().direct().written()).isEqualTo(4);
                h.compareAll();
                if (crash) {
                    h.crash(true);
                    h.open();
                    h.adoptRecovered();
                    h.compareAll();
                    DiskInvariants.check(h.store());
                }
                flush(h);
                h.compareAll();
                DiskInvariants.check(h.store());
            }
        }
    }

    @Test
    void callbacksComeInOrderAcrossBothWays() throws Exception {
        try (StoreHarness h = open(directory)) {
            List<Long> order = Collections.synchronizedList(new ArrayList<>());
            CountDownLatch last = new CountDownLatch(60);
            for (long sequence = 1; sequence <= 60; sequence++) {
                long s = sequence;
                byte[] payload = new byte[sequence % 3 == 0 ? LARGE : 100];
                PgLogEntry e = Ops.write(0, 1, s, s % 5, (int) (s % 4), 0, payload, 0, List.of());
                h.store()
                        .append(
                                e,
                                () -> {
                                    order.add(s);
                                    last.countDown();
                                });
            }
            assertThat(last.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(order).isSorted().hasSize(60);
            assertThat(h.store().logState(0).lastSequence()).isEqualTo(60);
        }
    }

    @Test
    void droppedOnesGiveTheirBlocksBack() throws Exception {
        for (boolean durable : new boolean[] {true, false}) {
            Path dir = Files.createDirectory(directory.resolve("durable-" + durable));
            try (StoreHarness h = open(dir)) {
                write(h, 1, 0, 0, LARGE);
                flush(h);
                long free = h.store().usage().freeBytes();
                long kept = h.model(0).last();
                write(h, 1, 1, 0, LARGE);
                write(h, 1, 2, 5, LARGE);
                write(h, 1, 2, 5, 10);
                if (durable) {
                    h.awaitDurable();
                    assertThat(h.store().usage().freeBytes()).isLessThan(free);
                }
                drop(h, kept);
                h.compareAll();
                // What was on its way to the disk ends before this one.
                write(h, 1, 3, 0, LARGE);
                h.awaitDurable();
                h.compareAll();
                assertThat(h.store().usage().freeBytes()).isEqualTo(free - LARGE);
                DiskInvariants.check(h.store());
                h.crash(true);
                h.open();
                drop(h, kept);
                h.adoptRecovered();
                h.compareAll();
                DiskInvariants.check(h.store());
                assertThat(h.store().usage().freeBytes()).isEqualTo(free);
            }
        }
    }

    /** Also where blocks of a dropped write have become those of another chunk in the index. */
    @Test
    void reusedBlocksOfADroppedWriteAreNotTakenTwice() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1, 1 << 20, 32, 64 << 10)) {
            h.open();
            PgLogEntry pin = Ops.write(1, 1, 1, 4, 0, 0, new byte[10], 0, List.of());
            h.append(1, pin, 4, 0, new byte[10], 0);
            write(h, 1, 0, 0, LARGE);
            h.awaitDurable();
            drop(h, 0);
            for (int i = 0; i < 20; i++) {
                write(h, 2 + i / 4, i % 4, 0, LARGE);
                h.awaitDurable();
                h.store().commit(0, h.model(0).last());
                h.model(0).committed = h.model(0).last();
                h.store().flushThread().flushAll();
            }
            h.crash(true);
            h.open();
            h.adoptRecovered();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    @Test
    void thePowerCutAtEveryDeviceCall() throws Exception {
        for (int call = 1; call < CALLS; call++) {
            Path dir = Files.createDirectory(directory.resolve("call-" + call));
            try (StoreHarness h = open(dir)) {
                write(h, 1, 0, 0, PAGE);
                h.awaitDurable();
                h.devices.cutPowerIn(call);
                for (int i = 0; i < 4 && !h.devices.isCut(); i++) {
                    write(h, 1 + i % 2, i, 100 * i, LARGE);
                    write(h, 1 + i % 2, i, PAGE, 50);
                    if (i > 0) {
                        flush(h);
                    }
                }
                h.crash(true);
                h.devices.cutPowerIn(1 + call / 4);
                try {
                    h.open();
                    h.crash(true);
                } catch (DiskOpenException e) {
                    assertThat(h.devices.isCut()).isTrue();
                    h.devices.restorePower();
                }
                h.open();
                h.adoptRecovered();
                h.compareAll();
                DiskInvariants.check(h.store());
                flush(h);
                h.compareAll();
                DiskInvariants.check(h.store());
            } catch (AssertionError e) {
                throw new AssertionError("power cut at call " + call, e);
            }
        }
    }

    @Test
    void aFullDiskTakesWhatItAdmittedAndDeletesGiveItBack() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1, 2 << 20, 32, 64 << 10)) {
            h.open();
            long empty = h.store().admissibleBytes();
            long inode = 0;
            while (h.store().admissibleBytes() >= LARGE + 2 * PAGE) {
                write(h, ++inode, 0, 10, LARGE);
                h.awaitDurable();
                if (inode % 8 == 0) {
                    flush(h);
                }
            }
            assertThat(h.store().direct().written()).isGreaterThan(20);
            flush(h);
            DiskInvariants.check(h.store());
            long sequence = h.model(0).last();
            for (long i = 1; i <= inode; i++) {
                PgLogEntry e = Ops.delete(0, 1, ++sequence, i);
                h.append(0, e, i, 0, new byte[0], 0);
            }
            flush(h);
            assertThat(h.store().admissibleBytes()).isEqualTo(empty);
            DiskInvariants.check(h.store());
        }
    }

    private static void drop(StoreHarness h, long kept) throws InterruptedException {
        CountDownLatch dropped = new CountDownLatch(1);
        h.store().dropTail(0, kept, dropped::countDown);
        assertThat(dropped.await(30, TimeUnit.SECONDS)).isTrue();
        h.model(0).keep(kept);
    }

    private static StoreHarness open(Path dir) throws DiskOpenException {
        StoreHarness h = new StoreHarness(dir, 11);
        h.open();
        return h;
    }

    private static byte[] write(StoreHarness h, long inode, int chunk, int offset, int length) {
        byte[] payload = new byte[length];
        h.random.nextBytes(payload);
        long sequence = h.model(0).last() + 1;
        PgLogEntry e =
                Ops.write(0, h.epoch(), sequence, inode, chunk, offset, payload, 0, List.of());
        h.append(0, e, inode, chunk, payload, 0);
        return payload;
    }

    private static void flush(StoreHarness h) {
        h.awaitDurable();
        h.commitAll();
        h.store().flushThread().flushAll();
    }
}
