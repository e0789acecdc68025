package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.InodeChange.Divided;
import io.cairn.dataserver.chunk.InodeChange.United;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.LoggedReset;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.store.CarryForward.Again;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.HeldOps.Held;
import io.cairn.dataserver.wal.Completeness;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import org.jspecify.annotations.Nullable;

/**
 * One PG on one disk: its operations that are in the WAL and not in the index, and its history.
 * Appended to by the PG's owner, read and flushed by other threads; the monitor guards all state,
 * and the WAL's order of the PG's records is that of their sequences because they are appended
 * under it.
 */
final class PgStore {
    /** Epoch starts kept: peering needs to tell histories apart only as far as members diverge. */
    private static final int MAX_EPOCH_STARTS = 256;

    /** Blocks of large writes, which only the index has to be told of, in one round: 256 MiB. */
    private static final int MAX_PLACED_BLOCKS = 1 << 16;

    /** Files deleted in one round, each of which may free many blocks. */
    private static final int MAX_DELETED_INODES = 256;

    private static final long NO_ORPHAN = Long.MAX_VALUE;

    private final int pg;
    private final SpaceAccount space;
    private final ChunkIndex index;
    private final PgOverlay overlay;
    private final ArrayDeque<LoggedOp> unflushed = new ArrayDeque<>();
    private final RecentOps recent = new RecentOps();
    private final List<EpochStart> epochStarts;

    /** Of the operations in the index, and those on their way; guarded by itself. */
    private final AnsweredTable flushedAnswers;

    private final HeldOps held;
    private final LearnerState learner;
    private final PgContent content;
    private final DeferredOps deferred = new DeferredOps();

    private final DeferredFound deferredFound;

    /** LSNs of the first records that are void, of drops that are not durable yet. Any thread. */
    private final NavigableSet<Long> dropping = new ConcurrentSkipListSet<>();

    private long lastEpoch;
    private long lastSequence;
    private long committed;
    private long flushedEpoch;
    private long flushed;
    private long orphan = NO_ORPHAN;
    private long nextOrder;

    /** Of the last reset: what the log has of the time before does not lead to what follows. */
    private long resetAt;

    /** The overlay is filled when all of the log was told. */
    private boolean recovering;

    /** Order of the newest repair behind a split or merge that was tried. */
    private long lastRepair = Long.MIN_VALUE;

    /** Whether there is a split or a merge among what is not flushed. */
    private volatile boolean turns;

    /** See {@link #isEnded}. */
    private volatile boolean ended;

    /** It is about to be taken in by another PG, or removed: nothing is logged any more. */
    private boolean closed;

    /** Of all records in the log; what is older than the PG's next life is not more. */
    private long highestEpoch;

    /** Order of the newest operation that the index may show. */
    private volatile long lastInIndex = -1;

    PgStore(PgLogState state, ChunkIndex index, SpaceAccount space) {
        this.pg = state.pg();
        this.space = space;
        this.index = index;
        this.held = new HeldOps(space);
        this.overlay =
                new PgOverlay((inode, chunk) -> index.headPromptly(state.pg(), inode, chunk));
        this.learner = new LearnerState(state);
        this.content = new PgContent(this, index);
        this.epochStarts = new ArrayList<>(state.epochStarts());
        this.deferredFound = new DeferredFound(state.deferred());
        this.flushedAnswers = new AnsweredTable(state.answered());
        this.lastEpoch = state.lastEpoch();
        this.lastSequence = state.flushedSequence();
        this.committed = state.flushedSequence();
        this.flushedEpoch = state.lastEpoch();
        this.flushed = state.flushedSequence();
        this.highestEpoch = state.lastEpoch();
        this.ended = isEnded(state);
    }

    /** No other state is of an epoch, and of no operation. */
    static boolean isEnded(PgLogState state) {
        return state.lastEpoch() > 0 && state.lastSequence() == 0 && state.content().isNothing();
    }

    static PgLogState empty(int pg) {
        return PgLogState.empty(pg);
    }

    int pg() {
        return pg;
    }

    // ---- the owner

    synchronized void append(Wal wal, DirectWrites direct, PgLogEntry entry, Runnable durable) {
        check(entry);
        InodeChange change = InodeChange.of(entry.op(), entry.payload());
        boolean large = direct.takes(entry.op());
        if (large || !held.isEmpty()) {
            hold(direct, entry, change, large, durable);
            return;
        }
        WalRecord record =
                wal.append(entry.epoch(), entry.sequence(), entry.op(), entry.payload(), durable);
        add(record, change);
    }

