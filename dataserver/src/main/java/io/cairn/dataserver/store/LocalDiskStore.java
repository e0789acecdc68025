package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.IndexContent;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.chunk.TruncatedInodes;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskHold;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.RunMark;
import io.cairn.dataserver.wal.PayloadReader;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A disk of this machine. Threads as {@link DiskStore} says; it runs a sync thread for the WAL, one
 * that writes large payloads to the data file, a flusher thread and a few that read.
 */
public final class LocalDiskStore implements DiskStore {
    private static final Logger LOG = LoggerFactory.getLogger(LocalDiskStore.class);

    /** How often the space of the file systems is looked at. */
    private static final long KEEP_MILLIS = 20;

    private final UUID uuid;
    private final DiskConfig config;
    private final Wal wal;
    private final DataFile data;
    private final ChunkIndex index;
    private final IndexContent content;
    private final BlockAllocator allocator;
    private final SpaceAccount space;
    private final SpaceKeeper keeper;
    private final ScheduledExecutorService keeping;
    private final Map<Integer, PgStore> pgs;
    private final GroupSplits splits;
    private final GroupMerges merges;
    private final TruncatedInodes truncated;
    private final ChunkReader reader;
    private final CopyReader copies;
    private final ThreadPoolExecutor readers;
    private final ChunkChecker checker;
    private final DirectWrites direct;
    private final FlushThread flushThread;
    private final DiskHold hold;
    private final RunMark mark;
    private volatile DamageListener damageListener = (pg, inode, chunk, block) -> {};

    LocalDiskStore(DiskConfig config, OpenedDisk disk, Flusher flusher, DiskRuntime runtime) {
        this.uuid = disk.uuid();
        this.config = config;
        this.wal = disk.wal();
        this.data = disk.data();
        this.index = disk.index();
        this.content = disk.content();
        this.allocator = content.allocator();
        this.space = disk.space();
        this.keeper = disk.keeper();
        this.pgs = disk.pgs();
        this.splits = disk.splits();
        this.merges = disk.merges();
        this.truncated = content.truncated();
        this.hold = disk.hold();
        this.mark = disk.mark();
        this.reader = new ChunkReader(index::read, data);
        this.copies = new CopyReader(reader);
        String name = disk.name();
        this.readers =
                new ThreadPoolExecutor(
                        config.ioThreads(),
                        config.ioThreads(),
                        0,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        Thread.ofPlatform().name(name + "-read-", 0).daemon().factory());
        this.checker =
                new ChunkChecker(
                        runtime.files(),
                        config.data(),
                        data.blocks() * DataFile.BLOCK_BYTES,
                        index::read);
        this.direct = new DirectWrites(disk, config.directWriteBytes(), runtime.fatal());
        direct.start();
        this.flushThread = new FlushThread(name, config, flusher, wal, space, runtime.fatal());
        this.keeping =
                Executors.newSingleThreadScheduledExecutor(
                        Thread.ofPlatform().name(name + "-space").daemon().factory());
        if (runtime.background()) {
            flushThread.start();
            var _ =
                    keeping.scheduleWithFixedDelay(
                            () -> keepSpace(runtime.fatal()),
                            KEEP_MILLIS,
                            KEEP_MILLIS,
                            TimeUnit.MILLISECONDS);
        }
    }

    private void keepSpace(FatalHandler fatal) {
        try {
            keeper.tryStep();
        } catch (Throwable e) { // it would not be called again, and nobody would see why
            keeping.shutdown();
            fatal.fatal("keeping space for " + config.data() + " failed", e);
        }
    }

    /**
     * Opens a disk, recovering what its WAL holds; formats it if nothing of it exists. Blocks.
     *
     * @throws DiskOpenException with a message for the administrator
     */
    public static LocalDiskStore open(DiskConfig config, UUID cluster, DiskRuntime runtime)
            throws DiskOpenException {
        return open(config, cluster, null, runtime);
    }

    /**
     * As {@link #open(DiskConfig, UUID, DiskRuntime)}, but where a disk was once, none is made.
     *
     * @param known identity of the disk that was there at an earlier opening; null if there was
     *     none
     */
    public static LocalDiskStore open(
            DiskConfig config, UUID cluster, @Nullable UUID known, DiskRuntime runtime)
            throws DiskOpenException {
        return DiskRecovery.open(config, cluster, known, runtime);
    }

    @Override
    public UUID uuid() {
        return uuid;
    }

    @Override
    public void append(PgLogEntry entry, Runnable durable) {
        truncated.note(entry.op());
        pg(entry.pg()).append(wal, direct, entry, durable);
    }

