package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.store.ChunkCopy.Run;
import io.cairn.dataserver.store.LearnerStore.Changes;
import io.cairn.dataserver.store.LearnerStore.ChunkChanges;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What of an inode's chunks changed since a position, in the log and in the index. */
class StoreChangesTest {
    private static final int PAGE = 4096;
    private static final int PG = 0;
    private static final long INODE = 7;
    private static final TestLayout LAYOUT = new TestLayout(64 << 10, 1, 64 << 10);

    @TempDir Path directory;
    private StoreHarness h;
    private long sequence;

    @BeforeEach
    void open() throws Exception {
        h = new StoreHarness(directory, 3);
        h.open();
    }

    @AfterEach
    void close() throws Exception {
        h.close();
    }

    private void append(PgLogEntry entry) throws Exception {
        CountDownLatch durable = new CountDownLatch(1);
        h.store().append(entry, durable::countDown);
        assertThat(durable.await(30, TimeUnit.SECONDS)).isTrue();
        h.store().commit(PG, entry.sequence());
    }

    private void write(long inode, int chunk, int offset, int length) throws Exception {
        append(Ops.write(PG, 1, ++sequence, inode, chunk, offset, new byte[length], 0, List.of()));
    }

    private void truncate(long truncation, long size) throws Exception {
        append(Ops.truncate(PG, 1, ++sequence, INODE, truncation, size, LAYOUT));
    }

    private List<ChunkChanges> since(long position) {
        Changes changes = h.store().changes(PG, INODE, -1, position, 100);
        assertThat(changes.last()).isTrue();
        return changes.chunks();
    }

    private void flush() {
        h.store().flushThread().flushAll();
    }

    @Test
    void blocksAreListedByTheOperationThatChangedThem() throws Exception {
        write(INODE - 1, 0, 0, PAGE);
        write(INODE, 0, 0, 2 * PAGE);
        write(INODE, 3, PAGE, 100);
        write(INODE + 1, 0, 0, PAGE);
        long first = sequence;
        for (int again = 0; again < 2; again++) {
            assertThat(since(0))
                    .containsExactly(
                            new ChunkChanges(0, List.of(new Run(0, 2 * PAGE))),
                            new ChunkChanges(3, List.of(new Run(PAGE, 100))));
            assertThat(since(first)).isEmpty();
            flush();
        }
        write(INODE, 0, PAGE + 10, 20);
        write(INODE, 1, 0, PAGE);
        for (int again = 0; again < 2; again++) {
            assertThat(since(first))
                    .containsExactly(
                            new ChunkChanges(0, List.of(new Run(PAGE, PAGE))),
                            new ChunkChanges(1, List.of(new Run(0, PAGE))));
            assertThat(since(0)).hasSize(3);
            flush();
        }
    }

    @Test
    void aListComesInParts() throws Exception {
        for (int chunk = 0; chunk < 7; chunk++) {
            write(INODE, chunk, 0, PAGE);
            if (chunk == 4) {
                flush();
            }
        }
        int after = -1;
        int seen = 0;
        boolean last = false;
        while (!last) {
            Changes part = h.store().changes(PG, INODE, after, 0, 3);
            assertThat(part.chunks().size()).isLessThanOrEqualTo(3);
            for (ChunkChanges c : part.chunks()) {
                assertThat(c.chunk()).isEqualTo(seen++);
            }
            after = part.upTo();
            last = part.last();
        }
        assertThat(seen).isEqualTo(7);
    }

    /** Else all that was written lately would be copied again while clients wait. */
    @Test
    void aFenceChangesNothingAndIsOnChunksThatAreNotThere() throws Exception {
        write(INODE, 0, 0, PAGE);
        flush();
        write(INODE, 0, 2 * PAGE, PAGE);
        write(INODE, 1, 0, 64 << 10);
        long before = sequence;
        truncate(5, 16 * (64L << 10));
        for (int again = 0; again < 2; again++) {
            assertThat(since(before)).isEmpty();
            assertThat(h.store().truncateSequence(PG, INODE, 0)).isEqualTo(5);
            assertThat(h.store().truncateSequence(PG, INODE, 9)).as("none there").isEqualTo(5);
            flush();
        }
        truncate(6, 0);
        for (int again = 0; again < 2; again++) {
            assertThat(since(0)).as("cut to nothing").isEmpty();
            assertThat(h.store().truncateSequence(PG, INODE, 1)).isEqualTo(6);
            flush();
        }
    }
}
