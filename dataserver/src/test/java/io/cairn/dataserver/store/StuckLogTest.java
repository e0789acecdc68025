package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A group that cannot commit, as of a replica that left it, or of one whose primary is away, does
 * not hold the log of its disk: others go on beside it, and nothing of it is lost.
 */
class StuckLogTest {
    private static final int PAGE = 4096;
    private static final int SEGMENTS = 32;
    private static final int SEGMENT = 64 << 10;

    @TempDir Path directory;

    @Test
    void othersGoOnForAsLongAsItTakes() throws Exception {
        try (StoreHarness h = harness()) {
            holdBackSix(h);
            h.appendDelete(1, 1);
            h.write(1);
            writeSeveralLogs(h);
            recover(h);
            writeSeveralLogs(h);
            assertThat(h.store().logState(1).flushedSequence()).isZero();
            commitRest(h);
        }
    }

    /**
     * What begins in the newer half of the log stays there, and holds some of the first records.
     */
    @Test
    void whatIsLeftOfItsFirstRecordsIsNoHole() throws Exception {
        try (StoreHarness h = harness()) {
            h.holdBack(1, 2);
            h.write(1);
            while (h.store().walFillRatio() < 0.4) {
                writeSome(h);
            }
            h.write(2);
            for (int n = 0; n < 4; n++) {
                h.write(1);
            }
            writeUntilTrimmed(h);
            recover(h);
            commitRest(h);
        }
    }

    @Test
    void whatIsNotCommittedIsDroppedAlthoughItWasLoggedTwice() throws Exception {
        try (StoreHarness h = harness()) {
            holdBackSix(h);
            writeUntilTrimmed(h);
            h.dropTail(1, 2);
            h.write(1);
            writeUntilTrimmed(h);
            recover(h);
            assertThat(h.model(1).last()).isEqualTo(3);
            commitRest(h);
        }
    }

    /** The index may be durable before what was logged last. */
    @Test
    void theFirstRecordsAreKeptUntilTheOthersAreDurable() throws Exception {
        try (StoreHarness h = harness()) {
            holdBackSix(h);
            while (h.store().walFillRatio() < 0.4) {
                writeSome(h);
            }
            long first = h.store().flushThread().flusher().trimmedLsn();
            while (h.store().walFillRatio() < 0.55) {
                appendSome(h);
                h.awaitDurable();
            }
            h.commitAll();
            h.devices.holdForcesBelow(h.config.wal());
            for (int n = 0; n < 5; n++) {
                h.store().flushThread().flushAll();
            }
            double full = h.store().walFillRatio();
            long trimmed = h.store().flushThread().flusher().trimmedLsn();
            h.devices.cutPower();
            h.devices.holdForcesBelow(null);
            assertThat(trimmed).isEqualTo(first);
            assertThat(full).as("it was logged once more").isGreaterThan(0.56);
            recover(h);
            commitRest(h);
        }
    }

    private StoreHarness harness() throws Exception {
        StoreHarness h = new StoreHarness(directory, 7, 8 << 20, SEGMENTS, SEGMENT);
        h.open();
        return h;
    }

    /** Writes of one group, which cannot commit them. */
    private static void holdBackSix(StoreHarness h) {
        h.holdBack(1);
        for (int n = 0; n < 6; n++) {
            h.write(1);
        }
    }

    private static void writeSeveralLogs(StoreHarness h) {
        for (int n = 0; n < 4 * SEGMENTS; n++) {
            writeSome(h);
            assertThat(h.store().walFillRatio()).as("after %d", n).isLessThan(0.8);
        }
        h.compareAll();
    }

    private static void writeUntilTrimmed(StoreHarness h) {
        double before = 0;
        for (int n = 0; h.store().walFillRatio() >= before; n++) {
            before = h.store().walFillRatio();
            writeSome(h);
            assertThat(n).isLessThan(2 * SEGMENTS);
        }
        h.compareAll();
    }

    private static void writeSome(StoreHarness h) {
        appendSome(h);
        h.relieve();
    }

    /** Somewhat less than a segment, of another group. */
    private static void appendSome(StoreHarness h) {
        for (int i = 0; i < SEGMENT / PAGE - 2; i++) {
            byte[] page = new byte[PAGE];
            h.random.nextBytes(page);
            long next = h.model(0).last() + 1;
            int at = i % 4 * PAGE;
            PgLogEntry e = Ops.write(0, h.epoch(), next, 1, 0, at, page, 0, List.of());
            h.append(0, e, 1, 0, page, 0);
        }
    }

    private static void recover(StoreHarness h) throws Exception {
        h.crash(true);
        h.open();
        h.adoptRecovered();
        h.compareAll();
    }

    private static void commitRest(StoreHarness h) {
        h.holdBack();
        h.relieve();
        for (int pg = 0; pg < StoreHarness.PGS; pg++) {
            assertThat(h.store().logState(pg).flushedSequence()).isEqualTo(h.model(pg).last());
        }
        h.compareAll();
        DiskInvariants.check(h.store());
    }
}
