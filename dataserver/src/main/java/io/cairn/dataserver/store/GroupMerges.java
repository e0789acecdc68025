package io.cairn.dataserver.store;

import io.cairn.common.data.Merge;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import io.cairn.dataserver.chunk.InodeChange.United;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.MergeRows;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.disk.BlockAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Carries out the merges of placement groups that are logged on a disk: once a merge is committed,
 * all before it is in the index, and so is all of the group that is taken in, that group's rows
 * move, and then the histories of both are written in one batch: the one goes on, the other one has
 * ended. Whoever owns the group that ends has let go of it before.
 *
 * <p>Also ends groups that other disks have merged, once their content was removed.
 *
 * <p>For the flusher, except for what says otherwise.
 */
final class GroupMerges {
    /** Rows of the index in one batch, and batches in one round of the flusher. */
    private static final int BATCH_ROWS = 4096;

    private static final int ROUND_BATCHES = 16;

    private final ChunkIndex index;
    private final Map<Integer, PgStore> pgs;
    private final SpaceAccount space;
    private final BlockAllocator allocator;
    private int batchRows = BATCH_ROWS;
    private int roundBatches = ROUND_BATCHES;

    /** Groups whose owners have let go of them. */
    private final Set<Integer> released = ConcurrentHashMap.newKeySet();

    /** Groups without content which are to end, and who is told. */
    private final Map<Integer, Runnable> ending = new ConcurrentHashMap<>();

    /** By the group that goes on. */
    private final Map<Integer, Running> running = new HashMap<>();

    private static final class Running {
        final Merge merge;
        final MergeRows rows;

        Running(Merge merge, MergeRows rows) {
            this.merge = merge;
            this.rows = rows;
        }
    }

    /** What became of a try to move rows. */
    enum Progress {
        /** The group that is taken in is not ready: its log, or its owner. */
        WAITS,
        /** There is more to move. */
        MORE,
        ALL
    }

    GroupMerges(
            ChunkIndex index,
            Map<Integer, PgStore> pgs,
            SpaceAccount space,
            BlockAllocator allocator) {
        this.index = index;
        this.pgs = pgs;
        this.space = space;
        this.allocator = allocator;
    }

    /** So small that a crash can come between any two. */
    void inBatches(int rows, int perRound) {
        batchRows = rows;
        roundBatches = perRound;
    }

    // ---- any thread ---------------------------------------------------------------------------

    /** See {@link DiskStore#hasMerge}. */
    boolean has(int parent, int child, long epoch) {
        return isLogged(parent, child) || isDone(child, epoch);
    }

    private boolean isLogged(int parent, int child) {
        PgStore into = pgs.get(parent);
        return into != null && into.mergesLogged(false).stream().anyMatch(m -> m.child() == child);
    }

    /** See {@link DiskStore#isMerged}. */
    boolean isDone(int child, long epoch) {
        PgStore store = pgs.get(child);
        return store != null && store.isEnded() && store.lastEpoch() > epoch;
    }

    /** See {@link DiskStore#mayBeTakenIn}. */
    boolean mayBeTakenIn(int child) {
        return pgs.values().stream()
                .filter(PgStore::turns)
                .anyMatch(p -> p.mergesLogged(false).stream().anyMatch(m -> m.child() == child));
    }

    /** See {@link DiskStore#isTakenIn}. */
    boolean isTakenIn(int child) {
        return released.contains(child) || toRelease().contains(child);
    }

    /** See {@link DiskStore#toRelease}. */
    List<Integer> toRelease() {
        List<Integer> children = new ArrayList<>(0);
        for (PgStore parent : pgs.values()) {
            if (parent.turns()) {
                for (Merge merge : parent.mergesLogged(true)) {
                    if (isWhole(merge) && !released.contains(merge.child())) {
                        children.add(merge.child());
                    }
                }
            }
        }
        return children;
    }

