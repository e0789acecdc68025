package io.cairn.dataserver.scrub;

import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Lists of heads that several disks gave behind the same place, and the range that all of them
 * cover. A list of fewer heads than were asked for ends with the PG.
 */
final class HeadLists {
    private final List<SortedMap<Key, ContentHead>> lists = new ArrayList<>();
    private final @Nullable Key end;

    /**
     * @param max heads that were asked for
     */
    HeadLists(List<List<ContentHead>> given, int max) {
        Key first = null;
        for (List<ContentHead> list : given) {
            if (list.size() >= max) {
                Key last = list.getLast().key();
                first = first == null || last.compareTo(first) < 0 ? last : first;
            }
        }
        end = first;
        for (List<ContentHead> list : given) {
            SortedMap<Key, ContentHead> heads = new TreeMap<>();
            for (ContentHead head : list) {
                if (first == null || head.key().compareTo(first) <= 0) {
                    heads.put(head.key(), head);
                }
            }
            lists.add(heads);
        }
    }

    /** Up to here they can be compared; null: to the end of the PG. */
    @Nullable Key end() {
        return end;
    }

    /** What the first of them has in the range, in order. */
    Collection<ContentHead> first() {
        return lists.getFirst().values();
    }

    /** What any of them has, in order. */
    TreeSet<Key> keys() {
        TreeSet<Key> keys = new TreeSet<>();
        lists.forEach(l -> keys.addAll(l.keySet()));
        return keys;
    }

    /** Where the list of this number differs from the first one. */
    List<Key> different(int list) {
        List<Key> different = new ArrayList<>();
        for (Key key : keys()) {
            if (!Objects.equals(lists.getFirst().get(key), lists.get(list).get(key))) {
                different.add(key);
            }
        }
        return different;
    }
}
