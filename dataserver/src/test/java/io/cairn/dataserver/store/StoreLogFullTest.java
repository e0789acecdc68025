package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FaultDevices;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log whose device or whose own size is too small: a clear end, or patience; nothing is lost. */
class StoreLogFullTest {
    private static final int PAGE = 4096;
    private static final IOException FULL = new IOException("No space left on device");

    @TempDir Path directory;

    @Test
    void aLogThatDoesNotFitIsSaidAndMadeLater() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1)) {
            h.devices.failWritesBelow(h.config.wal(), FULL);
            assertThatThrownBy(h::open)
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining(h.config.wal().toString())
                    .hasMessageContaining("No space left on device")
                    .hasMessageContaining("wal_size");
            h.devices.failWritesBelow(h.config.wal(), null);
            h.open();
            h.work(50);
            h.compareAll();
        }
    }

    @Test
    void aDeviceThatIsFullInServiceStopsTheProcessAndLosesNothing() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 2)) {
            h.open();
            h.work(60);
            h.awaitDurable();
            long acknowledged = h.model(0).acknowledged;
            h.devices.failWritesBelow(h.config.wal(), FULL);
            write(h, PAGE, 100);
            h.awaitDurable();
            assertThat(h.devices.isCut()).as("the fatal handler was called").isTrue();
            assertThat(h.model(0).acknowledged).isEqualTo(acknowledged);
            h.crash(true);
            h.devices.failWritesBelow(h.config.wal(), null);
            h.open();
            h.adoptRecovered();
            h.compareAll();
            h.work(60);
            h.compareAll();
        }
    }

    /**
     * Writes wait, deletes do not: they and what is before them have segments in reserve. A segment
     * is much longer than a record, as its rest that no batch fits into counts only once it is
     * full.
     */
    @Test
    void aLogFullOfUncommittedWritesHoldsWritesAndTakesDeletes() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 3, 8 << 20, 16, 128 << 10)) {
            h.open();
            int n = 0;
            while (h.store().walFillRatio() < 1.05) {
                write(h, n++ % 4 * PAGE, PAGE);
            }
            h.append(0, Ops.delete(0, 1, h.model(0).last() + 1, 9), 9, 0, new byte[0], 0);
            h.awaitDurable();
            assertThat(h.devices.isCut()).isFalse();
            assertThat(h.model(0).acknowledged).isEqualTo(h.model(0).last());
            h.commitAll();
            h.store().flushThread().flushAll();
            assertThat(h.store().walFillRatio()).isLessThan(0.3);
            h.compareAll();
            h.crash(true);
            h.open();
            h.adoptRecovered();
            h.compareAll();
            DiskInvariants.check(h.store());
        }
    }

    /**
     * Whoever writes waits for the oldest segments only: not until each group in turn has been
     * flushed to its end, when the last one's oldest operation is no longer in the way.
     */
    @Test
    void aLogThatIsFillingIsEmptiedFromItsOldEndOn() throws Exception {
        int groups = 10;
        try (StoreHarness h = new StoreHarness(directory, 5, 128 << 20, 16, 4 << 20)) {
            h.open();
            LocalDiskStore store = h.store();
            byte[] page = new byte[PAGE];
            int n = 0;
            Semaphore durable = new Semaphore(0);
            while (store.walFillRatio() < 0.75) {
                int pg = n % groups;
                long sequence = 1 + n++ / groups;
                store.append(
                        Ops.write(pg, 1, sequence, 1, 0, 0, page, 0, List.of()), durable::release);
                store.commit(pg, sequence);
            }
            durable.acquire(n);
            double full = store.walFillRatio();
            while (store.walFillRatio() >= full) {
                assertThat(store.flushThread().step()).isTrue();
            }
            assertThat(store.walFillRatio()).isGreaterThan(full / 4);
            store.flushThread().flushAll();
            assertThat(store.walFillRatio()).isLessThan(0.1);
        }
    }

    /** A replica that was away for a moment is sent them. */
    @Test
    void whatWasFlushedIsInTheLogUntilItsSegmentIsUsedAgain() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 6)) {
            h.open();
            for (int n = 0; n < 4; n++) {
                write(h, n % 4 * PAGE, PAGE);
                h.relieve();
                assertThat(h.compareLog(0, 0)).as("after %d", n).isFalse();
            }
            for (int n = 0; !h.compareLog(0, 0); n++) {
                write(h, n % 4 * PAGE, PAGE);
                h.relieve();
                assertThat(n).isLessThan(12 * (64 << 10) / PAGE);
            }
            long last = h.model(0).last();
            assertThat(h.compareLog(0, last - 1)).isFalse();
            h.crash(false);
            h.open();
            h.adoptRecovered();
            h.compareLog(0, last);
        }
    }

    /** The configured capacity is 0 for a whole device: the headroom is a share of the real one. */
    @Test
    void theHeadroomIsOfTheSizeTheDiskHas() throws Exception {
        int size = 40 << 20;
        FaultDevices devices = new FaultDevices(4);
        DiskConfig all = TestDisks.in(directory, "wal_size = '32MiB'\nwal_segment = '8MiB'");
        devices.create(all.data(), size).close();
        DiskRuntime runtime =
                new DiskRuntime(StoreHarness.databases(), devices, (what, cause) -> {}, false);
        try (LocalDiskStore store = LocalDiskStore.open(all, StoreHarness.CLUSTER, runtime)) {
            long blocks = size / PAGE - 1;
            long headroom = (size / 100 + DataFile.BLOCK_BYTES - 1) / DataFile.BLOCK_BYTES;
            assertThat(store.admissibleBytes()).isEqualTo((blocks - headroom) * PAGE);
        } finally {
            runtime.databases().memory().close();
        }
        assertThat(all.headroomBytes(1L << 20)).isEqualTo(256 << 10);
        assertThat(all.headroomBytes(4L << 40)).isEqualTo(1L << 30);
    }

    private static void write(StoreHarness h, int offset, int length) {
        byte[] payload = new byte[length];
        h.random.nextBytes(payload);
        long sequence = h.model(0).last() + 1;
        PgLogEntry e = Ops.write(0, h.epoch(), sequence, 1, 0, offset, payload, 0, List.of());
        h.append(0, e, 1, 0, payload, 0);
    }
}