    @Override
    public boolean appendIfRoom(PgLogEntry entry, Runnable durable) {
        if (entry.op().type() != DataOpType.WRITE) {
            append(entry, durable);
            return true;
        }
        int blocks = SpaceAccount.blocksOf(entry.op());
        if (!space.pledge(blocks)) {
            return false;
        }
        try {
            append(entry, durable);
        } finally {
            space.unpledge(blocks);
        }
        return true;
    }

    @Override
    public boolean overwrites(DataOp op) {
        PgStore store = pgs.get(op.pg());
        return store != null && op.type() == DataOpType.WRITE && store.overwrites(op);
    }

    @Override
    public boolean isGrowing() {
        return space.isGrowing();
    }

    @Override
    public void keepAhead(long bytes) {
        space.keepAhead(bytes);
    }

    @Override
    public boolean isFlushing() {
        return space.isPromised();
    }

    @Override
    public void commit(int pg, long sequence) {
        PgStore store = pg(pg);
        store.commit(sequence);
        if (store.turns()) {
            flushThread.hurry();
        } else {
            flushThread.committed();
        }
    }

    @Override
    public boolean begin(int pg, int parent, boolean parentIsHere) {
        return splits.begin(pg, parent, parentIsHere);
    }

    @Override
    public void flushFirst(Set<Integer> first) {
        flushThread.flusher().first(first);
    }

    @Override
    public boolean hasSplit(int parent, Split split) {
        return splits.has(parent, split);
    }

    @Override
    public boolean hasMerge(int parent, int child, long epoch) {
        return merges.has(parent, child, epoch);
    }

    @Override
    public boolean isFlushedWhole(int pg, long epoch) {
        PgStore store = pgs.get(pg);
        return store != null && store.isFlushedWhole(epoch);
    }

    @Override
    public boolean isMerged(int child, long epoch) {
        return merges.isDone(child, epoch);
    }

    @Override
    public boolean mayBeTakenIn(int child) {
        return merges.mayBeTakenIn(child);
    }

    @Override
    public boolean isTakenIn(int child) {
        return merges.isTakenIn(child);
    }

    @Override
    public List<Integer> toRelease() {
        return merges.toRelease();
    }

    @Override
    public void release(int child) {
        merges.release(child);
        flushThread.hurry();
    }

    @Override
    public void end(int pg, Runnable done) {
        merges.end(pg, done);
        flushThread.hurry();
    }

    @Override
    public long firstMerge(int pg) {
        PgStore store = pgs.get(pg);
        return store == null ? 0 : store.firstMerge();
    }

    @Override
    public long lastEpoch(int pg) {
        PgStore store = pgs.get(pg);
        return store == null || store.isEnded() ? 0 : store.lastEpoch();
    }

    @Override
    public void dropTail(int pg, long lastSequenceKept, Runnable done) {
        pg(pg).dropTail(wal, allocator, lastSequenceKept, done);
    }

    @Override
    public void reset(
            int pg,
            long epoch,
            long sequence,
            List<Answered> answered,
            boolean distrusted,
            Runnable done) {
        pg(pg).reset(wal, epoch, sequence, answered, distrusted, done);
    }

    @Override
    public void discard(int pg, Runnable done) {
        pg(pg).discard(wal, done);
    }

    @Override
    public void copiedTo(int pg, ContentHead.Key key) {
        pg(pg).copiedTo(wal, key);
    }

    @Override
    public void completed(int pg, Runnable done) {
        pg(pg).completed(wal, done);
    }

    @Override
    public boolean copy(int pg, ChunkCopy piece, Runnable durable) {
        if (piece.blocks() > 0 && !space.pledge(piece.blocks())) {
            return false;
        }
        try {
            truncated.add(piece.inode());
            pg(pg).copy(wal, piece, durable);
        } finally {
            space.unpledge(piece.blocks());
        }
        return true;
    }

    @Override
    public void copyInode(int pg, long inode, long truncateSequence, Runnable durable) {
        truncated.add(inode);
        copyInode(pg, new InodeChange.Copied(inode, truncateSequence, false), durable);
    }

    @Override
    public void removeContent(int pg, long inode, Runnable durable) {
        copyInode(pg, new InodeChange.Copied(inode, 0, true), durable);
    }

    private void copyInode(int pg, InodeChange.Copied change, Runnable durable) {
        pg(pg).copyInode(wal, change, durable);
    }