    private void hold(
            DirectWrites direct,
            PgLogEntry entry,
            @Nullable InodeChange change,
            boolean large,
            Runnable durable) {
        HeldPayload payload = new HeldPayload(entry.payload().retainedSlice());
        LoggedOp op =
                add(
                        new WalRecord(
                                WalRecord.NOT_LOGGED,
                                entry.epoch(),
                                entry.sequence(),
                                entry.op(),
                                false,
                                payload,
                                0,
                                entry.payload().readableBytes(),
                                List.of()),
                        change);
        Held h = new Held(op, payload, durable, !large);
        held.add(h);
        if (large) {
            direct.submit(this, h);
        }
    }

    /** See {@link HeldOps#written}. */
    synchronized boolean written(Wal wal, Held h, List<BlockRun> extents) {
        return held.written(wal, h, extents);
    }

    /** The disk is closed without writing anything more. */
    synchronized void abandon() {
        held.abandon();
    }

    /** Blocks of the data file that large writes take which are not in the index. */
    synchronized List<BlockRun> loggedExtents() {
        List<BlockRun> extents = new ArrayList<>();
        deferred.ops().forEach(o -> extents.addAll(o.record().extents()));
        unflushed.forEach(o -> extents.addAll(o.record().extents()));
        return extents;
    }

    synchronized void commit(long sequence) {
        committed = Math.max(committed, Math.min(sequence, lastSequence));
    }

    synchronized void dropTail(Wal wal, BlockAllocator allocator, long lastKept, Runnable done) {
        if (lastKept < committed) {
            throw new IllegalArgumentException(
                    "PG "
                            + pg
                            + ": sequence "
                            + committed
                            + " is committed, cannot keep only up to "
                            + lastKept);
        }
        held.drop(lastKept);
        long firstDropped = oldestLsnAfterSequence(lastKept);
        dropping.add(firstDropped);
        List<BlockRun> extents = drop(lastKept);
        wal.appendDropTail(
                pg,
                lastKept,
                () -> {
                    dropping.remove(firstDropped);
                    extents.forEach(r -> allocator.release(r.first(), r.count()));
                    done.run();
                });
    }

    // ---- the owner, of a learner

    /** See {@link LearnerStore#reset}. */
    synchronized void reset(
            Wal wal,
            long epoch,
            long sequence,
            List<Answered> answered,
            boolean distrusted,
            Runnable done) {
        if (lastSequence != committed || sequence < committed || epoch < lastEpoch) {
            throw new IllegalArgumentException(
                    "PG %d: (%d, %d), committed up to %d, cannot go on from (%d, %d)"
                            .formatted(pg, lastEpoch, lastSequence, committed, epoch, sequence));
        }
        Completeness left = learner.content().afterReset(lastSequence, distrusted);
        log(wal, drafts(epoch, sequence).reset(left, answered), done);
        goOn(epoch, sequence);
    }

    /** See {@link LearnerStore#discard}. */
    synchronized void discard(Wal wal, Runnable done) {
        if (lastSequence != committed) {
            throw new IllegalArgumentException(
                    "PG %d: %d, committed up to %d: is not discarded"
                            .formatted(pg, lastSequence, committed));
        }
        log(wal, drafts(lastEpoch, lastSequence).reset(Completeness.NOTHING, List.of()), done);
        goOn(lastEpoch, lastSequence);
    }

    /** See {@link LearnerStore#copiedTo}. */
    synchronized void copiedTo(Wal wal, ContentHead.Key key) {
        checkIncomplete();
        log(wal, drafts(lastEpoch, lastSequence).copiedTo(key), () -> {});
    }

    /** See {@link LearnerStore#completed}. */
    synchronized void completed(Wal wal, Runnable done) {
        log(wal, drafts(lastEpoch, lastSequence).completed(), done);
    }

    /** Logs a piece of a chunk, see {@link LearnerStore#copy}. */
    synchronized void copy(Wal wal, ChunkCopy piece, Runnable durable) {
        checkIncomplete();
        List<StepDrafts.Draft> drafts = drafts(lastEpoch, lastSequence).copy(piece);
        drafts.forEach(d -> log(wal, d, d == drafts.getLast() ? durable : () -> {}));
    }

    /** See {@link LearnerStore#copyInode} and {@link LearnerStore#removeContent}. */
    synchronized void copyInode(Wal wal, InodeChange.Copied change, Runnable durable) {
        checkIncomplete();
        log(wal, drafts(lastEpoch, lastSequence).copyInode(change), durable);
    }

    /** A piece that comes late would be laid over what is right. */
    private void checkIncomplete() {
        if (isComplete()) {
            throw new IllegalArgumentException("PG " + pg + " is complete: nothing is copied");
        }
    }

    private StepDrafts drafts(long epoch, long sequence) {
        return new StepDrafts(pg, learner, epoch, sequence, nextOrder);
    }

