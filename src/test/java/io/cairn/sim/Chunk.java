package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.List;

/**
 * What there is of a chunk: the operation that wrote each of its cells last. Immutable.
 *
 * @param sequence of the last operation on it
 * @param truncated newest truncation that it has seen
 * @param lengthBytes 0 of one that there is not
 */
record Chunk(long sequence, long truncated, int lengthBytes, List<Piece> pieces) {
    static final Chunk NONE = new Chunk(0, 0, 0, List.of());

    Chunk {
        pieces = List.copyOf(pieces);
    }

    /** Cuts that it has not seen come first. */
    Chunk write(PgLogEntry e) {
        return written(e, List.of());
    }

    /** The same by a planted fault: what another range has written before stays. */
    Chunk writeUnder(PgLogEntry e) {
        Cells cells = Cells.of(e.op());
        List<Piece> stays =
                Piece.within(pieces, cells).stream()
                        .filter(p -> !Cells.of(p.write().op()).equals(cells))
                        .toList();
        return written(e, stays);
    }

    private Chunk written(PgLogEntry e, List<Piece> over) {
        DataOp op = e.op();
        long seen = truncated;
        int cutTo = Integer.MAX_VALUE;
        for (DataOp.Cut cut : op.cuts()) {
            if (cut.sequence() > seen) {
                seen = cut.sequence();
                cutTo = Math.min(cutTo, cut.lengthBytes());
            }
        }
        List<Piece> wrote = List.of(new Piece(Cells.of(op), e));
        return new Chunk(
                e.sequence(),
                Math.max(seen, op.truncateSequence()),
                Math.max(Math.min(lengthBytes, cutTo), op.offset() + op.length()),
                Piece.over(Piece.over(over, wrote), kept(cutTo)));
    }

    Chunk truncate(InodeChange.Truncate cut, int number, long by) {
        int to = cut.sequence() > truncated ? cut.cut(number) : InodeChange.NO_CUT;
        return new Chunk(
                by, Math.max(truncated, cut.sequence()), Math.min(lengthBytes, to), kept(to));
    }

    private List<Piece> kept(int cutTo) {
        return Piece.within(pieces, Cells.ALL.before(cutTo / Cells.BYTES));
    }

    /** It was changed by this operation, and its content is what it was. */
    Chunk as(long by) {
        return new Chunk(by, truncated, lengthBytes, pieces);
    }

    ContentHead head(Key key) {
        return new ContentHead(key, new ChunkVersion(1, sequence), truncated, lengthBytes);
    }
}