    @Override
    public long inodeTruncateSequence(int pg, long inode) {
        PgStore store = pgs.get(pg);
        return store == null
                ? 0
                : store.content()
                        .head(new ContentHead.Key(inode, ContentHead.Key.INODE))
                        .truncateSequence();
    }

    @Override
    public List<ContentHead> heads(int pg, ContentHead.Key after, int max) {
        PgStore store = pgs.get(pg);
        return store == null ? List.of() : new ContentHeads(index).after(store, after, max);
    }

    @Override
    public Changes changes(int pg, long inode, int after, long since, int max) {
        PgStore store = pgs.get(pg);
        return store == null
                ? new Changes(List.of(), after, true)
                : new ContentChanges(index).after(store, inode, after, since, max);
    }

    @Override
    public void readCopy(
            int pg, long inode, int chunk, Rest rest, int maxBytes, CopyCallback callback) {
        if (maxBytes < DataFile.BLOCK_BYTES) {
            throw new IllegalArgumentException("copy of " + maxBytes + " bytes");
        }
        int atMost = Math.min(maxBytes, ChunkCopy.MAX_BYTES);
        onReader(
                () -> {
                    ChunkCopy piece;
                    try {
                        ContentHead.Key key = new ContentHead.Key(inode, chunk);
                        PgStore store = pgs.get(pg);
                        piece =
                                store == null
                                        ? ChunkCopy.none(inode, chunk)
                                        : copies.read(store, key, rest, atMost);
                    } catch (CorruptBlockException e) {
                        callback.done(null, e);
                        return;
                    } catch (Throwable e) { // without an answer the copy would never end
                        callback.done(null, unreadable(e, pg, inode, chunk));
                        return;
                    }
                    callback.done(piece, null);
                },
                () -> callback.done(null, closed()));
    }

    @Override
    public void read(int pg, long inode, int chunk, int offset, int length, ReadCallback callback) {
        if (offset < 0 || length < 0 || offset > Integer.MAX_VALUE - length - 4096) {
            throw new IllegalArgumentException("read of " + length + " bytes at " + offset);
        }
        onReader(
                () -> readNow(pg, inode, chunk, offset, length, callback),
                () -> callback.done(null, new int[0], closed()));
    }

    private void readNow(
            int pg, long inode, int chunk, int offset, int length, ReadCallback callback) {
        ChunkReader.Result result;
        try {
            PgStore store = pgs.get(pg);
            result =
                    store == null || length == 0
                            ? new ChunkReader.Result(Unpooled.EMPTY_BUFFER, new int[0])
                            : reader.read(store, pg, inode, chunk, offset, length);
        } catch (CorruptBlockException e) {
            LOG.error("disk {}: {}", uuid, e.getMessage());
            callback.done(null, new int[0], e);
            return;
        } catch (Throwable e) { // without an answer the request would never end
            callback.done(null, new int[0], unreadable(e, pg, inode, chunk));
            return;
        }
        callback.done(result.data(), result.blockCrcs(), null);
    }

    @Override
    public void readBlock(int pg, long inode, int chunk, int block, BlockCallback callback) {
        onReader(
                () -> {
                    VersionedBlock result;
                    try {
                        result = reader.readBlock(known(pg), pg, inode, chunk, block);
                    } catch (CorruptBlockException e) {
                        callback.done(null, e);
                        return;
                    } catch (Throwable e) {
                        callback.done(null, unreadable(e, pg, inode, chunk));
                        return;
                    }
                    callback.done(result, null);
                },
                () -> callback.done(null, closed()));
    }

    @Override
    public void repair(int pg, BlockRepair repair, Consumer<RepairOutcome> outcome) {
        BlockRepair r = repair.retained();
        onReader(
                () -> {
                    RepairOutcome known;
                    try {
                        known =
                                known(pg)
                                        .repair(wal, r, () -> outcome.accept(RepairOutcome.LOGGED));
                    } catch (Throwable e) { // without an outcome it would never be tried again
                        LOG.error("disk {}: repairing a block", uuid, e);
                        known = RepairOutcome.DIFFERENT;
                    } finally {
                        r.content().release();
                    }
                    if (known != RepairOutcome.LOGGED) {
                        outcome.accept(known);
                    }
                },
                () -> {
                    r.content().release();
                    outcome.accept(RepairOutcome.CHANGED);
                });
    }

    private void onReader(Runnable task, Runnable closed) {
        try {
            readers.execute(task);
        } catch (RejectedExecutionException e) {
            closed.run();
        }
    }

