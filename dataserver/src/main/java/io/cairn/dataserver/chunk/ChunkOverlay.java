package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
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
     */
    public record View(List<Range> ranges, int baseLimit, int end) {
        public static final View EMPTY = new View(List.of(), Integer.MAX_VALUE, 0);

        /** End of the base that still shows. */
        public int visibleBase(int baseLength) {
            return Math.min(baseLength, baseLimit);
        }

        /** Length of the chunk over a base of that length. */
        public int length(int baseLength) {
            return Math.max(visibleBase(baseLength), end);
        }
    }

    private final int chunk;
    private final LongSupplier baseTruncateSequence;
    private final ArrayDeque<LoggedOp> ops = new ArrayDeque<>(2);
    private final TreeMap<Integer, Range> ranges = new TreeMap<>();
    private int baseLimit = Integer.MAX_VALUE;
    private int end;
    private long truncateSequence;
    private boolean cutsSeen;

    /**
     * @param baseTruncateSequence of the chunk in the index; asked only when a cut comes
     */
    public ChunkOverlay(int chunk, LongSupplier baseTruncateSequence) {
        this.chunk = chunk;
        this.baseTruncateSequence = baseTruncateSequence;
    }

    public void add(LoggedOp op) {
        ops.add(op);
        apply(op);
    }

    /** Forgets operations that are in the index now; true if none is left. */
    boolean removeUpTo(long order) {
        boolean rebuild = false;
        while (!ops.isEmpty() && ops.getFirst().order() <= order) {
            LoggedOp op = ops.removeFirst();
            rebuild |= cutsSeen;
            if (!rebuild) {
                removeRanges(op);
            }
        }
        if (rebuild) {
            rebuild();
        }
        return ops.isEmpty();
    }

    /** Forgets operations that were dropped; true if none is left. */
    boolean removeFrom(long order) {
        if (ops.removeIf(o -> o.order() >= order)) {
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
        return new View(part, baseLimit, end);
    }

    /** Everything. */
    public View view() {
        return new View(new ArrayList<>(ranges.values()), baseLimit, end);
    }

    /** The newest truncation among the operations here, 0 if none. */
    public long truncateSequence() {
        return truncateSequence;
    }

    /** The newest operation of the PG's history; null if only repairs are here. */
    public @Nullable ChunkVersion version() {
        Iterator<LoggedOp> newestFirst = ops.descendingIterator();
        while (newestFirst.hasNext()) {
            LoggedOp o = newestFirst.next();
            if (!o.isRepair()) {
                return new ChunkVersion(o.record().epoch(), o.sequence());
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
        baseLimit = Integer.MAX_VALUE;
        end = 0;
        truncateSequence = 0;
        cutsSeen = false;
        ops.forEach(this::apply);
    }

    private void apply(LoggedOp logged) {
        DataOp op = logged.op();
        InodeChange change = logged.change();
        cutsSeen |= change != null || op.truncateSequence() > 0;
        if (change instanceof InodeChange.Truncate t) {
            cut(t.sequence(), t.cut(chunk));
        } else if (change != null) {
            cutTo(change.cut(chunk));
        } else if (op.type() == DataOpType.WRITE) {
            for (DataOp.Cut c : op.cuts()) {
                cut(c.sequence(), c.lengthBytes());
            }
            truncateSequence = Math.max(truncateSequence, op.truncateSequence());
            write(new Range(logged, op.offset(), op.offset() + op.length()));
        }
    }

    private void cut(long sequence, int length) {
        if (sequence > Math.max(truncateSequence, baseTruncateSequence.getAsLong())) {
            truncateSequence = sequence;
            cutTo(length);
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