    /** Behind all that is logged, or waits to be. */
    private void log(Wal wal, StepDrafts.Draft step, Runnable durable) {
        held.add(new Held(step.op(), step.payload(), durable, true));
        held.logReady(wal);
        nextOrder = step.op().order() + 1;
        addLogged(step.op());
    }

    private void goOn(long epoch, long sequence) {
        lastSequence = sequence;
        committed = sequence;
        resetAt = sequence;
        begin(epoch);
    }

    // ---- recovery

    /** From now on it is told what the log holds, until {@link #endRecovery}. */
    PgStore recovering() {
        recovering = true;
        return this;
    }

    /**
     * An operation found in the WAL; those already in the index are passed over. Of operations that
     * were dropped the first ones may be trimmed: what follows such a hole must be void. Of an
     * epoch before that of the index are only those that were dropped, and what is left of a PG of
     * the same number that was merged into another one.
     */
    synchronized void recovered(WalRecord record, @Nullable InodeChange change) {
        highestEpoch = Math.max(highestEpoch, record.epoch());
        LoggedOp op = new LoggedOp(record, change, 0);
        if (record.repair()) {
            recoveredRepair(record);
        } else if (record.step() != null) {
            recoveredStep(op, record.step());
        } else if (deferredFound.take(op)) {
            return;
        } else if (record.epoch() < flushedEpoch) {
            return;
        } else if (record.sequence() == lastSequence + 1) {
            add(record, change);
            orphan = record.sequence() == orphan ? NO_ORPHAN : orphan;
        } else if (record.sequence() > flushed && !isAgain(record)) {
            orphan = Math.min(orphan, record.sequence());
        }
    }

    /** Whether it is one of those that are here, logged once more, see {@link CarryForward}. */
    private boolean isAgain(WalRecord record) {
        long epoch = 0;
        for (EpochStart s : epochStarts) {
            epoch = s.firstSequence() <= record.sequence() ? s.epoch() : epoch;
        }
        return record.sequence() <= lastSequence && (epoch == 0 || epoch == record.epoch());
    }

    /**
     * A step is in the index with all before it, or it was dropped: then it does not follow the
     * last operation.
     */
    private void recoveredStep(LoggedOp found, LearnerStep step) {
        learner.met(step);
        WalRecord record = found.record();
        boolean follows = record.sequence() == lastSequence && record.epoch() == lastEpoch;
        if (!deferredFound.take(found) && !learner.isInIndex(step) && follows) {
            addLogged(new LoggedOp(record, found.change(), nextOrder++));
        }
    }

    /** A reset found in the WAL. */
    synchronized void recoveredReset(
            WalRecord record, LearnerStep.Reset step, List<Answered> answered) {
        highestEpoch = Math.max(highestEpoch, record.epoch());
        learner.met(step);
        if (learner.isInIndex(step)) {
            return;
        }
        if (record.sequence() < lastSequence) {
            orphan = Math.min(orphan, record.sequence());
        } else {
            addLogged(new LoggedReset(record, nextOrder++, answered));
            goOn(record.epoch(), record.sequence());
        }
    }

    /**
     * The operation and the step that it follows must be the newest ones. Then it may be in the
     * index already, and laying the same bytes over it once more does nothing; what follows
     * something that was dropped or overtaken by the index is void. Nor does it matter whether it
     * was logged once more.
     */
    private void recoveredRepair(WalRecord record) {
        boolean follows = record.sequence() == lastSequence && record.epoch() == lastEpoch;
        if (follows && record.op().number() == learner.newest()) {
            addLogged(new LoggedOp(record, null, nextOrder++));
        }
    }

    /** What is in the index was logged after the drop, or was kept by it. */
    synchronized void recoveredDropTail(long lastKept) {
        drop(Math.max(lastKept, flushed));
        if (lastKept < orphan) {
            orphan = NO_ORPHAN;
        }
    }

    /**
     * Everything of the log was told. Throws DiskOpenException if the history has a hole.
     *
     * <p>Deferred operations may have been found in any order, see {@link CarryForward}. They come
     * first: nothing that is not in the index yet is older.
     */
    synchronized void endRecovery() throws DiskOpenException {
        if (orphan != NO_ORPHAN) {
            throw new DiskOpenException(
                    String.format(
                            "PG %x: the log has sequence %d after %d; %s",
                            pg, orphan, lastSequence, DiskOpenException.KEEP_AS_IT_IS));
        }
        List<LoggedOp> first = deferredFound.all(pg);
        long order = -first.size();
        for (LoggedOp found : first) {
            LoggedOp op = new LoggedOp(found.record(), found.change(), order++);
            deferred.add(op);
            overlay.add(op);
            space.promise(op);
        }
        unflushed.forEach(overlay::add);
        recovering = false;
    }

    // ---- reading

