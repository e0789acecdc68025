package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.wal.PayloadReader;
import io.cairn.dataserver.wal.Wal;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Takes committed operations out of the WAL into the data file and the index. The order that makes
 * a crash at any point harmless: data file written, synced; index changed; its memory flushed; only
 * then are WAL segments recycled and freed blocks reused. Its methods are called by one thread at a
 * time.
 */
final class Flusher {
    /** Blocks staged in one round: 16 MiB. */
    private static final int ROUND_BLOCKS = 4096;

    /** Operations forgotten under one hold of a PG's monitor: its owner must not wait long. */
    private static final int FORGET_AT_ONCE = 64;

    /** Operations of all PGs that are kept when they are in the index: some 3 MiB of heap. */
    private static final int RECENT_OPS = 1 << 13;

    private static final int MIN_RECENT_OPS = 16;

    /** From here on the index is flushed for the sake of the log. */
    static final double INDEX_FLUSH_FILL = 0.4;

    private static final int ROUNDS_PER_INDEX_FLUSH = 256;

    /** Some 4 MiB of heap. */
    private static final int FREED_RUNS_PER_INDEX_FLUSH = 100_000;

    private final UUID disk;
    private final ChunkIndex index;
    private final DataFile data;
    private final BlockAllocator allocator;
    private final Wal wal;
    private final Collection<PgStore> pgs;
    private final GroupSplits splits;
    private final GroupMerges merges;
    private final StagedBlocks staged = new StagedBlocks();
    private final PayloadReader payloads = new PayloadReader();
    private final FreshBlocks fresh = new FreshBlocks();
    private final FreedBlocks freed = new FreedBlocks();
    private final CarryForward carryForward;
    private final FlushStretch stretch;
    private final ArrayDeque<Published> published = new ArrayDeque<>();

    /** Shares of one split or merge each, which the index has. */
    private final List<FlushShare> turned = new ArrayList<>();

    private long appliedTrimLsn;
    private long durableTrimLsn;
    private int roundsSinceIndexFlush;
    private boolean turning;
    private volatile Set<Integer> first = Set.of();
    private volatile DiskStore.DamageListener damageListener = (pg, inode, chunk, block) -> {};

    /** Also what was deferred before is tried again: at the start, and when told. */
    private volatile boolean retryDeferred = true;

    private record Published(FlushShare share, List<LoggedOp> ops) {}

    Flusher(
            UUID disk,
            ChunkIndex index,
            DataFile data,
            BlockAllocator allocator,
            Wal wal,
            Collection<PgStore> pgs,
            GroupSplits splits,
            GroupMerges merges,
            long trimLsn) {
        this.disk = disk;
        this.index = index;
        this.data = data;
        this.allocator = allocator;
        this.wal = wal;
        this.pgs = pgs;
        this.splits = splits;
        this.merges = merges;
        this.carryForward = new CarryForward(wal, pgs);
        this.stretch = new FlushStretch(wal);
        this.appliedTrimLsn = trimLsn;
        this.durableTrimLsn = trimLsn;
    }

    /**
     * Brings a bounded number of operations into the index.
     *
     * @return whether there were any
     */
    boolean round() throws IOException {
        boolean worked = publish();
        endRound();
        return worked;
    }

