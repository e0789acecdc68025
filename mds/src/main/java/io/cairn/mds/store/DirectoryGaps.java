package io.cairn.mds.store;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where directories have no entries any more, as listings have found out: RocksDB walks over each
 * deleted row until compaction has removed it, and a directory that is used as a queue has
 * thousands of them for each that lives. Any thread. In memory only, and bounded.
 *
 * <p>A cursor is given out once, in ascending order, and a name keeps its own: so what is empty in
 * one state, below the cursor that is given out next, is empty in all later ones, and a gap is
 * never taken back. Earlier states may have entries there, and views of them are still read: a gap
 * is of use from the state on in which it was found.
 */
final class DirectoryGaps {
    /** Deleted rows that may be walked over each time: some 0.1 ms. */
    static final int MIN_WIDTH = 1000;

    static final int PER_DIRECTORY = 16;

    private final Map<Long, List<Gap>> directories;

    /** Cursors at or above {@code from} and below {@code to}, without entries since an index. */
    record Gap(long from, long to, long since) {}

    /** For so many directories, those that were listed last. */
    DirectoryGaps(int directories) {
        this.directories =
                new LinkedHashMap<>(16, 0.75f, true) {
                    private static final long serialVersionUID = 1;

                    @Override
                    protected boolean removeEldestEntry(Map.Entry<Long, List<Gap>> eldest) {
                        return size() > directories;
                    }
                };
    }

    /** Of one directory, ascending, apart from each other; never changed. */
    synchronized List<Gap> of(long directory) {
        return directories.getOrDefault(directory, List.of());
    }

    /** The first cursor at or above this one that may have an entry in the state of the index. */
    static long skip(List<Gap> gaps, long cursor, long index) {
        for (Gap gap : gaps) {
            if (gap.from > cursor) {
                break;
            }
            if (cursor < gap.to && gap.since <= index) {
                return gap.to;
            }
        }
        return cursor;
    }

    /**
     * In the state of the index there is no entry at or above {@code from} and below {@code to},
     * all of which were given out before. Worth being remembered only where it is wide. A negative
     * cursor, which only a client that made it up asks for, is behind all others.
     */
    void found(long directory, long from, long to, long index) {
        if (from >= 0 && to - from > MIN_WIDTH) {
            remember(directory, new Gap(from, to, index));
        }
    }

    private synchronized void remember(long directory, Gap found) {
        List<Gap> gaps = new ArrayList<>();
        Gap merged = found;
        for (Gap gap : directories.getOrDefault(directory, List.of())) {
            if (gap.to < found.from || gap.from > found.to) {
                gaps.add(gap);
            } else {
                merged =
                        new Gap(
                                Math.min(gap.from, merged.from),
                                Math.max(gap.to, merged.to),
                                Math.max(gap.since, merged.since));
            }
        }
        gaps.add(merged);
        if (gaps.size() > PER_DIRECTORY) {
            gaps.remove(narrowest(gaps));
        }
        gaps.sort(Comparator.comparingLong(Gap::from));
        directories.put(directory, List.copyOf(gaps));
    }

    private static Gap narrowest(List<Gap> gaps) {
        return gaps.stream().min(Comparator.comparingLong(g -> g.to - g.from)).orElseThrow();
    }
}
