package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.wal.Completeness;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What of a learner's content has to be copied, of the range that two lists cover: the chunks that
 * were changed at the primary after the learner's content was complete, and those that are only at
 * the learner. Of inodes as a whole there is no such time; they are copied where they differ. So
 * are all chunks of a learner that was found to lack something.
 */
final class ContentComparison {
    private final TreeMap<Key, ContentHead> different = new TreeMap<>();
    private final @Nullable Key end;

    /**
     * @param own of the primary
     * @param theirs of the learner, behind the same place
     * @param learner how much the learner has
     * @param distrusted whether the learner may differ in what was changed before, too
     */
    ContentComparison(
            ContentPage own, ContentPage theirs, Completeness learner, boolean distrusted) {
        Key ownEnd = end(own);
        Key theirEnd = end(theirs);
        boolean theirsIsFirst =
                ownEnd == null || (theirEnd != null && theirEnd.compareTo(ownEnd) < 0);
        end = theirsIsFirst ? theirEnd : ownEnd;
        TreeMap<Key, ContentHead> there = new TreeMap<>();
        theirs.heads().stream().filter(this::covered).forEach(h -> there.put(h.key(), h));
        for (ContentHead here : own.heads()) {
            if (covered(here)) {
                ContentHead theirHead = there.remove(here.key());
                boolean same =
                        here.key().chunk() == Key.INODE
                                ? theirHead != null
                                        && theirHead.truncateSequence() == here.truncateSequence()
                                : here.version().sequence() <= upTo(learner, here.key())
                                        && (!distrusted || here.equals(theirHead));
                if (!same) {
                    different.put(here.key(), theirHead == null ? none(here.key()) : theirHead);
                }
            }
        }
        different.putAll(there);
    }

    /** Sequence up to which the learner has what there is of the key. */
    static long upTo(Completeness learner, Key key) {
        return learner.of(key.inode(), key.chunk());
    }

    private static ContentHead none(Key key) {
        return new ContentHead(key, ChunkVersion.NONE, 0, 0);
    }

    /** Where the list ends; null if it has everything. */
    private static @Nullable Key end(ContentPage page) {
        return page.last() || page.heads().isEmpty() ? null : page.heads().getLast().key();
    }

    private boolean covered(ContentHead head) {
        Key to = end;
        return to == null || head.key().compareTo(to) <= 0;
    }

    /** What the learner has of it, in order: inodes come before their chunks. */
    List<ContentHead> different() {
        return List.copyOf(different.values());
    }

    /** Up to here the lists were compared; null if that is everything. */
    @Nullable Key end() {
        return end;
    }
}