    /**
     * The first half of a round: the operations are in the index, and still in the overlays of
     * their PGs. Reads show the same from now until the last of them is forgotten.
     *
     * @return whether there were any
     */
    boolean publish() throws IOException {
        endRound(); // or it would be published again
        carryForward.settle();
        long syncedLsn = wal.syncedLsn();
        List<FlushShare> shares = collect(syncedLsn);
        if (shares.isEmpty() && trimLsn(shares, syncedLsn) == appliedTrimLsn) {
            return turning;
        }
        long trimLsn;
        try (FlushRound round = new FlushRound(index, data, allocator, fresh, staged, payloads)) {
            for (FlushShare s : shares) {
                round.add(s);
                LoggedOp merge = s.turn(InodeChange.United.class);
                if (merge != null) {
                    merges.complete(s.pg(), merge, round.update());
                }
                round.update().putPgState(s.pg().stateAfter(s));
                LoggedOp split = s.turn(InodeChange.Divided.class);
                if (split != null) {
                    splits.complete(s.pg(), split, round.update());
                }
            }
            round.writeBlocks();
            trimLsn = trimLsn(shares, syncedLsn);
            round.update().putDiskState(new DiskState(disk, trimLsn, wal.segmentCount()));
            shares.forEach(s -> s.pg().entering(s));
            index.apply(round.update());
            freed.addAll(round.freed());
        }
        appliedTrimLsn = trimLsn;
        roundsSinceIndexFlush++;
        shares.stream().filter(Flusher::isTurn).forEach(turned::add);
        boolean worked = turning || stretch.end() < syncedLsn;
        for (FlushShare s : shares) {
            s.pg().forgetDeferred(s);
            published.add(new Published(s, s.next()));
            report(s);
            worked |= !s.next().isEmpty() || s.pg().turnDue(syncedLsn) != null;
        }
        return worked;
    }

    /**
     * A group that a split has made, or that has ended by a merge and begins anew, may log
     * operations only once its making is durable: a recovery that does not find the group in the
     * index takes them for the rest of a history. Once nothing is read from the log any more that
     * the index has: the flush recycles segments.
     */
    private void completeTurns() {
        if (!turned.isEmpty()) {
            flushIndex();
            for (FlushShare s : turned) {
                splits.completed(s.pg());
                merges.completed(s.pg());
            }
            turned.clear();
        }
    }

    private static boolean isTurn(FlushShare share) {
        return share.turn(InodeChange.Divided.class) != null
                || share.turn(InodeChange.United.class) != null;
    }

    private void report(FlushShare s) {
        s.damaged()
                .forEach(d -> damageListener.damaged(s.pg().pg(), d.inode(), d.chunk(), d.block()));
    }

    private void endRound() {
        forgetPublished();
        completeTurns();
    }

    private void forgetPublished() {
        boolean some = true;
        while (some) {
            some = forgetSome(FORGET_AT_ONCE);
        }
    }

    /**
     * A step of the second half of a round: an overlay forgets some of what was published.
     *
     * @return whether there was anything
     */
    boolean forgetSome(int atMost) {
        Published p = published.poll();
        if (p == null) {
            return false;
        }
        int some = Math.min(atMost, p.ops().size());
        if (some > 0) {
            int kept = Math.max(MIN_RECENT_OPS, RECENT_OPS / pgs.size());
            p.share().pg().forget(p.share(), p.ops().subList(0, some), kept);
        }
        if (some < p.ops().size()) {
            published.addFirst(new Published(p.share(), p.ops().subList(some, p.ops().size())));
        }
        return true;
    }

    /** What waits for a repair is tried again in the next round. Any thread. */
    void retryDeferred() {
        retryDeferred = true;
    }

    /** Any thread. */
    void onDamage(DiskStore.DamageListener listener) {
        damageListener = listener;
    }

    /** Whether the index's memory should be flushed now rather than by its size. */
    boolean indexFlushDue(boolean spaceShort) {
        return (appliedTrimLsn > durableTrimLsn
                        && wal.fillRatio() > INDEX_FLUSH_FILL
                        && stretch.isEmptied())
                || (spaceShort && !freed.isEmpty())
                || freed.runs() > FREED_RUNS_PER_INDEX_FLUSH
                || roundsSinceIndexFlush >= ROUNDS_PER_INDEX_FLUSH
                || carryForward.due(appliedTrimLsn, durableTrimLsn);
    }

    /** Up to here the index has all of the log, and is durable. */
    long trimmedLsn() {
        return durableTrimLsn;
    }

    boolean indexFlushPending() {
        return appliedTrimLsn > durableTrimLsn || !freed.isEmpty();
    }

