package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What logged operations make of one chunk, as a layer over what the index says (the base): ranges
 * that lie in the WAL, newest winning; the length the base was cut to; zeros elsewhere. Used under
 * the lock of its owner.
 */
public final class ChunkOverlay {
    /** Bytes [start, end) of the chunk are those of the write. */
    public record Range(LoggedOp source, int start, int end) {}

    /**
     * The part of an overlay that a read needs.
     *
     * @param baseLimit bytes of the base at or beyond it are zeros
     * @param end of the data written since the last cut below it
     * @param cut whether something was cut: blocks of the ranges may have lost bytes to an
     *     operation that is none of their sources
     */
    public record View(List<Range> ranges, int baseLimit, int end, boolean cut) {
        public static final View EMPTY = new View(List.of(), Integer.MAX_VALUE, 0, false);

        /** End of the base that still shows. */
        public int visibleBase(int baseLength) {
            return Math.min(baseLength, baseLimit);
        }

        /** Length of the chunk over a base of that length. */
        public int length(int baseLength) {
            return Math.max(visibleBase(baseLength), end);
        }

        /**
         * The newest operation that may have changed a block that these ranges are in.
         *
         * @param sequence of the last operation on the chunk
         */
        public long changed(List<Range> block, long sequence) {
            long newest = cut ? sequence : 0;
            for (Range r : block) {
                newest = Math.max(newest, r.source().sequence());
            }
            return newest;
        }
    }

    /**
     * What is known here of truncations of a chunk.
     *
     * @param sequence of the newest one
     * @param indexCounts whether the index may know a newer one
     */
    public record Truncated(long sequence, boolean indexCounts) {
        public static final Truncated NOTHING = new Truncated(0, true);

        /** The newest truncation of the chunk, over what the index says. */
        public long over(long base) {
            return indexCounts ? Math.max(sequence, base) : sequence;
        }
    }

    private static final int NO_CUT = InodeChange.NO_CUT;

    /**
     * An operation and which of its cuts count. That is decided once, when the operation is added:
     * the index has nothing newer then. Later the index may contain the operation itself while it
     * is still here, and would call its cut an old one.
     *
     * @param cutTo length to which it cuts the chunk before it writes
     * @param truncateSequence newest truncation of the chunk after it, as far as known here
     * @param indexCounts whether the index, which was not asked yet, may know a newer one
     */
    private record Judged(LoggedOp op, int cutTo, long truncateSequence, boolean indexCounts) {}

    private final int chunk;
    private final LongSupplier baseTruncateSequence;
    private final ArrayDeque<Judged> ops = new ArrayDeque<>(2);
    private final TreeMap<Integer, Range> ranges = new TreeMap<>();
    private int baseLimit = NO_CUT;
    private int end;
    private boolean isCut;

    /**
     * @param baseTruncateSequence of the chunk in the index, 0 if it is not there; asked only when
     *     a cut comes
     */
    public ChunkOverlay(int chunk, LongSupplier baseTruncateSequence) {
        this.chunk = chunk;
        this.baseTruncateSequence = baseTruncateSequence;
    }

    /** Operations are added in the order of the history, whatever of it the index has. */
    public void add(LoggedOp op) {
        Judged judged = judge(op);
        ops.add(judged);
        apply(judged);
    }

    /** Forgets operations that are in the index now; true if none is left. */
    boolean removeUpTo(long order) {
        boolean removed = false;
        while (!ops.isEmpty() && ops.getFirst().op().order() <= order) {
            LoggedOp op = ops.removeFirst().op();
            removed = true;
            if (!isCut) {
                removeRanges(op);
            }
        }
        if (removed && isCut) {
            rebuild();
        }
        return ops.isEmpty();
    }

    /** Forgets operations that were dropped; true if none is left. */
    boolean removeFrom(long order) {
        if (ops.removeIf(j -> j.op().order() >= order)) {
            rebuild();
        }
        return ops.isEmpty();
    }

    /** Forgets these operations; true if none is left. */
    boolean remove(List<LoggedOp> some) {
        if (ops.removeIf(j -> some.contains(j.op()))) {
            rebuild();
        }
        return ops.isEmpty();
    }

    public View view(int from, int to) {
        List<Range> part = new ArrayList<>();
        Map.Entry<Integer, Range> before = ranges.floorEntry(from);
        int first = before != null && before.getValue().end() > from ? before.getKey() : from;
        for (Range r : ranges.subMap(first, to).values()) {
            part.add(new Range(r.source(), Math.max(from, r.start()), Math.min(to, r.end())));
        }
        return new View(part, baseLimit, end, isCut);
    }

    /** Everything. */
    public View view() {
        return new View(new ArrayList<>(ranges.values()), baseLimit, end, isCut);
    }

    /**
     * The newest truncation of the chunk, 0 if none.
     *
     * @param base what the index says
     */
    public long truncateSequence(long base) {
        return truncated().over(base);
    }

    /** As {@link #truncateSequence}, for an index that is read later. */
    public Truncated truncated() {
        Judged last = ops.peekLast();
        return last == null
                ? Truncated.NOTHING
                : new Truncated(last.truncateSequence(), last.indexCounts());
    }

