package io.cairn.dataserver.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.DataOpType;
import io.cairn.common.layout.Striping;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.wal.WalRecord;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The overlay while the index changes below it: a round of the flusher is visible in the index
 * before the overlay has forgotten its operations.
 */
class PgOverlayTest {
    private static final long INODE = 5;

    /** What the index says of the chunk. */
    private long baseSequence;

    private final PgOverlay overlay =
            new PgOverlay((inode, chunk) -> new ChunkHead(1, 1, baseSequence, 1 << 20));
    private final List<LoggedOp> ops = new ArrayList<>();

    @Test
    void aCutStaysWhenTheIndexHasItAndEarlierWritesAreForgotten() {
        write(5, 0);
        write(80, 0);
        write(3, 1, new Cut(1, 76));
        write(240, 1);

        baseSequence = 1;
        overlay.removeFlushed(ops.subList(0, 1));

        assertThat(starts()).containsExactly(3, 240);
    }

    @Test
    void aCutStaysWhenTheIndexHasItAndTheTailIsDropped() {
        write(5, 0);
        write(80, 0);
        write(3, 1, new Cut(1, 76));
        write(240, 1);

        baseSequence = 1;
        overlay.removeDropped(ops.subList(3, 4));

        assertThat(starts()).containsExactly(3, 5);
    }

    @Test
    void aTruncationOfTheInodeStaysWhenTheIndexHasIt() {
        write(5, 0);
        write(80, 0);
        truncate(1, 76);
        write(240, 1);

        baseSequence = 1;
        overlay.removeFlushed(ops.subList(0, 1));

        assertThat(starts()).containsExactly(240);
        assertThat(view().baseLimit()).isEqualTo(76);
    }

    @Test
    void aLateTruncationHidesNothingNewer() {
        write(3, 1, new Cut(1, 76));
        write(80, 1);
        baseSequence = 1;
        overlay.removeFlushed(ops.subList(0, 1));
        truncate(1, 76);

        assertThat(starts()).containsExactly(80);
        assertThat(view().baseLimit()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void aLateTruncationHidesNothingNewerInAChunkThatOnlyTheIndexHas() {
        baseSequence = 1;
        truncate(1, 76);

        assertThat(view().baseLimit()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void aCutThatWasDroppedCountsNoMore() {
        write(80, 0);
        write(3, 1, new Cut(1, 76));
        overlay.removeDropped(ops.subList(1, 2));
        assertThat(truncateSequence()).isZero();

        write(3, 1, new Cut(1, 76));
        assertThat(starts()).containsExactly(3);
    }

    /** What a deletion removed was truncated, not what comes after it. */
    @Test
    void truncationsBeforeADeletionDoNotCount() {
        baseSequence = 7;
        write(80, 7);
        delete();
        write(80, 2);
        write(3, 3, new Cut(3, 76));

        assertThat(starts()).containsExactly(3);
        assertThat(truncateSequence()).isEqualTo(3);
    }

    private long truncateSequence() {
        ChunkOverlay chunk = overlay.find(INODE, 0);
        return chunk == null ? 0 : chunk.truncateSequence(0);
    }

    private View view() {
        return overlay.view(INODE, 0, 0, 1 << 20);
    }

    private List<Integer> starts() {
        return view().ranges().stream().map(Range::start).toList();
    }

    private void write(int offset, long truncateSequence, Cut... cuts) {
        add(DataOpType.WRITE, offset, truncateSequence, List.of(cuts), null);
    }

    private void truncate(long sequence, int size) {
        Striping oneChunk = new Striping(1 << 20, 1, 1 << 20);
        add(
                DataOpType.TRUNCATE_INODE,
                0,
                sequence,
                List.of(),
                new InodeChange.Truncate(INODE, sequence, size, oneChunk));
    }

    private void delete() {
        add(DataOpType.DELETE_INODES, 0, 0, List.of(), new InodeChange.Delete(new long[] {INODE}));
    }

    private void add(
            DataOpType type,
            int offset,
            long truncateSequence,
            List<Cut> cuts,
            @Nullable InodeChange change) {
        long sequence = ops.size() + 1;
        DataOp op =
                new DataOp(
                        type,
                        0,
                        1,
                        7,
                        sequence,
                        0,
                        INODE,
                        0,
                        offset,
                        1,
                        truncateSequence,
                        1,
                        cuts,
                        new int[1]);
        WalRecord record =
                new WalRecord(sequence, 1, sequence, op, false, (o, target) -> {}, 0, 1, List.of());
        LoggedOp logged = new LoggedOp(record, change, sequence);
        ops.add(logged);
        overlay.add(logged);
    }
}