    /**
     * The overlay as it was at one moment.
     *
     * @param lastOrder of the newest operation logged by then
     */
    record Look(View view, long lastOrder) {}

    synchronized Look look(long inode, int chunk, int from, int to) {
        return new Look(overlay.view(inode, chunk, from, to), nextOrder - 1);
    }

    /**
     * A chunk, or an inode as a whole.
     *
     * @param ranges whether the view has them
     */
    synchronized PgContent.Logged lookAt(Key key, boolean ranges) {
        return PgContent.Logged.of(overlay, key, ranges, nextOrder - 1);
    }

    /** See {@link PgContent#loggedAfter}. */
    synchronized NavigableSet<Key> loggedAfter(Key after, int max) {
        return PgContent.loggedAfter(overlay, after, max);
    }

    /** Chunks of the inode behind this one that are written in the overlay. */
    synchronized NavigableSet<Integer> loggedChunks(long inode, int after) {
        return new TreeSet<>(new TreeSet<>(overlay.chunks(inode)).tailSet(after, false));
    }

    PgContent content() {
        return content;
    }

    /**
     * Whether the index, which was read after the look, can have shown nothing that was logged
     * after the look. Such an operation would show only where the look has no older one. An
     * operation that both have does no harm: the look lays it over the index once more.
     */
    boolean fitsIndex(Look look) {
        return lastInIndex <= look.lastOrder();
    }

    PgLogState state() {
        List<LoggedOp> logged;
        PgLogState positions;
        synchronized (this) {
            logged = List.copyOf(unflushed);
            positions =
                    new PgLogState(
                            pg,
                            lastEpoch,
                            lastSequence,
                            committed,
                            flushed,
                            List.copyOf(epochStarts),
                            List.of(),
                            List.of(),
                            learner.content(),
                            0);
        }
        // Looked at last: what was flushed since then is in both.
        AnsweredTable answered;
        synchronized (flushedAnswers) {
            answered = new AnsweredTable(flushedAnswers.toList());
        }
        for (LoggedOp o : logged) {
            answered.add(o);
        }
        return positions.withAnswered(answered.toList());
    }

    /**
     * Operations after the sequence. Throws FsException ENODATA if some of them are in the index,
     * and not kept beside it.
     */
    synchronized List<LoggedOp> after(long sequence) {
        long begin = Math.max(recent.begin(flushed), resetAt);
        if (sequence < begin) {
            throw new FsException(
                    Errno.ENODATA, "PG " + pg + ": the log begins after sequence " + begin);
        }
        List<LoggedOp> ops = new ArrayList<>();
        recent.addTo(ops, sequence);
        for (LoggedOp o : unflushed) {
            if (o.sequence() > sequence && o.isOperation()) {
                ops.add(o);
            }
        }
        return ops;
    }

    // ---- repair

    /** The last operation that changed the chunk, by overlay or index. */
    synchronized ChunkVersion version(long inode, int chunk) {
        return version(overlay.find(inode, chunk), index.headPromptly(pg, inode, chunk));
    }

    private static ChunkVersion version(@Nullable ChunkOverlay o, @Nullable ChunkHead head) {
        return PgContent.version(o == null ? null : o.version(), head);
    }

    /**
     * Logs the content of a damaged block, ordered with the chunk's operations: it is as of the
     * last one, and void if the chunk was changed since the content was read, elsewhere.
     */
    synchronized RepairOutcome repair(Wal wal, BlockRepair r, Runnable durable) {
        ChunkOverlay logged = overlay.find(r.inode(), r.chunk());
        Stored stored = index.readPromptly(pg, r.inode(), r.chunk(), r.block(), r.block());
        if (closed || !version(logged, stored.head()).equals(r.version())) {
            return RepairOutcome.CHANGED;
        }
        int from = r.block() * BlockCrc.BLOCK_BYTES;
        int to = from + BlockCrc.BLOCK_BYTES;
        View view = logged == null ? View.EMPTY : logged.view(from, to);
        int length = Math.min(to, view.length(stored.length())) - from;
        if (length <= 0 || r.isHole(view, stored)) {
            return RepairOutcome.CHANGED; // it was deleted, or cut off, and so is no more damaged
        }
        if (length != r.content().readableBytes() || !r.matches(view, stored)) {
            return lacks(r) ? RepairOutcome.LACKING : RepairOutcome.DIFFERENT;
        }
        if (space.admissibleBytes() < BlockCrc.BLOCK_BYTES && !r.inPlace(stored)) {
            return RepairOutcome.NO_SPACE;
        }
        DataOp write = r.write(pg, learner.newest());
        log(wal, drafts(lastEpoch, lastSequence).repair(write, r.content()), durable);
        return RepairOutcome.LOGGED;
    }