    /** What was done last to the chunk; null if only what leaves its version is here. */
    public @Nullable ChunkVersion version() {
        Iterator<Judged> newestFirst = ops.descendingIterator();
        while (newestFirst.hasNext()) {
            ChunkVersion version = newestFirst.next().op().version();
            if (version != null) {
                return version;
            }
        }
        return null;
    }

    /** Where nothing was cut, a write's ranges lie within it and the last one ends the data. */
    private void removeRanges(LoggedOp logged) {
        DataOp op = logged.op();
        ranges.subMap(op.offset(), op.offset() + op.length())
                .values()
                .removeIf(r -> r.source() == logged);
        end = ranges.isEmpty() ? 0 : ranges.lastEntry().getValue().end();
    }

    private void rebuild() {
        ranges.clear();
        baseLimit = NO_CUT;
        end = 0;
        isCut = false;
        ops.forEach(this::apply);
    }

    private Judged judge(LoggedOp logged) {
        if (logged.step() instanceof Copy copy) {
            return judge(logged, copy);
        }
        return switch (logged.change()) {
            case null -> judge(logged, logged.op().cuts());
            case InodeChange.Truncate t ->
                    judge(logged, List.of(new DataOp.Cut(t.sequence(), t.cut(chunk))));
            // Truncations of what is deleted do not count any more, those in the index neither.
            case InodeChange.Delete d -> new Judged(logged, d.cut(chunk), 0, false);
            case InodeChange.Copied c ->
                    c.clears()
                            ? new Judged(logged, c.cut(chunk), c.truncateSequence(), false)
                            : unchanged(logged, NO_CUT);
            case InodeChange.Divided _ -> judge(logged, List.of());
            case InodeChange.United _ -> judge(logged, List.of());
        };
    }

    /**
     * What the end of a copy says of truncations stands for all that was known of the chunk.
     * Before, the chunk is what it was: an operation must not cut it anew.
     */
    private Judged judge(LoggedOp logged, Copy copy) {
        CopyEnd end = copy.end();
        int cutTo = copy.begins() ? copy.cutTo() : NO_CUT;
        return end == null
                ? unchanged(logged, cutTo)
                : new Judged(logged, cutTo, end.truncateSequence(), false);
    }

    /** As to what the chunk has seen of truncations. */
    private Judged unchanged(LoggedOp logged, int cutTo) {
        Judged last = ops.peekLast();
        return last == null
                ? new Judged(logged, cutTo, 0, true)
                : new Judged(logged, cutTo, last.truncateSequence(), last.indexCounts());
    }

    /** Cuts count that are newer than all the chunk has seen. */
    private Judged judge(LoggedOp logged, List<DataOp.Cut> cuts) {
        Judged last = ops.peekLast();
        long seen = last == null ? 0 : last.truncateSequence();
        boolean indexCounts = last == null || last.indexCounts();
        if (indexCounts && !cuts.isEmpty()) {
            seen = Math.max(seen, baseTruncateSequence.getAsLong());
            indexCounts = false;
        }
        int cutTo = NO_CUT;
        for (DataOp.Cut c : cuts) {
            if (c.sequence() > seen) {
                seen = c.sequence();
                cutTo = Math.min(cutTo, c.lengthBytes());
            }
        }
        return new Judged(
                logged, cutTo, Math.max(seen, logged.op().truncateSequence()), indexCounts);
    }

    private void apply(Judged judged) {
        if (judged.cutTo() != NO_CUT) {
            isCut = true;
            cutTo(judged.cutTo());
        }
        DataOp op = judged.op().op();
        if (op.type() == DataOpType.WRITE) {
            write(new Range(judged.op(), op.offset(), op.offset() + op.length()));
        }
        if (judged.op().step() instanceof Copy copy && copy.end() != null) {
            isCut = true; // the end is not that of a range
            end = Math.max(end, copy.end().lengthBytes());
        }
    }

    private void cutTo(int length) {
        baseLimit = Math.min(baseLimit, length);
        end = Math.min(end, length);
        clear(length, Integer.MAX_VALUE);
    }

    private void write(Range range) {
        if (range.start() < range.end()) {
            clear(range.start(), range.end());
            ranges.put(range.start(), range);
            end = Math.max(end, range.end());
        }
    }

    private void clear(int from, int to) {
        Map.Entry<Integer, Range> before = ranges.lowerEntry(from);
        if (before != null && before.getValue().end() > from) {
            Range r = before.getValue();
            ranges.put(r.start(), new Range(r.source(), r.start(), from));
            if (r.end() > to) {
                ranges.put(to, new Range(r.source(), to, r.end()));
            }
        }
        Map.Entry<Integer, Range> last = ranges.lowerEntry(to);
        if (last != null && last.getKey() >= from && last.getValue().end() > to) {
            Range r = last.getValue();
            ranges.put(to, new Range(r.source(), to, r.end()));
        }
        ranges.subMap(from, to).clear();
    }
}