    private CorruptBlockException unreadable(Throwable why, int pg, long inode, int chunk) {
        LOG.error("disk {}: reading PG {}, inode {}, chunk {}", uuid, pg, inode, chunk, why);
        return new CorruptBlockException(
                "PG %d, inode %d, chunk %d cannot be read: %s".formatted(pg, inode, chunk, why));
    }

    private static CorruptBlockException closed() {
        return new CorruptBlockException("the disk is closed");
    }

    @Override
    public void onDamage(DamageListener listener) {
        damageListener = listener;
        flushThread.flusher().onDamage(listener);
    }

    @Override
    public ChunkCheck check(int pg, ContentHead.Key key, Pace pace)
            throws CorruptBlockException, InterruptedException {
        return checker.check(known(pg), key, pace, damageListener);
    }

    @Override
    public @Nullable ScrubStamps scrubStamps(int pg) {
        return index.scrubStamps(pg);
    }

    @Override
    public void noteScrub(int pg, ScrubStamps stamps) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.putScrubStamps(pg, stamps);
            index.apply(update);
        }
    }

    @Override
    public List<String> findings(int pg) {
        return index.findings(pg);
    }

    @Override
    public void noteFindings(int pg, List<String> texts) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.putFindings(pg, texts);
            index.apply(update);
        }
    }

    @Override
    public Map<BadBlock, String> quarantined() {
        return index.quarantined();
    }

    @Override
    public void noteQuarantine(BadBlock block, @Nullable String why) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            if (why == null) {
                update.removeQuarantined(block);
            } else {
                update.putQuarantined(block, why);
            }
            index.apply(update);
        }
    }

    @Override
    public int waitingReads() {
        return readers.getQueue().size();
    }

    @Override
    public long truncateSequence(int pg, long inode, int chunk) {
        PgStore store = pgs.get(pg);
        if (store == null || !truncated.mayBe(inode)) {
            return 0;
        }
        return store.content().truncateSequencePromptly(new ContentHead.Key(inode, chunk));
    }

    @Override
    public PgLogState logState(int pg) {
        PgStore store = pgs.get(pg);
        if (store == null) {
            return PgStore.empty(pg);
        }
        if (!store.turns()) {
            return store.state();
        }
        // Looked at first: what is carried out since then is in the state itself.
        List<Answered> takenIn = new ArrayList<>();
        for (Merge merge : store.mergesLogged(false)) {
            PgStore child = pgs.get(merge.child());
            takenIn.addAll(child == null ? List.of() : child.state().answered());
        }
        PgLogState state = store.state();
        AnsweredTable answered = new AnsweredTable(state.answered());
        answered.unite(takenIn);
        return state.withAnswered(answered.toList());
    }

    @Override
    public List<PgLogEntry> entries(int pg, long after, int maxBytes) {
        PgStore store = pgs.get(pg);
        List<PgLogEntry> entries = new ArrayList<>();
        if (store == null) {
            return entries;
        }
        try {
            load(store, after, maxBytes, entries);
        } catch (Throwable e) {
            entries.forEach(entry -> entry.payload().release());
            throw e;
        }
        return entries;
    }

    private static void load(PgStore store, long after, int maxBytes, List<PgLogEntry> entries) {
        PayloadReader payloads = new PayloadReader();
        long bytes = 0;
        for (LoggedOp op : store.after(after)) {
            WalRecord r = op.record();
            bytes += r.payloadLength();
            if (!entries.isEmpty() && bytes > maxBytes) {
                break;
            }
            ByteBuf payload;
            try {
                payload = payload(r, op, payloads);
            } catch (FsException e) {
                store.forgetRecent(r.sequence());
                throw e;
            }
            if (payload == null) {
                if (entries.isEmpty()) {
                    store.forgetRecent(r.sequence());
                    throw new FsException(
                            Errno.EBADMSG,
                            "PG "
                                    + store.pg()
                                    + ": payload of sequence "
                                    + r.sequence()
                                    + " is damaged");
                }
                break;
            }
            entries.add(new PgLogEntry(r.epoch(), r.sequence(), r.op(), payload));
        }
    }

    /**
     * Null if it does not match its checksums. Throws FsException EIO if it cannot be read, which
     * may be for a moment only.
     */
    static @Nullable ByteBuf payload(WalRecord r, LoggedOp op, PayloadReader payloads) {
        InodeChange change = op.change();
        if (change != null) {
            // Verified when it was decoded; bytes of the log would have to be verified again.
            ByteBuf encoded = ByteBufAllocator.DEFAULT.directBuffer(r.payloadLength());
            change.encode(encoded);
            return encoded;
        }
        if (r.payloadLength() == 0) {
            return Unpooled.EMPTY_BUFFER;
        }
        ByteBuf payload =
                ByteBufAllocator.DEFAULT.directBuffer(r.payloadLength(), r.payloadLength());
        boolean intact = false;
        try {
            var bytes = payload.nioBuffer(0, r.payloadLength());
            int at = r.op().offset();
            intact = payloads.read(r, at, at + r.payloadLength(), bytes, 0) == PayloadReader.INTACT;
            payload.writerIndex(r.payloadLength());
        } catch (IOException e) {
            LOG.error("reading LSN {} back", r.lsn(), e);
            throw new FsException(
                    Errno.EIO,
                    "PG %d: payload of sequence %d cannot be read: %s"
                            .formatted(r.pg(), r.sequence(), e.getMessage()));
        } finally {
            if (!intact) {
                payload.release();
            }
        }
        return intact ? payload : null;
    }

    @Override
    public List<Integer> pgs() {
        return pgs.values().stream().filter(p -> !p.isEnded()).map(PgStore::pg).sorted().toList();
    }

    @Override
    public void giveUp(String why) {
        wal.giveUp();
        data.fence(why);
    }

    @Override
    public long admissibleBytes() {
        return space.toldBytes();
    }

    @Override
    public double walFillRatio() {
        return wal.fillRatio();
    }

    @Override
    public DiskUsage usage() {
        long unused = allocator.freeBlocks() + allocator.unbackedBlocks();
        return new DiskUsage(
                allocator.blocks() * DataFile.BLOCK_BYTES,
                (allocator.blocks() - unused) * DataFile.BLOCK_BYTES,
                keeper.obtainableBytes(),
                wal.capacityBytes(),
                wal.usedBytes());
    }

    @Override
    public List<String> warnings() {
        return keeper.warnings();
    }

    @Override
    public int waitingForRepair() {
        return pgs.values().stream().mapToInt(PgStore::damagedBlocks).sum();
    }

    @Override
    public List<RocksDatabase> databases() {
        return List.of(index.database());
    }

    @Override
    public void onSpace(LongConsumer listener) {
        flushThread.onSpace(listener);
    }

    /** Syncs the WAL, flushes what is committed, closes; a disk that failed is only closed. */
    @Override
    public void close() {
        keeping.close(); // waits: an interrupted sync would close the data file for all
        boolean intact = !wal.failed() && !data.isFenced();
        readers.close();
        direct.stop(intact);
        pgs.values().forEach(PgStore::abandon);
        // The last flush reads payloads from the log: it comes before the log is closed.
        flushThread.stop(intact);
        wal.close();
        closeFiles();
        mark.end();
        hold.close();
    }

    /** Closes without writing anything more, as a crash would. */
    void abandon() {
        keeping.close();
        readers.close();
        direct.stop(false);
        pgs.values().forEach(PgStore::abandon);
        flushThread.stop(false);
        wal.close();
        closeFiles();
        hold.close();
    }

    private void closeFiles() {
        checker.close();
        index.close();
        try {
            data.close();
        } catch (IOException e) {
            LOG.warn("closing {}", config.data(), e);
        }
    }

    ChunkVersion version(int pg, long inode, int chunk) {
        return pg(pg).version(inode, chunk);
    }

    FlushThread flushThread() {
        return flushThread;
    }

    GroupSplits splits() {
        return splits;
    }

    GroupMerges merges() {
        return merges;
    }

    ChunkIndex index() {
        return index;
    }

    DirectWrites direct() {
        return direct;
    }

    /** Of the index, as of the opening. */
    IndexContent content() {
        return content;
    }

    /** Blocks in use that only the WAL knows. */
    List<BlockRun> loggedExtents() {
        List<BlockRun> extents = new ArrayList<>();
        pgs.values().forEach(p -> extents.addAll(p.loggedExtents()));
        return extents;
    }

    BlockAllocator allocator() {
        return allocator;
    }

    Wal wal() {
        return wal;
    }

    SpaceKeeper keeper() {
        return keeper;
    }

    DataFile data() {
        return data;
    }

    /** One that is not here has nothing, and does not begin by being asked. */
    private PgStore known(int pg) {
        PgStore store = pgs.get(pg);
        return store == null ? new PgStore(PgStore.empty(pg), index, space) : store;
    }

    PgStore pg(int pg) {
        return pgs.computeIfAbsent(pg, p -> new PgStore(PgStore.empty(p), index, space));
    }
}