    /** Whether an operation up to the repair's version may have changed the block, but not here. */
    private boolean lacks(BlockRepair r) {
        return learner.content().of(r.inode(), r.chunk()) < r.version().sequence();
    }

    /** See {@link DiskStore#overwrites}. */
    synchronized boolean overwrites(DataOp op) {
        int first = op.offset() / BlockCrc.BLOCK_BYTES;
        int last = (op.offset() + op.length() - 1) / BlockCrc.BLOCK_BYTES;
        int from = first * BlockCrc.BLOCK_BYTES;
        int to = (last + 1) * BlockCrc.BLOCK_BYTES;
        return op.cuts().isEmpty()
                && PresentBlocks.has(
                        overlay.view(op.inode(), op.chunk(), from, to),
                        index.readPromptly(pg, op.inode(), op.chunk(), first, last),
                        first,
                        last);
    }

    // ---- the flusher

    /**
     * What the flusher may take: the next committed operations whose records are durable, and those
     * that were deferred if one of them may help.
     *
     * @param maxBlocks that the next ones may need together
     * @param freeBlocks that all may need together
     * @param retry whether the deferred ones are tried anyway
     */
    synchronized FlushShare share(long syncedLsn, int maxBlocks, long freeBlocks, boolean retry) {
        List<LoggedOp> next = flushable(syncedLsn, maxBlocks);
        if (deferred.isEmpty()) {
            return new FlushShare(this, List.of(), next, Set.of());
        }
        if (turns && next.isEmpty()) {
            List<LoggedOp> repairs = repairsBehind();
            boolean some = retry || !repairs.isEmpty();
            List<LoggedOp> all = new ArrayList<>(some ? deferred.ops() : List.of());
            all.addAll(repairs);
            return new FlushShare(
                    this, all, List.of(), some ? Set.of() : Set.copyOf(deferred.inodes()));
        }
        boolean tried =
                (retry || next.stream().anyMatch(deferred::mayBeCuredBy))
                        && SpaceAccount.blocksOf(next) + SpaceAccount.blocksOf(deferred.ops())
                                <= freeBlocks;
        return tried
                ? new FlushShare(this, List.copyOf(deferred.ops()), next, Set.of())
                : new FlushShare(this, List.of(), next, Set.copyOf(deferred.inodes()));
    }

    /**
     * A split or merge waits for what is deferred, and that perhaps for a repair, which is logged
     * behind it. It may be laid over its block twice. None where no other was logged since.
     */
    private List<LoggedOp> repairsBehind() {
        List<LoggedOp> repairs = new ArrayList<>(0);
        for (LoggedOp o : unflushed) {
            if (o.isRepair() && DeferredOps.touches(o, deferred.inodes())) {
                repairs.add(o);
            }
        }
        long newest = repairs.isEmpty() ? lastRepair : repairs.getLast().order();
        boolean tried = newest == lastRepair;
        lastRepair = newest;
        return tried ? List.of() : repairs;
    }

    private List<LoggedOp> flushable(long syncedLsn, int maxBlocks) {
        List<LoggedOp> ops = new ArrayList<>();
        int blocks = 0;
        int placed = 0;
        int deleted = 0;
        for (LoggedOp o : unflushed) {
            blocks += SpaceAccount.blocksOf(o);
            if (o.sequence() > committed
                    || isTurn(o)
                    || o.record().lsn() > syncedLsn
                    || blocks > maxBlocks
                    || placed > MAX_PLACED_BLOCKS
                    || deleted >= MAX_DELETED_INODES) {
                break;
            }
            placed += o.isDirect() ? o.op().blockCrcs().length : 0;
            deleted +=
                    o.change() instanceof InodeChange.Truncate || o.change() == null
                            ? 0
                            : o.change().inodes().length;
            ops.add(o);
        }
        return ops;
    }

    // ---- splits and merges

    private static boolean isTurn(LoggedOp o) {
        return o.change() instanceof Divided || o.change() instanceof United;
    }

    /** Whether a split or a merge is logged here that is not carried out. Any thread. */
    boolean turns() {
        return turns;
    }

    /**
     * The split or merge that is to be carried out now: all before it is in the index. Else null.
     */
    synchronized @Nullable LoggedOp turnDue(long syncedLsn) {
        if (!turns || !deferred.isEmpty()) {
            return null;
        }
        LoggedOp first = unflushed.peekFirst();
        return first != null
                        && isTurn(first)
                        && first.sequence() <= committed
                        && first.record().lsn() <= syncedLsn
                ? first
                : null;
    }

    /**
     * Whether a split that makes the group is logged here, and not carried out.
     *
     * @param committed whether only if it is known to be committed
     */
    synchronized boolean makes(int child, boolean onlyCommitted) {
        for (LoggedOp o : turns ? unflushed : List.<LoggedOp>of()) {
            if (o.change() instanceof Divided d && d.split().child() == child) {
                return !onlyCommitted || o.sequence() <= committed;
            }
        }
        return false;
    }

