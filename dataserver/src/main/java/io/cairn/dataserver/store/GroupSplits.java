package io.cairn.dataserver.store;

import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import io.cairn.dataserver.chunk.InodeChange.Divided;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.SplitRows;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
    private final Map<Integer, Running> running = new HashMap<>();

    /** Groups that the splits under way make, and the splits; any thread. */
    private final Map<Integer, Split> making = new ConcurrentHashMap<>();

    private static final class Running {
        final Split split;
        final SplitRows rows;

        /** What the index says of the group, once it does. */
        @Nullable PgLogState made;

        Running(Split split, SplitRows rows) {
            this.split = split;
            this.rows = rows;
        }
    }

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
        PgStore present = pgs.get(pg);
        if (present != null && !present.isEnded()) {
            return true;
        }
        PgStore from = pgs.get(parent);
        if (making.containsKey(pg) || (from != null && from.makes(pg, !parentIsHere))) {
            return false;
        }
        if (present == null) {
            pgs.put(pg, new PgStore(PgStore.empty(pg), index, space));
        } else {
            present.beginAnew();
        }
        return true;
    }

    /** See {@link DiskStore#hasSplit}. Any thread. */
    boolean has(int parent, Split split) {
        PgStore from = pgs.get(parent);
        Split running = making.get(split.child());
        return (from != null && from.splitsLogged().stream().anyMatch(s -> makes(s, split)))
                || (running != null && makes(running, split))
                || (isThere(split.child()) && lastEpoch(split.child()) >= split.epoch());
    }

    /** Not so if it is a split that made an earlier group of that number, which was merged. */
    private static boolean makes(Split logged, Split split) {
        return logged.child() == split.child() && logged.epoch() >= split.epoch();
    }

    private boolean isThere(int pg) {
        PgStore store = pgs.get(pg);
        return store != null && !store.isEnded();
    }

    /** Whether what is here of the group is of an earlier one of that number, which was merged. */
    private boolean isOfAnother(Split split) {
        long last = lastEpoch(split.child());
        return last > 0 && last < split.epoch();
    }

    private long lastEpoch(int pg) {
        PgStore store = pgs.get(pg);
        return store == null || store.isEnded() ? 0 : store.lastEpoch();
    }

    /**
     * Moves some rows of the split that is due.
     *
     * @return whether all are moved; null if it has to wait until what was merged has gone
     */
    @Nullable Boolean move(PgStore parent, LoggedOp op, FreedBlocks freed) {
        Running now = running.get(parent.pg());
        if (now == null) {
            Split split = splitOf(op);
            if (isOfAnother(split)) {
                return null;
            }
            now = new Running(split, new SplitRows(index, split, make(split)));
            running.put(parent.pg(), now);
        }
        for (int i = 0; i < roundBatches; i++) {
            if (!now.rows.move(batchRows, freed::add)) {
                return true;
            }
        }
        return false;
    }

    /** From now on it cannot begin otherwise; false if it has. */
    private synchronized boolean make(Split split) {
        return !isThere(split.child()) && making.putIfAbsent(split.child(), split) == null;
    }

    /** All rows are moved: with this update the group is in the index. */
    void complete(PgStore parent, LoggedOp op, Update update) {
        Running now = running.get(parent.pg());
        if (now != null && now.rows.keeps()) {
            PgStore before = pgs.get(now.split.child());
            now.made = parent.stateOf(now.split, op, before == null ? 0 : before.steps());
            update.putPgState(now.made);
        }
    }

    /** The update is durable: the group is here. */
    synchronized void completed(PgStore parent) {
        Running done = running.remove(parent.pg());
        if (done != null && done.made != null) {
            pgs.put(done.split.child(), new PgStore(done.made, index, space));
            making.remove(done.split.child());
        }
    }

    private static Split splitOf(LoggedOp op) {
        if (op.change() instanceof Divided d) {
            return d.split();
        }
        throw new IllegalArgumentException(op.op() + " is no split");
    }
}
