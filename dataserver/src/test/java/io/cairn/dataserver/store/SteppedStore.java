package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.Split;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FaultDevices;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A store for simulations: each call returns when the store's threads have done all of it, so that
 * a run depends on its seed only. What was logged is durable when it is {@link #sync synced}; a
 * power cut loses any of the rest. One thread.
 */
public final class SteppedStore implements AutoCloseable {
    private static final UUID CLUSTER = new UUID(1, 2);
    private static final int SEGMENTS = 48;
    private static final int SEGMENT_BYTES = 64 << 10;
    private static final double FULL = 0.5;
    private static final int PIECE_BYTES = 1 << 20;
    private static final int PART = 16;
    private static final int MOST_ROUNDS = 20;

    private final FaultDevices devices;
    private final DiskConfig config;
    private final IndexDatabases databases;
    private final List<Damage> damage = new CopyOnWriteArrayList<>();
    private @Nullable String fatal;
    private @Nullable LocalDiskStore store;

    public SteppedStore(Path directory, long seed, IndexDatabases databases) {
        this.databases = databases;
        devices = new FaultDevices(seed);
        config =
                new DiskConfig(
                        directory.resolve("data"),
                        directory.resolve("wal"),
                        directory.resolve("index"),
                        2 << 20,
                        (long) SEGMENTS * SEGMENT_BYTES,
                        SEGMENT_BYTES,
                        64 << 10,
                        0,
                        1,
                        1,
                        5000);
        open();
    }

    /** For the indexes of all stores of a run, which its end closes. */
    public static IndexDatabases databases() {
        return StoreHarness.databases();
    }

    private void open() {
        try {
            DiskRuntime runtime = new DiskRuntime(databases, devices, this::failed, false);
            store = LocalDiskStore.open(config, CLUSTER, runtime);
            store.onDamage(
                    (pg, inode, chunk, block) -> damage.add(new Damage(pg, inode, chunk, block)));
        } catch (DiskOpenException e) {
            throw new AssertionError(config.data() + " does not open", e);
        }
        devices.deferForces(true);
    }

    private void failed(String what, Throwable cause) {
        fatal = what + ": " + cause;
    }

    private LocalDiskStore store() {
        if (store == null || fatal != null) {
            throw new AssertionError(config.data() + ": " + fatal);
        }
        return store;
    }

    // ---- power --------------------------------------------------------------------------------

    /** All that was done so far is durable. */
    public void sync() {
        devices.sync();
    }

    /**
     * The process ends, and another one begins.
     *
     * @param power whether what was not synced may be lost
     */
    public void crash(boolean power) {
        devices.cutPower();
        store().abandon();
        fatal = null;
        if (power) {
            devices.restorePower();
        } else {
            devices.restartProcess();
        }
        devices.deferForces(false);
        open();
    }

    @Override
    public void close() {
        store().abandon();
    }

    // ---- bits ---------------------------------------------------------------------------------

    /** A bit of the data file that is not what it was, with its page as it is since. */
    public record Flip(long bit, byte[] page) {}

    /**
     * One bit changes of what was written to the data file; null if nothing was, or if it is of a
     * large write that is not in the index: only that has others to be repaired from.
     */
    public @Nullable Flip flip(Random random) {
        long bit = devices.flipWrittenBit(config.data(), random);
        if (bit < 0) {
            return null;
        }
        long block = bit / 8 / BlockCrc.BLOCK_BYTES;
        boolean logged =
                store().loggedExtents().stream()
                        .anyMatch(r -> r.first() <= block && block < r.end());
        if (logged) {
            devices.flipBack(config.data(), bit);
            return null;
        }
        return new Flip(bit, devices.pageOf(config.data(), bit));
    }

    /** Whether nothing was written over it since. */
    public boolean has(Flip flip) {
        return Arrays.equals(flip.page, devices.pageOf(config.data(), flip.bit));
    }

    /**
     * Changes it back, unless something else was written over it. What waits for a repair is tried
     * again with the next flush, as the flusher's own thread, which does not run here, does from
     * time to time: on a disk that has left the group nothing else would end the wait.
     */
    public void flipBack(Flip flip) {
        if (has(flip)) {
            devices.flipBack(config.data(), flip.bit);
        }
        store().flushThread().flusher().retryDeferred();
    }

    /** A block into which something could not be flushed. */
    public record Damage(int pg, long inode, int chunk, int block) {}

    /** What the flusher has met since this was asked last. */
    public List<Damage> foundDamage() {
        List<Damage> found = List.copyOf(damage);
        damage.clear();
        return found;
    }

    /** Null if it is damaged. */
    public @Nullable VersionedBlock readBlock(int pg, long inode, int chunk, int block) {
        CompletableFuture<Optional<VersionedBlock>> read = new CompletableFuture<>();
        store().readBlock(
                        pg,
                        inode,
                        chunk,
                        block,
                        (found, failure) -> read.complete(Optional.ofNullable(found)));
        return get(read).map(b -> new VersionedBlock(b.version(), heap(b.content()))).orElse(null);
    }

    public RepairOutcome repair(int pg, BlockRepair repair) {
        CompletableFuture<RepairOutcome> outcome = new CompletableFuture<>();
        store().repair(pg, repair, outcome::complete);
        RepairOutcome result = get(outcome);
        relieve();
        return result;
    }

    // ---- logging ------------------------------------------------------------------------------

    public void append(PgLogEntry entry) {
        await(done -> store().append(entry, done));
        relieve();
    }

    /** Whether a split is logged that makes the child, and not carried out. */
    public boolean splits(int parent, int child) {
        return !store().pgs().contains(child) || store().pg(parent).makes(child, false);
    }

    public boolean hasSplit(int parent, Split split) {
        return store().hasSplit(parent, split);
    }

    public boolean begin(int pg, int parent, boolean parentIsHere) {
        return store().begin(pg, parent, parentIsHere);
    }

    /**
     * The oldest merge that is not carried out, which is committed, is carried out now; false if it
     * waits, for a repair. What is logged behind it may make the group that it ends again.
     *
     * @param sequence of the merge
     */
    public boolean unite(int parent, long sequence) {
        for (int i = 0; i < MOST_ROUNDS && store().firstMerge(parent) == sequence; i++) {
            flushing(() -> {
                store().toRelease().forEach(store()::release);
                store().flushThread().flushAll();
            });
        }
        return store().firstMerge(parent) != sequence;
    }

    /** Whether all of the group is in the index, once all that can be is. */
    public boolean isFlushedWhole(int pg, long epoch) {
        flushAll();
        return store().isFlushedWhole(pg, epoch);
    }

    /** Operations and steps that wait for the repair of a block. */
    public boolean waitsForRepair() {
        return store().waitingForRepair() > 0;
    }

    /**
     * What there is of the group is removed, and its history. A split that has waited for that may
     * have made another group of the number then, in a later epoch.
     */
    public void end(int pg) {
        long lastEpoch = store().lastEpoch(pg);
        if (!store().logState(pg).isNeverCommitted()) {
            discard(pg);
            removeContent(pg);
        }
        flushing(() -> {
            store().flushThread().flushAll();
            await(done -> {
                store().end(pg, done);
                store().flushThread().step();
            });
        });
        if (store().pgs().contains(pg) && store().lastEpoch(pg) <= lastEpoch) {
            throw new AssertionError("%x has not ended".formatted(pg));
        }
    }

    /** Nothing of the group's content counts from now on. */
    public void discard(int pg) {
        long committed = store().logState(pg).committedSequence();
        if (store().logState(pg).lastSequence() > committed) {
            dropTail(pg, committed);
        }
        if (!store().logState(pg).content().isNothing()) {
            await(done -> store().discard(pg, done));
        }
        relieve();
    }

    /** What was discarded of the inode is removed. */
    public void removeInode(int pg, long inode) {
        await(done -> store().removeContent(pg, inode, done));
        relieve();
    }

    private void removeContent(int pg) {
        for (List<ContentHead> heads = heads(pg, Key.FIRST, PART);
                !heads.isEmpty();
                heads = heads(pg, Key.FIRST, PART)) {
            for (ContentHead head : heads) {
                await(done -> store().removeContent(pg, head.key().inode(), done));
            }
        }
        relieve();
    }

    public void commit(int pg, long sequence) {
        store().commit(pg, sequence);
    }

    public void dropTail(int pg, long kept) {
        await(done -> store().dropTail(pg, kept, done));
    }

    public void reset(int pg, Reset reset) {
        await(done ->
                store().reset(
                                pg,
                                reset.epoch(),
                                reset.sequence(),
                                reset.answered(),
                                reset.distrusted(),
                                done));
    }

    public void copiedTo(int pg, Key key) {
        store().copiedTo(pg, key);
    }

    public void completed(int pg) {
        await(done -> store().completed(pg, done));
    }

    /** What the log's threads have not taken a minute later they never take. */
    private static void await(Consumer<Runnable> call) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        call.accept(() -> done.complete(null));
        get(done);
    }

    private static <T> T get(CompletableFuture<T> done) {
        try {
            return done.get(1, TimeUnit.MINUTES);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private void relieve() {
        if (store().walFillRatio() > FULL) {
            flushAll();
        }
    }

    /** Some of what is committed goes into the index, or is forgotten by what was logged. */
    public void flushSome(Random random) {
        int how = random.nextInt(3);
        flushing(() -> {
            if (how == 0) {
                store().flushThread().flushAll();
            } else {
                store().flushThread().step();
            }
        });
    }

    /** All that is committed goes into the index. */
    public void flushAll() {
        flushing(() -> store().flushThread().flushAll());
    }

    /** Flushing rests on an order of syncs. */
    private void flushing(Runnable work) {
        devices.sync();
        devices.deferForces(false);
        work.run();
        devices.deferForces(true);
        store();
    }

    // ---- questions ----------------------------------------------------------------------------

    public PgLogState state(int pg) {
        return store().logState(pg);
    }

    /** With payloads that need not be released; null if the log does not reach back so far. */
    public @Nullable List<PgLogEntry> entries(int pg, long after) {
        List<PgLogEntry> copies = new ArrayList<>();
        try {
            for (PgLogEntry e : store().entries(pg, after)) {
                ByteBuf payload = heap(e.payload());
                copies.add(new PgLogEntry(e.epoch(), e.sequence(), e.op(), payload));
            }
        } catch (FsException e) {
            if (e.errno() == Errno.ENODATA) {
                return null;
            }
            throw e;
        }
        return copies;
    }

    private static ByteBuf heap(ByteBuf released) {
        byte[] bytes = new byte[released.readableBytes()];
        released.readBytes(bytes);
        released.release();
        return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(bytes));
    }

    /** The bytes that are there, which may be fewer than asked for. */
    public byte[] read(int pg, long inode, int chunk, int offset, int length)
            throws CorruptBlockException {
        return StoreHarness.read(store(), pg, inode, chunk, offset, length);
    }

    public long truncateSequence(int pg, long inode, int chunk) {
        return store().truncateSequence(pg, inode, chunk);
    }

    public List<ContentHead> heads(int pg, Key after, int max) {
        return store().heads(pg, after, max);
    }

    // ---- copies -------------------------------------------------------------------------------

    /** An inode as a whole; of no use to a chunk's copy. */
    public record InodeCopy(boolean removed, long truncateSequence) {}

    public InodeCopy readInode(int pg, long inode) {
        boolean some =
                heads(pg, new Key(inode, Key.INODE - 1), 1).stream()
                        .anyMatch(h -> h.key().inode() == inode);
        return new InodeCopy(!some, store().inodeTruncateSequence(pg, inode));
    }

    public void copyInode(int pg, long inode, InodeCopy copy) {
        await(done -> {
            if (copy.removed) {
                store().removeContent(pg, inode, done);
            } else {
                store().copyInode(pg, inode, copy.truncateSequence, done);
            }
        });
    }

    /** The only piece of a chunk's copy; null if one of its blocks is damaged. */
    public @Nullable ChunkCopy readChunk(int pg, long inode, int chunk, Rest rest) {
        CompletableFuture<Optional<ChunkCopy>> read = new CompletableFuture<>();
        store().readCopy(
                        pg,
                        inode,
                        chunk,
                        rest,
                        PIECE_BYTES,
                        (piece, failure) -> read.complete(Optional.ofNullable(piece)));
        ChunkCopy piece = get(read).orElse(null);
        if (piece == null) {
            return null;
        }
        return new ChunkCopy(
                piece.inode(),
                piece.chunk(),
                piece.first(),
                piece.last(),
                piece.version(),
                piece.truncateSequence(),
                piece.lengthBytes(),
                piece.runs(),
                piece.blockCrcs(),
                heap(piece.content()));
    }

    /** Fails if there is no room. */
    public void copyChunk(int pg, ChunkCopy piece) {
        await(done -> {
            if (!store().copy(pg, piece, done)) {
                throw new AssertionError(config.data() + " has no room for " + piece);
            }
        });
    }
}