    /** The splits that are logged and not carried out: what they take is not the PG's any more. */
    synchronized List<Split> splitsLogged() {
        List<Split> logged = new ArrayList<>(0);
        for (LoggedOp o : turns ? unflushed : List.<LoggedOp>of()) {
            if (o.change() instanceof Divided d) {
                logged.add(d.split());
            }
        }
        return logged;
    }

    /**
     * What the index is to say of the group that a split makes, once the split is carried out: its
     * history begins there, and what was answered before is answered by it too. Where content is
     * missing, all of it is to be copied.
     */
    synchronized PgLogState stateOf(Split split, LoggedOp op, long steps) {
        List<Answered> answered;
        synchronized (flushedAnswers) {
            answered = flushedAnswers.toList();
        }
        boolean complete = learner.contentAfter(List.of()).isAll();
        return new PgLogState(
                split.child(),
                split.epoch(),
                op.sequence(),
                op.sequence(),
                op.sequence(),
                List.of(new EpochStart(split.epoch(), op.sequence())),
                answered,
                List.of(),
                complete ? Completeness.ALL : Completeness.NOTHING,
                steps);
    }

    /** The merges that are logged and not carried out, oldest first. */
    synchronized List<Merge> mergesLogged(boolean onlyCommitted) {
        List<Merge> logged = new ArrayList<>(0);
        for (LoggedOp o : turns ? unflushed : List.<LoggedOp>of()) {
            if (o.change() instanceof United u && (!onlyCommitted || o.sequence() <= committed)) {
                logged.add(u.merge());
            }
        }
        return logged;
    }

    /** Sequence of the oldest merge that is logged and not carried out; 0 if there is none. */
    synchronized long firstMerge() {
        for (LoggedOp o : turns ? unflushed : List.<LoggedOp>of()) {
            if (o.change() instanceof United) {
                return o.sequence();
            }
        }
        return 0;
    }

    /** See {@link DiskStore#isFlushedWhole}. */
    synchronized boolean isFlushedWhole(long epoch) {
        return unflushed.isEmpty()
                && deferred.isEmpty()
                && lastSequence == flushed
                && lastSequence > 0
                && lastEpoch >= epoch
                && isComplete();
    }

    /** Everything up to the operation is in the index, and nothing else is on its way there. */
    synchronized boolean isFlushedTo(long sequence) {
        return flushed >= sequence && isFlushed();
    }

    /** Whether nothing is left in the log but what was never committed. */
    synchronized boolean isFlushed() {
        LoggedOp first = unflushed.peekFirst();
        return deferred.isEmpty()
                && dropping.isEmpty()
                && (first == null || first.sequence() > committed);
    }

    synchronized boolean isComplete() {
        return learner.content().isAll();
    }

    /** From now on nothing is logged. */
    synchronized void close() {
        closed = true;
    }

    /** Whether it has nothing: what it had is another PG's, or was removed. */
    boolean isEnded() {
        return ended;
    }

    /** What it is now: a PG that begins, of which nothing is here. */
    synchronized void beginAnew() {
        ended = false;
    }

    synchronized long lastEpoch() {
        return lastEpoch;
    }

    /**
     * What the index is to say of it once it has ended. A later group of the same number begins in
     * a later epoch: so records of this one are never taken for its own.
     */
    synchronized PgLogState endedState() {
        return new PgLogState(
                pg,
                Math.max(highestEpoch, lastEpoch) + 1,
                0,
                0,
                0,
                List.of(),
                List.of(),
                List.of(),
                Completeness.NOTHING,
                learner.newestGiven());
    }

    /**
     * It has ended: what is left, all of it never committed, is of no use, and the blocks of that
     * are free.
     */
    synchronized List<BlockRun> abandonRest() {
        held.drop(committed);
        return drop(committed);
    }

    /** Steps of learners that were ever given here. */
    synchronized long steps() {
        return learner.newestGiven();
    }

    /** What was answered by a PG that is taken in is answered here from now on. */
    void unite(List<Answered> answered) {
        synchronized (flushedAnswers) {
            flushedAnswers.unite(answered);
        }
    }

    /** Of the operations in the index. */
    List<Answered> answeredInIndex() {
        synchronized (flushedAnswers) {
            return flushedAnswers.toList();
        }
    }

    /** The content that the operation brings is not here: all of it is to be copied. */
    synchronized void lacks(long sequence) {
        learner.lacks(sequence, unflushed);
    }