    /** Makes the index durable; segments and blocks it no longer needs become free. */
    void flushIndex() {
        boolean relieve = carryForward.due(appliedTrimLsn, durableTrimLsn);
        index.flush();
        durableTrimLsn = appliedTrimLsn;
        if (relieve) {
            carryForward.move(appliedTrimLsn, payloads);
        }
        roundsSinceIndexFlush = 0;
        stretch.flushed();
        long recycled = wal.recycledBy(durableTrimLsn);
        pgs.forEach(pg -> pg.recycled(recycled));
        wal.trim(durableTrimLsn);
        fresh.clear();
        freed.releaseTo(allocator);
    }

    /** Blocks that become free with the next {@link #flushIndex}. */
    List<BlockRun> awaitingIndexFlush() {
        return freed.asList();
    }

    private List<FlushShare> collect(long syncedLsn) {
        boolean retry = retryDeferred;
        retryDeferred = false;
        turning = merges.endSome();
        stretch.begin(appliedTrimLsn, syncedLsn);
        List<FlushShare> shares = collect(stretch.end(), syncedLsn, retry);
        while (shares.isEmpty() && stretch.next(appliedTrimLsn, syncedLsn)) {
            shares = collect(stretch.end(), syncedLsn, retry);
        }
        return shares;
    }

    private List<FlushShare> collect(long upTo, long syncedLsn, boolean retry) {
        List<FlushShare> shares = new ArrayList<>();
        long free = allocator.freeBlocks();
        int budget = (int) Math.min(ROUND_BLOCKS, free);
        for (PgStore pg : turnFirst()) {
            LoggedOp turn = pg.turnDue(syncedLsn);
            if (turn != null) {
                if (moved(pg, turn)) {
                    shares.add(new FlushShare(pg, List.of(), List.of(turn), Set.of()));
                }
                continue;
            }
            FlushShare share = pg.share(pg.turns() ? syncedLsn : upTo, budget, free, retry);
            if (!share.isEmpty()) {
                turning |= pg.turns() && !share.next().isEmpty();
                shares.add(share);
                int blocks = SpaceAccount.blocksOf(share.candidates());
                budget = Math.max(0, budget - blocks);
                free -= blocks;
            }
        }
        return shares;
    }

    /** Moves some rows of a split or merge; true once all are moved. */
    private boolean moved(PgStore pg, LoggedOp turn) {
        if (turn.change() instanceof InodeChange.United) {
            GroupMerges.Progress progress = merges.move(pg, turn, freed);
            turning |= progress != GroupMerges.Progress.WAITS;
            return progress == GroupMerges.Progress.ALL;
        }
        Boolean all = splits.move(pg, turn, freed);
        turning |= all != null;
        return all != null && all;
    }

    /**
     * A group that is made by a split serves nobody before that is carried out; nor one that ends.
     */
    private List<PgStore> turnFirst() {
        Set<Integer> soon = first;
        List<PgStore> ordered = new ArrayList<>(pgs.size());
        List<PgStore> others = new ArrayList<>(pgs.size());
        pgs.forEach(p -> (p.turns() || soon.contains(p.pg()) ? ordered : others).add(p));
        ordered.addAll(others);
        return ordered;
    }

    /** See {@link DiskStore#flushFirst}. Any thread. */
    void first(Set<Integer> soon) {
        first = Set.copyOf(soon);
    }

    /**
     * Whether the last round has worked towards a split or merge, so that the next one should not
     * wait.
     */
    boolean isTurning() {
        return turning;
    }

    /** Everything up to here is in the index once these operations are. */
    private long trimLsn(List<FlushShare> shares, long syncedLsn) {
        Map<PgStore, FlushShare> byPg = new HashMap<>();
        shares.forEach(s -> byPg.put(s.pg(), s));
        long oldest = syncedLsn + 1;
        for (PgStore pg : pgs) {
            oldest = Math.min(oldest, pg.oldestLsnAfter(byPg.get(pg)));
        }
        return Math.max(appliedTrimLsn, oldest - 1);
    }
}
