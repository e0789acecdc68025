package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.wal.Completeness;
import java.util.List;
import org.junit.jupiter.api.Test;

class ContentComparisonTest {
    private static ContentHead chunk(long inode, int chunk, long sequence) {
        return new ContentHead(new Key(inode, chunk), new ChunkVersion(1, sequence), 0, 8);
    }

    private static ContentHead inode(long inode, long truncateSequence) {
        return new ContentHead(new Key(inode, Key.INODE), ChunkVersion.NONE, truncateSequence, 0);
    }

    private static ContentPage page(boolean last, ContentHead... heads) {
        return new ContentPage(1, List.of(heads), last);
    }

    private static List<Key> keys(ContentComparison c) {
        return c.different().stream().map(ContentHead::key).toList();
    }

    @Test
    void whatWasChangedSinceAndWhatIsOnlyAtTheLearnerIsDifferent() {
        ContentComparison c =
                new ContentComparison(
                        page(true, chunk(1, 0, 10), chunk(1, 1, 11), chunk(3, 0, 12)),
                        page(true, chunk(1, 0, 10), chunk(1, 1, 9), chunk(2, 0, 8)),
                        Completeness.upTo(10),
                        false);
        assertThat(keys(c)).containsExactly(new Key(1, 1), new Key(2, 0), new Key(3, 0));
        assertThat(c.end()).isNull();
    }

    @Test
    void theSameVersionDoesNotMakeTheSameContent() {
        // The learner may have written a part of the chunk over what was old already.
        ContentComparison c =
                new ContentComparison(
                        page(true, chunk(1, 0, 11)),
                        page(true, chunk(1, 0, 11)),
                        Completeness.upTo(10),
                        false);
        assertThat(keys(c)).containsExactly(new Key(1, 0));
    }

    @Test
    void whatWasCopiedBeforeIsComparedWithWhatItHadThen() {
        Completeness learner = new Completeness(10, 2, 0, 20);
        ContentPage own =
                page(true, chunk(1, 0, 15), chunk(1, 1, 21), chunk(2, 0, 20), chunk(2, 1, 11));
        ContentPage theirs = page(true, chunk(1, 0, 15), chunk(2, 0, 20));
        assertThat(keys(new ContentComparison(own, theirs, learner, false)))
                .containsExactly(new Key(1, 1), new Key(2, 1));
    }

    @Test
    void ofADistrustedLearnerEverythingIsCompared() {
        ContentPage own = page(true, chunk(1, 0, 5), chunk(1, 1, 6), chunk(2, 0, 7));
        ContentPage theirs = page(true, chunk(1, 0, 5), chunk(1, 1, 4));
        assertThat(new ContentComparison(own, theirs, Completeness.upTo(10), false).different())
                .isEmpty();
        assertThat(keys(new ContentComparison(own, theirs, Completeness.upTo(10), true)))
                .containsExactly(new Key(1, 1), new Key(2, 0));
    }

    @Test
    void inodesAsAWholeAreComparedByTheirTruncation() {
        ContentComparison c =
                new ContentComparison(
                        page(true, inode(1, 5), inode(2, 6), inode(3, 7)),
                        page(true, inode(1, 5), inode(2, 5), inode(4, 1)),
                        Completeness.NOTHING,
                        false);
        assertThat(keys(c))
                .containsExactly(
                        new Key(2, Key.INODE), new Key(3, Key.INODE), new Key(4, Key.INODE));
    }

    @Test
    void onlyTheRangeThatBothListsCoverIsCompared() {
        ContentComparison c =
                new ContentComparison(
                        page(false, chunk(1, 0, 1), chunk(5, 0, 1)),
                        page(false, chunk(2, 0, 1), chunk(3, 0, 1)),
                        Completeness.NOTHING,
                        false);
        assertThat(keys(c)).containsExactly(new Key(1, 0), new Key(2, 0), new Key(3, 0));
        assertThat(c.end()).isEqualTo(new Key(3, 0));
    }

    @Test
    void anEndedListCoversEverything() {
        ContentComparison c =
                new ContentComparison(
                        page(false, chunk(1, 0, 1), chunk(2, 0, 1)),
                        page(true, chunk(4, 0, 1)),
                        Completeness.upTo(9),
                        false);
        assertThat(c.different()).isEmpty();
        assertThat(c.end()).isEqualTo(new Key(2, 0));
    }
}