    /** What the index is to say of the PG once the share is in it. */
    PgLogState stateAfter(FlushShare share) {
        List<Answered> answered;
        synchronized (flushedAnswers) {
            share.next().forEach(flushedAnswers::add);
            answered = flushedAnswers.toList();
        }
        synchronized (this) {
            WalRecord last = share.next().isEmpty() ? null : share.next().getLast().record();
            long epoch = last == null ? flushedEpoch : last.epoch();
            long sequence = last == null ? flushed : last.sequence();
            List<EpochStart> starts = new ArrayList<>(epochStarts);
            starts.removeIf(s -> s.firstSequence() > sequence);
            List<LoggedOp> out = new ArrayList<>(deferred.ops());
            out.addAll(share.next());
            out.removeIf(o -> !share.keeps(o));
            return new PgLogState(
                    pg,
                    epoch,
                    sequence,
                    sequence,
                    sequence,
                    starts,
                    answered,
                    DeferredOps.versions(out),
                    learner.contentAfter(share.next()),
                    learner.newestAfter(share.next()));
        }
    }

    /** The index is about to show what the share takes. */
    void entering(FlushShare share) {
        lastInIndex = Math.max(lastInIndex, share.candidates().getLast().order());
    }

    /** What was deferred and is in the index now is forgotten first: it is the oldest. */
    synchronized void forgetDeferred(FlushShare share) {
        if (!deferred.isEmpty()) {
            List<LoggedOp> released = deferred.release(share::keeps);
            released.forEach(space::settle);
            overlay.removeFlushed(released);
        }
        deferred.found(share.damaged(), share.passedOver());
    }

    /**
     * The oldest operations of the share: they are in the index, or deferred.
     *
     * @param kept how many of the last ones are kept for replicas that were away
     */
    synchronized void forget(FlushShare share, List<LoggedOp> ops, int kept) {
        List<LoggedOp> gone = new ArrayList<>(ops.size());
        for (LoggedOp o : ops) {
            unflushed.removeFirst();
            boolean keeps = share.keeps(o);
            if (keeps) {
                deferred.add(o);
            } else {
                space.settle(o);
                gone.add(o);
            }
            recent.flushed(o, !keeps, kept);
        }
        overlay.removeFlushed(gone);
        if (ops.getFirst().change() instanceof Divided d) { // it comes alone
            overlay.removeVoid(repairsOf(d.split()));
        }
        learner.flushed(ops);
        lookForTurns();
        flushed = ops.getLast().sequence();
        flushedEpoch = ops.getLast().record().epoch();
    }

    /** Repairs, logged behind a split, of what it takes: see {@link #repairsBehind}. */
    private List<LoggedOp> repairsOf(Split split) {
        return unflushed.stream()
                .filter(o -> o.isRepair() && split.takes(o.op().inode(), o.op().chunk()))
                .toList();
    }

    /**
     * The operation cannot be read from the log. One that is in the index need not be: throws
     * FsException ENODATA, as if it were not kept.
     */
    synchronized void forgetRecent(long sequence) {
        if (sequence <= flushed) {
            recent.clear();
            throw new FsException(
                    Errno.ENODATA, "PG %d: sequence %d left the log".formatted(pg, sequence));
        }
    }

    /** Records up to this one are about to be overwritten. */
    synchronized void recycled(long lsn) {
        recent.recycled(lsn);
    }

    /**
     * All that is in the log and not flushed, in its order, if the first of it is not committed and
     * is no newer than the LSN. Else nothing; nor if there is a step of a learner: that one is
     * missing where the log begins behind it no sequence would tell.
     */
    synchronized List<LoggedOp> stuck(long oldEnd) {
        LoggedOp first = unflushed.peekFirst();
        if (first == null || first.record().lsn() > oldEnd || first.sequence() <= committed) {
            return List.of();
        }
        List<LoggedOp> stuck = new ArrayList<>(unflushed.size());
        for (LoggedOp o : unflushed) {
            if (o.step() != null) {
                return List.of();
            }
            if (o.record().lsn() == WalRecord.NOT_LOGGED) {
                break;
            }
            stuck.add(o);
        }
        return stuck;
    }

    /**
     * Logs once more what is stuck, unless that is no longer the same: then it returns nothing.
     *
     * @param payloads of each
     */
    synchronized List<Again> logAgain(
            Wal wal, long oldEnd, List<LoggedOp> stuck, List<ByteBuf> payloads) {
        List<Again> again = new ArrayList<>();
        if (stuck.equals(stuck(oldEnd))) {
            for (int i = 0; i < stuck.size(); i++) {
                LoggedOp o = stuck.get(i);
                again.add(new Again(o, wal.appendAgain(o.record(), payloads.get(i))));
            }
        }
        return again;
    }

    synchronized List<LoggedOp> deferred() {
        return List.copyOf(deferred.ops());
    }

    /** Damaged blocks that deferred operations need. */
    synchronized int damagedBlocks() {
        return deferred.damagedBlocks();
    }