    /**
     * Everything of the group that ends is in the index; or there is nothing of it. So are the
     * no-ops and repairs behind its end that may be flushed: in the index after the rows have moved
     * they would bring it back.
     */
    private boolean isWhole(Merge merge) {
        PgStore child = pgs.get(merge.child());
        if (child == null || child.isEnded()) {
            return true;
        }
        child.commit(merge.childSequence()); // as all members in sync have it
        return child.isFlushedTo(merge.childSequence()) && !child.turns();
    }

    /** See {@link DiskStore#release}. */
    void release(int child) {
        PgStore store = pgs.get(child);
        if (store != null) {
            store.close();
        }
        released.add(child);
    }

    /** See {@link DiskStore#end}. */
    void end(int pg, Runnable done) {
        PgStore store = pgs.get(pg);
        if (store != null) {
            store.close();
        }
        ending.put(pg, done);
    }

    // ---- the flusher --------------------------------------------------------------------------

    /** Moves some rows of the merge that is due. */
    Progress move(PgStore parent, LoggedOp op, FreedBlocks freed) {
        Running now = running.get(parent.pg());
        if (now == null) {
            Merge merge = mergeOf(op);
            if (!released.contains(merge.child()) || !isWhole(merge)) {
                return Progress.WAITS;
            }
            PgStore child = pgs.get(merge.child());
            boolean keeps = child != null && !child.isEnded() && child.isComplete();
            MergeRows rows =
                    new MergeRows(index, merge, op.record().epoch(), op.record().sequence(), keeps);
            now = new Running(merge, rows);
            running.put(parent.pg(), now);
        }
        for (int i = 0; i < roundBatches; i++) {
            if (!now.rows.move(batchRows, freed::add)) {
                return Progress.ALL;
            }
        }
        return Progress.MORE;
    }

    /**
     * All rows are moved: with this update the group has ended in the index. Before the state of
     * the other one is made, which answers for both from now on.
     */
    void complete(PgStore parent, LoggedOp op, Update update) {
        Running now = running.get(parent.pg());
        if (now == null) {
            return;
        }
        PgStore child = pgs.get(now.merge.child());
        if (now.rows.keeps() && child != null) {
            parent.unite(child.answeredInIndex());
        } else {
            parent.lacks(op.sequence());
        }
        if (child != null) {
            update.putPgState(child.endedState());
            update.removeScrubs(child.pg());
        }
    }

    /** The update is durable. */
    void completed(PgStore parent) {
        Running done = running.remove(parent.pg());
        if (done != null) {
            @Nullable PgStore child = pgs.get(done.merge.child());
            if (child != null) {
                ended(child);
            }
            released.remove(done.merge.child());
        }
    }

    private void ended(PgStore store) {
        PgLogState state = store.endedState();
        store.abandonRest().forEach(r -> allocator.release(r.first(), r.count()));
        pgs.put(store.pg(), new PgStore(state, index, space));
    }

    /**
     * Ends groups that are to end, and have nothing left to be flushed.
     *
     * @return whether there were any
     */
    boolean endSome() {
        List<PgStore> now = new ArrayList<>(0);
        for (int pg : ending.keySet()) {
            PgStore store = pgs.get(pg);
            if (store == null || store.isFlushed()) {
                now.add(store == null ? new PgStore(PgLogState.empty(pg), index, space) : store);
            }
        }
        if (now.isEmpty()) {
            return false;
        }
        try (Update update = new Update()) {
            for (PgStore store : now) {
                update.putPgState(store.endedState());
                update.removeScrubs(store.pg());
            }
            index.apply(update);
        }
        index.flush();
        for (PgStore store : now) {
            ended(store);
            Runnable done = ending.remove(store.pg());
            if (done != null) {
                done.run();
            }
        }
        return true;
    }

    private static Merge mergeOf(LoggedOp op) {
        if (op.change() instanceof United u) {
            return u.merge();
        }
        throw new IllegalArgumentException(op.op() + " is no merge");
    }
}
