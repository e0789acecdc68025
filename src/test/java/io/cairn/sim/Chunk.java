package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.Map;
import java.util.TreeMap;

/**
 * What there is of a chunk: the operation that wrote each of its blocks last. Immutable.
 *
 * @param sequence of the last operation on it
 * @param truncated newest truncation that it has seen
 * @param lengthBytes 0 of one that there is not
 */
record Chunk(long sequence, long truncated, int lengthBytes, Map<Integer, PgLogEntry> blocks) {
    static final Chunk NONE = new Chunk(0, 0, 0, Map.of());

    Chunk {
        blocks = Map.copyOf(blocks);
    }

    /** Cuts that it has not seen come first. */
    Chunk write(PgLogEntry e) {
        DataOp op = e.op();
        long seen = truncated;
        int cutTo = Integer.MAX_VALUE;
        for (DataOp.Cut cut : op.cuts()) {
            if (cut.sequence() > seen) {
                seen = cut.sequence();
                cutTo = Math.min(cutTo, cut.lengthBytes());
            }
        }
        Map<Integer, PgLogEntry> then = kept(cutTo);
        then.put(op.offset() / SimClient.BLOCK, e);
        int end = op.offset() + op.length();
        return new Chunk(
                e.sequence(),
                Math.max(seen, op.truncateSequence()),
                Math.max(Math.min(lengthBytes, cutTo), end),
                then);
    }

    Chunk truncate(InodeChange.Truncate cut, int number, long by) {
        int to = cut.sequence() > truncated ? cut.cut(number) : InodeChange.NO_CUT;
        return new Chunk(
                by, Math.max(truncated, cut.sequence()), Math.min(lengthBytes, to), kept(to));
    }

    private Map<Integer, PgLogEntry> kept(int cutTo) {
        Map<Integer, PgLogEntry> kept = new TreeMap<>(blocks);
        kept.keySet().removeIf(block -> block * SimClient.BLOCK >= cutTo);
        return kept;
    }

    /** It was changed by this operation, and its content is what it was. */
    Chunk as(long by) {
        return new Chunk(by, truncated, lengthBytes, blocks);
    }

    ContentHead head(Key key) {
        return new ContentHead(key, new ChunkVersion(1, sequence), truncated, lengthBytes);
    }
}