    /**
     * LSN of the oldest record that a recovery still needs once the share is in the index;
     * MAX_VALUE if there is none. Until a drop is durable, those are also the records that it makes
     * void: a recovery that finds only the last ones of them would see a hole.
     */
    synchronized long oldestLsnAfter(@Nullable FlushShare share) {
        Long firstDropped = dropping.ceiling(0L);
        long oldest = firstDropped == null ? Long.MAX_VALUE : firstDropped;
        for (LoggedOp o : deferred.ops()) {
            if (share == null || share.keeps(o)) {
                oldest = Math.min(oldest, o.record().lsn());
            }
        }
        int left = share == null ? 0 : share.next().size();
        for (LoggedOp o : unflushed) {
            if (left-- == 0) {
                return Math.min(oldest, o.record().lsn());
            }
            if (share != null && share.keeps(o)) {
                oldest = Math.min(oldest, o.record().lsn());
            }
        }
        return oldest;
    }

    private long oldestLsnAfterSequence(long sequence) {
        for (LoggedOp o : unflushed) {
            if (o.sequence() > sequence) {
                return o.record().lsn();
            }
        }
        return Long.MAX_VALUE;
    }

    synchronized boolean hasCommitted() {
        LoggedOp first = unflushed.peekFirst();
        return first != null && first.sequence() <= committed;
    }

    // ---- inside

    private void check(PgLogEntry e) {
        DataOp op = e.op();
        int bytes = e.payload().readableBytes();
        boolean wellFormed =
                switch (op.type()) {
                    case WRITE ->
                            op.length() > 0
                                    && bytes == op.length()
                                    && op.offset() >= 0
                                    && op.offset() <= Integer.MAX_VALUE - op.length() - 4096
                                    && op.blockCrcs().length
                                            == BlockCrc.count(op.offset(), op.length());
                    case TRUNCATE_INODE, DELETE_INODES -> bytes == op.length() && bytes > 0;
                    case NOOP -> bytes == 0;
                    case SPLIT -> bytes == SplitFormat.LENGTH;
                    case MERGE -> bytes == MergeFormat.LENGTH;
                    case READ -> false;
                };
        if (closed) {
            throw new IllegalStateException("PG " + pg + " has ended: nothing is logged");
        }
        if (!wellFormed) {
            throw new IllegalArgumentException("malformed operation " + op);
        }
        if (e.sequence() != lastSequence + 1 || e.epoch() < lastEpoch) {
            throw new IllegalArgumentException(
                    String.format(
                            "PG %d: (%d, %d) does not follow (%d, %d)",
                            pg, e.epoch(), e.sequence(), lastEpoch, lastSequence));
        }
    }

    private void lookForTurns() {
        turns = turns && unflushed.stream().anyMatch(PgStore::isTurn);
    }

    private void addLogged(LoggedOp op) {
        unflushed.addLast(op);
        ended = false;
        turns |= isTurn(op);
        highestEpoch = Math.max(highestEpoch, op.record().epoch());
        learner.logged(op);
        if (!recovering) {
            overlay.add(op);
        }
        space.promise(op);
    }

    private LoggedOp add(WalRecord record, @Nullable InodeChange change) {
        LoggedOp op = new LoggedOp(record, change, nextOrder++);
        addLogged(op);
        lastSequence = op.sequence();
        begin(record.epoch());
        return op;
    }

    /** The last operation is of the epoch. */
    private void begin(long epoch) {
        if (epoch > lastEpoch) {
            lastEpoch = epoch;
            epochStarts.add(new EpochStart(lastEpoch, lastSequence));
            if (epochStarts.size() > MAX_EPOCH_STARTS) {
                epochStarts.removeFirst();
            }
        }
    }

    /** Returns the blocks of what was dropped, which are free once this is durable. */
    private List<BlockRun> drop(long lastKept) {
        List<LoggedOp> dropped = new ArrayList<>();
        Iterator<LoggedOp> newestFirst = unflushed.descendingIterator();
        while (newestFirst.hasNext()) {
            LoggedOp o = newestFirst.next();
            if (o.sequence() <= lastKept) {
                break;
            }
            newestFirst.remove();
            space.settle(o);
            dropped.addFirst(o);
        }
        overlay.removeDropped(dropped);
        learner.dropped(unflushed);
        lookForTurns();
        lastSequence = Math.min(lastSequence, lastKept);
        LoggedOp last = unflushed.peekLast();
        lastEpoch = last == null ? flushedEpoch : last.record().epoch();
        epochStarts.removeIf(s -> s.firstSequence() > lastSequence);
        List<BlockRun> extents = new ArrayList<>(0);
        dropped.forEach(o -> extents.addAll(o.record().extents()));
        return extents;
    }
}
