package io.cairn.sim;

import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Cells of a chunk that show the same write. Pieces of a chunk are in order; between are holes. */
record Piece(Cells cells, PgLogEntry write) {
    private static final Comparator<Piece> ORDER = Comparator.comparingInt(p -> p.cells.first());

    /** What is shown of these cells. */
    static List<Piece> within(List<Piece> pieces, Cells cells) {
        return pieces.stream()
                .map(p -> new Piece(p.cells.with(cells), p.write))
                .filter(p -> !p.cells.isEmpty())
                .toList();
    }

    /** What is shown of all other cells. */
    static List<Piece> without(List<Piece> pieces, Cells cells) {
        List<Piece> others = new ArrayList<>(pieces.size() + 2);
        for (Piece p : pieces) {
            others.add(new Piece(p.cells.before(cells.first()), p.write));
            others.add(new Piece(p.cells.from(cells.end()), p.write));
        }
        others.removeIf(p -> p.cells.isEmpty());
        return others;
    }

    /** These, and the others where these show nothing. */
    static List<Piece> over(List<Piece> these, List<Piece> others) {
        List<Piece> all = others;
        for (Piece p : these) {
            all = without(all, p.cells);
        }
        all = new ArrayList<>(all);
        all.addAll(these);
        all.sort(ORDER);
        return all;
    }

    /** The write that each cell of a chunk shows; null in a hole. */
    static @Nullable PgLogEntry[] byCell(List<Piece> pieces) {
        @Nullable PgLogEntry[] writes = new @Nullable PgLogEntry[Cells.PER_CHUNK];
        for (Piece p : pieces) {
            Arrays.fill(writes, p.cells.first(), p.cells.end(), p.write);
        }
        return writes;
    }

    @Override
    public String toString() {
        return cells + " by " + SimDisk.identity(write);
    }
}
