package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.Merge;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.LearnerStore.Rest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two groups that have seen different truncations of a file become one: each chunk is cut by those
 * that it has not seen, once, on every disk.
 */
class MergedTruncationsTest {
    private static final TestLayout LAYOUT = new TestLayout(8192, 1, 8192);
    private static final int PARENT = 1;
    private static final int CHILD = 3;
    private static final int BASE = 2;
    private static final long INODE = 7;

    /** Its sequence in the parent. */
    private static final long MERGE = 2;

    private static final byte[] PAYLOAD = {1, 2, 3};

    @TempDir Path directory;
    private final IndexDatabases databases = SteppedStore.databases();
    private final Random random = new Random(1);
    private SteppedStore store;

    @BeforeEach
    void open() throws IOException {
        store = store("first");
    }

    private SteppedStore store(String name) throws IOException {
        return new SteppedStore(
                Files.createDirectory(directory.resolve(name)), random.nextLong(), databases);
    }

    @AfterEach
    void close() {
        store.close();
        databases.memory().close();
    }

    /** A chunk of the child, or of the parent. */
    private static int chunk(boolean ofChild) {
        Merge merge = new Merge(CHILD, BASE, 1, 1, 1);
        for (int chunk = 0; ; chunk++) {
            if (merge.takes(INODE, chunk) == ofChild) {
                return chunk;
            }
        }
    }

    private void write(int pg, long sequence, int chunk, long known) {
        store.append(Ops.write(pg, 1, sequence, INODE, chunk, 4096, PAYLOAD, known, List.of()));
    }

    private static PgLogEntry truncate(int pg, long epoch, long sequence, long truncation) {
        return Ops.truncate(pg, epoch, sequence, INODE, truncation, 0, LAYOUT);
    }

    private void commit(int pg) {
        store.commit(pg, store.state(pg).lastSequence());
    }

    private void merge(long childSequence) {
        store.append(Ops.noop(CHILD, 2, childSequence));
        Merge merge = new Merge(CHILD, BASE, 2, 2, childSequence);
        store.append(Ops.merge(2, MERGE, merge));
    }

    private void carryOut() {
        commit(CHILD);
        commit(PARENT);
        assertThat(store.unite(PARENT, MERGE)).isTrue();
    }

    /** A chunk that has seen truncation 2, in a group whose own chunks have seen 5. */
    private int takenIn() {
        int chunk = chunk(true);
        store.append(truncate(PARENT, 1, 1, 5));
        write(CHILD, 1, chunk, 2);
        merge(2);
        carryOut();
        return chunk;
    }

    private void isCutBy(SteppedStore where, int chunk, long truncation) {
        assertThat(where.truncateSequence(PARENT, INODE, chunk)).isEqualTo(truncation);
        assertThat(where.heads(PARENT, new Key(INODE, chunk - 1), 1))
                .singleElement()
                .satisfies(h -> {
                    assertThat(h.key()).isEqualTo(new Key(INODE, chunk));
                    assertThat(h.truncateSequence()).isEqualTo(truncation);
                });
    }

    private static byte[] read(SteppedStore where, int chunk) throws CorruptBlockException {
        return where.read(PARENT, INODE, chunk, 4096, PAYLOAD.length);
    }

    @Test
    void aChunkThatWasTakenInKnowsWhatItHasSeenItself() throws Exception {
        int chunk = takenIn();
        isCutBy(store, chunk, 2);
        assertThat(read(store, chunk)).isEqualTo(PAYLOAD);
        store.append(truncate(PARENT, 3, 3, 5));
        assertThat(read(store, chunk)).isEmpty();
    }

    /** As a learner's, whose copy said that it had been cut. */
    @Test
    void aCopySaysTheSame() throws Exception {
        int chunk = takenIn();
        try (SteppedStore learner = store("learner")) {
            learner.reset(PARENT, new Reset(1, 2, 2, List.of(), false));
            learner.copyInode(PARENT, INODE, store.readInode(PARENT, INODE));
            learner.copyChunk(
                    PARENT,
                    Objects.requireNonNull(
                            store.readChunk(PARENT, INODE, chunk, new Rest(0, 0, 0))));
            learner.completed(PARENT);
            isCutBy(learner, chunk, 2);
            assertThat(read(learner, chunk)).isEqualTo(PAYLOAD);
            learner.append(truncate(PARENT, 3, 3, 5));
            assertThat(read(learner, chunk)).isEmpty();
        }
    }

    /** Who made it knew all that its own group had seen. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aChunkThatIsMadeMeanwhileHasSeenNothingOfTheOtherGroup(boolean flushed) throws Exception {
        int chunk = chunk(false);
        store.append(truncate(CHILD, 1, 1, 5));
        store.append(Ops.noop(PARENT, 1, 1));
        merge(2);
        store.append(Ops.write(PARENT, 2, 3, INODE, chunk, 4096, PAYLOAD, 3, List.of()));
        carryOut();
        if (flushed) {
            store.flushAll();
        }
        isCutBy(store, chunk, 3);
        store.append(truncate(PARENT, 3, 4, 5));
        assertThat(read(store, chunk)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theTruncationOfAnInodeThatIsCopiedSaysNothingOfChunks(boolean flushed) throws Exception {
        int chunk = chunk(true);
        write(PARENT, 1, chunk, 2);
        commit(PARENT);
        if (flushed) {
            store.flushAll();
        }
        store.reset(PARENT, new Reset(1, 2, 1, List.of(), false));
        store.copyInode(PARENT, INODE, new SteppedStore.InodeCopy(false, 5));
        store.completed(PARENT);
        isCutBy(store, chunk, 2);
        store.flushAll();
        isCutBy(store, chunk, 2);
        assertThat(store.truncateSequence(PARENT, INODE, chunk + 1)).isEqualTo(5);
        store.append(truncate(PARENT, 3, 2, 5));
        assertThat(read(store, chunk)).isEmpty();
    }
}
