package io.cairn.dataserver.store;

import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import io.cairn.dataserver.chunk.InodeChange.Divided;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.SplitRows;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Carries out the splits of placement groups that are logged on a disk: once a split is committed
 * and all before it is in the index, rows move to the group that it makes, and then the histories
 * of both are written in one batch. Until then there is no such group here, unless it was {@link
 * #begin begun} for other reasons; then it is what counts, and the rows are removed.
 *
 * <p>For the flusher, except for {@link #begin}.
 */
final class GroupSplits {
    /** Rows of the index in one batch, and batches in one round of the flusher. */
    private static final int BATCH_ROWS = 4096;

    private static final int ROUND_BATCHES = 16;

    private final ChunkIndex index;
    private final Map<Integer, PgStore> pgs;
    private final SpaceAccount space;
    private int batchRows = BATCH_ROWS;
    private int roundBatches = ROUND_BATCHES;

    /** By the group that is split. */
    private final Map<Integer, SplitRows> running = new HashMap<>();

    GroupSplits(ChunkIndex index, Map<Integer, PgStore> pgs, SpaceAccount space) {
        this.index = index;
        this.pgs = pgs;
        this.space = space;
    }

    /** So small that a crash can come between any two. */
    void inBatches(int rows, int perRound) {
        batchRows = rows;
        roundBatches = perRound;
    }

    /** See {@link DiskStore#begin}. Any thread. */
    synchronized boolean begin(int pg, int parent, boolean parentIsHere) {
        if (pgs.containsKey(pg)) {
            return true;
        }
        PgStore from = pgs.get(parent);
        if (from != null && from.makes(pg, !parentIsHere)) {
            return false;
        }
        pgs.put(pg, new PgStore(PgStore.empty(pg), index, space));
        return true;
    }

    /**
     * Moves some rows of the split that is due.
     *
     * @return whether all are moved
     */
    boolean move(PgStore parent, LoggedOp op, FreedBlocks freed) {
        SplitRows rows = running.get(parent.pg());
        if (rows == null) {
            rows = new SplitRows(index, splitOf(op), isNew(splitOf(op).child()));
            running.put(parent.pg(), rows);
        }
        for (int i = 0; i < roundBatches; i++) {
            if (!rows.move(batchRows, freed::add)) {
                return true;
            }
        }
        return false;
    }

    /** From now on it cannot begin otherwise: the split is committed. */
    private synchronized boolean isNew(int pg) {
        return !pgs.containsKey(pg);
    }

    /** All rows are moved: with this update the group is there. */
    void complete(PgStore parent, LoggedOp op, Update update) {
        SplitRows rows = running.get(parent.pg());
        if (rows != null && rows.keeps()) {
            update.putPgState(parent.stateOf(splitOf(op), op));
        }
    }

    /** The update is made. */
    void completed(PgStore parent, LoggedOp op) {
        SplitRows rows = running.remove(parent.pg());
        if (rows != null && rows.keeps()) {
            Split split = splitOf(op);
            pgs.put(split.child(), new PgStore(parent.stateOf(split, op), index, space));
        }
    }

    private static Split splitOf(LoggedOp op) {
        if (op.change() instanceof Divided d) {
            return d.split();
        }
        throw new IllegalArgumentException(op.op() + " is no split");
    }

    /** The split of a share, which has nothing else; null if it has none. */
    static @Nullable LoggedOp of(FlushShare share) {
        return !share.next().isEmpty() && share.next().getFirst().change() instanceof Divided
                ? share.next().getFirst()
                : null;
    }
}
