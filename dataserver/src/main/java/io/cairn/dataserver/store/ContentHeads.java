package io.cairn.dataserver.store;

import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * Lists what a PG has. Keys are taken from the overlay first and then from the index, so that one
 * that the flusher moves meanwhile is not missed; then each is looked up. Any thread.
 */
final class ContentHeads {
    private final ChunkIndex index;

    ContentHeads(ChunkIndex index) {
        this.index = index;
    }

    /** See {@link LearnerStore#heads}. */
    List<ContentHead> after(PgStore store, Key after, int max) {
        List<ContentHead> heads = new ArrayList<>();
        List<Split> splits = store.splitsLogged();
        List<Merge> merges = store.mergesLogged(false);
        Key last = after;
        boolean more = true;
        while (more && heads.size() < max) {
            NavigableSet<Key> keys = store.loggedAfter(last, max);
            NavigableSet<Key> stored = storedAfter(store.pg(), last, max);
            more = keys.size() == max || stored.size() == max;
            NavigableSet<Key> known = known(keys, stored, max);
            for (Key key : known) {
                ContentHead head = store.content().head(key);
                if (heads.size() < max
                        && exists(head)
                        && !isTaken(key, splits)
                        && !isTakenIn(key, merges)) {
                    heads.add(head);
                }
            }
            last = known.isEmpty() ? last : known.last();
        }
        return heads;
    }

    /** Whether it is another group's already, and perhaps not here any more in a moment. */
    private static boolean isTaken(Key key, List<Split> splits) {
        return !key.isInode() && splits.stream().anyMatch(s -> s.takes(key.inode(), key.chunk()));
    }

    /** Whether it is another group's still, and perhaps here in a moment. */
    private static boolean isTakenIn(Key key, List<Merge> merges) {
        return !key.isInode() && merges.stream().anyMatch(m -> m.takes(key.inode(), key.chunk()));
    }

    /** Those behind the end of a list that is cut short may not be the next ones. */
    private static NavigableSet<Key> known(
            NavigableSet<Key> logged, NavigableSet<Key> stored, int max) {
        NavigableSet<Key> keys = new TreeSet<>(logged);
        keys.addAll(stored);
        if (logged.size() == max) {
            keys.removeIf(k -> k.compareTo(logged.last()) > 0);
        }
        if (stored.size() == max) {
            keys.removeIf(k -> k.compareTo(stored.last()) > 0);
        }
        return keys;
    }

    private NavigableSet<Key> storedAfter(int pg, Key after, int max) {
        NavigableSet<Key> keys = new TreeSet<>();
        index.heads(
                pg,
                after.inode(),
                after.chunk(),
                (inode, chunk) -> {
                    Key key = new Key(inode, chunk);
                    if (key.compareTo(after) > 0) {
                        keys.add(key);
                    }
                    return keys.size() < max;
                });
        return keys;
    }

    private static boolean exists(ContentHead head) {
        return head.key().isInode() ? head.truncateSequence() > 0 : head.lengthBytes() > 0;
    }
}
