package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A sync fails, the process stops and starts again on a kernel whose cache has what the medium has
 * not, and calls it clean.
 */
class StoreFailedSyncTest {
    private static final int PG = 0;

    @TempDir Path directory;

    @Test
    void whatTheLogHasOnlyInTheCacheIsNotTakenForDurable() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 1)) {
            h.open();
            h.write(PG);
            h.awaitDurable();
            long durable = h.store().logState(PG).lastSequence();
            h.devices.failNextForceBelow(h.config.wal());
            h.write(PG);
            await().atMost(Duration.ofSeconds(30)).until(() -> !h.fatal.isEmpty());
            h.crash(false);

            h.open();
            assertThat(h.store().logState(PG).lastSequence()).isEqualTo(durable);
            h.crash(true);
            h.open();
            assertThat(h.store().logState(PG).lastSequence())
                    .as("what a recovery found is there after a power cut")
                    .isEqualTo(durable);
        }
    }

    @Test
    void whatTheDataFileHasOnlyInTheCacheIsForgotten() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 2)) {
            h.open();
            h.write(PG);
            h.awaitDurable();
            h.commitAll();
            h.devices.failNextForceBelow(h.config.data());
            h.store().flushThread().flushAll();
            assertThat(h.fatal).hasSize(1);
            assertThat(h.devices.cacheLies(h.config.data())).isTrue();
            assertThat(mark(h)).content().contains("flushing").contains("Input/output error");
            h.crash(false);

            h.open();
            assertThat(h.devices.cacheLies(h.config.data())).isFalse();
            h.adoptRecovered();
            h.compareAll();
        }
    }

    @Test
    void aRunThatEndedInOrderIsBelieved() throws Exception {
        try (StoreHarness h = new StoreHarness(directory, 3)) {
            h.open();
            assertThat(mark(h)).isEmptyFile();
            h.write(PG);
            h.shutDown();
            assertThat(mark(h)).doesNotExist();
            h.open();
            h.adoptRecovered();
            h.crash(false);
            assertThat(mark(h)).isEmptyFile();
            h.open();
            h.compareAll();
        }
    }

    private static Path mark(StoreHarness h) {
        return h.config.wal().resolve("running");
    }
}
