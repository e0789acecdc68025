package io.cairn.sim;

import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.sim.SimHistory.Op;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Judges operations that have their places in the order of each cell: a cell is a linearizable
 * register, and what a read shows of a chunk was there at one moment.
 */
final class Registers {
    private final Map<Key, Shown> chunks = new HashMap<>();

    /** The newest that clients know of each cell, and from which operation. */
    private static final class Shown {
        final long[] positions = new long[Cells.PER_CHUNK];
        final @Nullable Op[] by = new @Nullable Op[Cells.PER_CHUNK];
    }

    private Registers() {}

    /**
     * @param ops those that were answered or carried out
     */
    static void check(List<Op> ops) {
        new Registers().checkOrder(ops);
        Map<Key, List<Op>> ofChunks = new HashMap<>();
        for (Op op : ops) {
            if (!op.isTruncation()) {
                ofChunks.computeIfAbsent(op.key(), k -> new ArrayList<>()).add(op);
            }
        }
        ofChunks.values().forEach(Registers::checkMoments);
    }

    // ---- order --------------------------------------------------------------------------------

    /** What begins after another one has ended must not be before it. */
    private void checkOrder(List<Op> ops) {
        List<Op> ended =
                ops.stream()
                        .filter(op -> op.end != 0)
                        .sorted(Comparator.comparingLong(op -> op.end))
                        .toList();
        int next = 0;
        for (Op op : ops.stream().sorted(Comparator.comparingLong(o -> o.start)).toList()) {
            for (; next < ended.size() && ended.get(next).end < op.start; next++) {
                note(ended.get(next));
            }
            checkBehind(op);
        }
    }

    private void note(Op op) {
        op.touched()
                .forEach((key, cells) -> {
                    Shown shown = shown(key);
                    for (int cell = cells.first(); cell < cells.end(); cell++) {
                        if (shown.by[cell] == null || op.shows(cell) > shown.positions[cell]) {
                            shown.positions[cell] = op.shows(cell);
                            shown.by[cell] = op;
                        }
                    }
                });
    }

    private void checkBehind(Op op) {
        op.touched()
                .forEach((key, cells) -> {
                    Shown shown = shown(key);
                    for (int cell = cells.first(); cell < cells.end(); cell++) {
                        long least = shown.positions[cell] + (op.isRead() ? 0 : 1);
                        @Nullable Op first = shown.by[cell];
                        if (first != null && op.position(cell) < least) {
                            throw new AssertionError(
                                    "not linearizable in cell %d: %s and then %s"
                                            .formatted(cell, first.at(cell), op.at(cell)));
                        }
                    }
                });
    }

    private Shown shown(Key key) {
        return chunks.computeIfAbsent(key, k -> new Shown());
    }

    // ---- moments ------------------------------------------------------------------------------

    /**
     * A read of a chunk is as new as the newest write that it shows: it shows all that was written
     * to its cells up to there, and was not cut by what it, or its chunk, knew.
     */
    private static void checkMoments(List<Op> ops) {
        long[] newest = new long[Cells.PER_CHUNK];
        Comparator<Op> order = Comparator.comparingLong(Op::newestWrite);
        for (Op op : ops.stream().sorted(order.thenComparing(Op::isRead)).toList()) {
            if (op.isWrite()) {
                Arrays.fill(newest, op.cells.first(), op.cells.end(), op.newestWrite());
            } else {
                checkMoment(op, newest);
            }
        }
    }

    private static void checkMoment(Op read, long[] newest) {
        for (int cell = read.cells.first(); cell < read.cells.end(); cell++) {
            if (read.position(cell) < newest[cell]) {
                throw new AssertionError(
                        "not of one moment: %s shows a write at %s, and in cell %d not the one at %s"
                                .formatted(
                                        read.at(cell),
                                        SimHistory.place(read.newestWrite()),
                                        cell,
                                        SimHistory.place(newest[cell])));
            }
        }
    }
}
