package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.replication.ContentPage;
import io.cairn.dataserver.replication.RecoveryOutputs.Base;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.BlockRepair;
import io.cairn.dataserver.store.ChunkCopy;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.store.RepairOutcome;
import io.cairn.dataserver.store.SteppedStore;
import io.cairn.dataserver.store.SteppedStore.Flip;
import io.cairn.dataserver.store.SteppedStore.InodeCopy;
import io.cairn.sim.ClusterSim.Fault;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A disk with the store and the log of a data server. Replicas get their answers from the store;
 * the model beside it must give the same ones, and knows what no replica may ask.
 */
final class StoreDisk extends SimDisk {
    private static final int MOST = 10_000;

    /** Of any operation. */
    private static final long LATER = Long.MAX_VALUE - 1;

    private final SteppedStore store;
    private final boolean leavesOut;
    private final Set<BadBlock> damaged = new HashSet<>();

    /** What the flusher has told of, perhaps in chunks that a split has given away. */
    private final Set<BadBlock> told = new HashSet<>();

    /** The last one. */
    private @Nullable Flip flip;

    /** Not so once all was read, until a crash or a drop takes from the log what repaired it. */
    private boolean maybeFlipped;

    StoreDisk(int id, SteppedStore store, Fault fault) {
        super(id, Fault.NONE);
        this.store = store;
        leavesOut = fault == Fault.BLOCKS_LEFT_OUT;
    }

    // ---- logging ------------------------------------------------------------------------------

    @Override
    void append(int pg, PgLogEntry entry, Runnable durable) {
        super.append(pg, entry, durable);
        store.append(entry);
        noteSplits();
    }

    @Override
    void begin(int pg, Reset reset, Runnable durable) {
        super.begin(pg, reset, durable);
        store.reset(pg, reset);
    }

    @Override
    void copiedTo(int pg, Key key) {
        super.copiedTo(pg, key);
        store.copiedTo(pg, key);
    }

    @Override
    void completed(int pg, Runnable durable) {
        super.completed(pg, durable);
        store.completed(pg);
    }

    @Override
    List<Runnable> synced(int end) {
        store.sync();
        return super.synced(end);
    }

    @Override
    void commit(int pg, long sequence) {
        super.commit(pg, sequence);
        store.commit(pg, sequence);
    }

    @Override
    void flush(int pg, Random random) {
        store.flushSome(random);
        noteSplits();
    }

    /**
     * The store decides when a split is carried out. What it takes cannot be looked at from when it
     * is logged until then.
     */
    private void noteSplits() {
        for (int pg : groups()) {
            for (int child : splitsDue(pg)) {
                if (!store.splits(pg, child)) {
                    divide(pg, child);
                    maybeFlipped = flip != null;
                }
            }
        }
    }

    @Override
    boolean hasSplit(int parent, Split split) {
        boolean has = super.hasSplit(parent, split);
        if (store.hasSplit(parent, split) != has) {
            throw new AssertionError(
                    "disk %d: the model has %s in %x: %s".formatted(id, split, parent, has));
        }
        return has;
    }

    @Override
    public boolean begin(int pg, int parent, boolean parentIsHere) {
        boolean begins = super.begin(pg, parent, parentIsHere);
        if (store.begin(pg, parent, parentIsHere) != begins) {
            throw new AssertionError(
                    "disk %d: %x begins in the model: %s".formatted(id, pg, begins));
        }
        return begins;
    }

    @Override
    boolean mayUnite(int pg, long sequence) {
        boolean united = store.unite(pg, sequence);
        if (!united && !hasFlipped()) {
            throw new AssertionError(
                    "disk %d: %x has not done the merge of %d".formatted(id, pg, sequence));
        }
        noteSplits();
        return united;
    }

    @Override
    boolean isFlushedWhole(int pg, long epoch) {
        return super.isFlushedWhole(pg, epoch) && store.isFlushedWhole(pg, epoch);
    }

    @Override
    void end(int pg) {
        super.end(pg);
        store.end(pg);
        noteSplits();
    }

    @Override
    void discard(int pg) {
        super.discard(pg);
        store.discard(pg);
    }

    @Override
    void removeInode(int pg, long inode) {
        super.removeInode(pg, inode);
        store.removeInode(pg, inode);
    }

    // ---- damage -------------------------------------------------------------------------------

    @Override
    boolean hasBits() {
        return true;
    }

    @Override
    void flip(Random chance) {
        if (flip == null || !store.has(flip)) { // of two only one would be changed back
            flip = store.flip(chance);
            maybeFlipped = flip != null;
        }
    }

    /** A block that the log covered when it was read last may be needed after all. */
    @Override
    boolean hasFlipped() {
        return maybeFlipped || (flip != null && store.waitsForRepair());
    }

    @Override
    List<BadBlock> scrub() {
        damaged.clear();
        for (int pg : groups()) {
            List<ContentHead> heads = isEnded(pg) ? List.of() : store.heads(pg, Key.FIRST, MOST);
            for (ContentHead head : heads) {
                for (int block = 0; block * SimClient.BLOCK < head.lengthBytes(); block++) {
                    BadBlock b = new BadBlock(pg, head.key(), block);
                    if (readBlock(b) == null) {
                        damaged.add(b);
                    }
                }
            }
        }
        if (store.waitsForRepair()) {
            store.flushAll();
            noteSplits();
        }
        store.foundDamage()
                .forEach(d ->
                        told.add(new BadBlock(d.pg(), new Key(d.inode(), d.chunk()), d.block())));
        told.removeIf(b -> !has(b.pg()) || readBlock(b) != null);
        damaged.addAll(told);
        if (damaged.isEmpty() && !store.waitsForRepair()) {
            maybeFlipped = false;
        }
        return List.copyOf(damaged);
    }

    @Override
    List<BadBlock> damaged() {
        return damaged.stream().filter(b -> has(b.pg()) && readBlock(b) == null).toList();
    }

    @Override
    boolean isDamaged(int pg, Key key, Cells cells) {
        return cells.blocks().anyMatch(b -> damaged.contains(new BadBlock(pg, key, b)));
    }

    @Override
    @Nullable VersionedBlock readBlock(BadBlock b) {
        return store.readBlock(b.pg(), b.key().inode(), b.key().chunk(), b.block());
    }

    @Override
    VersionedBlock asOwn(BadBlock b, VersionedBlock other) {
        ChunkVersion own = found(b.pg(), b.key()).map(ContentHead::version).orElse(other.version());
        return new VersionedBlock(own, other.content());
    }

    private Optional<ContentHead> found(int pg, Key key) {
        return store.heads(pg, new Key(key.inode(), key.chunk() - 1), 1).stream()
                .filter(h -> h.key().equals(key))
                .findFirst();
    }

    /**
     * Void if the chunk has changed since the right one was read, or if content is lacking here: a
     * chunk that is yet to be copied may be of the same version, by what was written to it since.
     */
    @Override
    void repair(BadBlock b, VersionedBlock right) {
        BlockRepair repair =
                new BlockRepair(
                        b.key().inode(),
                        b.key().chunk(),
                        b.block(),
                        right.version(),
                        right.content());
        RepairOutcome outcome = store.repair(b.pg(), repair);
        switch (outcome) {
            case LOGGED, CHANGED, LACKING -> {}
            case DIFFERENT, NO_SPACE ->
                    throw new AssertionError("disk %d: repair of %s: %s".formatted(id, b, outcome));
        }
    }

    @Override
    void flipBack() {
        if (flip != null) {
            store.flipBack(flip);
        }
    }

    @Override
    void dropTail(int pg, long kept) {
        super.dropTail(pg, kept);
        store.dropTail(pg, kept);
        maybeFlipped = flip != null;
        store.sync();
    }

    /** The store has what it has, which must be some prefix of the log. */
    @Override
    void crash(Random random) {
        store.crash(random.nextBoolean());
        maybeFlipped = flip != null;
        int least = synced();
        int survives = end();
        keep(survives);
        while (!differences().isEmpty()) {
            if (survives == least) {
                throw new AssertionError("disk %d after a crash: %s".formatted(id, differences()));
            }
            keep(--survives);
        }
        for (int pg : groups()) {
            if (isEnded(pg)) {
                continue;
            }
            long told = store.state(pg).committedSequence();
            if (told < leastCommitted(pg) || told > committed(pg)) {
                throw new AssertionError(
                        "disk %d knows %x as committed to %d, not %d to %d"
                                .formatted(id, pg, told, leastCommitted(pg), committed(pg)));
            }
            found(pg, told);
        }
    }

    private List<String> differences() {
        List<String> all = new ArrayList<>();
        for (int pg : groups()) {
            String expected = place(super.state(pg));
            String found = place(store.state(pg));
            if (!found.equals(expected)) {
                all.add("%x is %s, not %s".formatted(pg, found, expected));
            }
        }
        return all;
    }

    /** Of a group that has ended here it is the store's which epochs it takes. */
    private static String place(PgLogState state) {
        if (state.lastSequence() == 0) {
            return "at the beginning";
        }
        return "at (%d, %d), with %s"
                .formatted(state.lastEpoch(), state.lastSequence(), state.content());
    }

    @Override
    public void close() {
        store.close();
    }

    // ---- questions ----------------------------------------------------------------------------

    @Override
    PgLogState state(int pg) {
        PgLogState found = store.state(pg);
        PgLogState expected = super.state(pg);
        if (isEnded(pg)) {
            return expected;
        }
        if (!place(found).equals(place(expected))
                || found.committedSequence() != expected.committedSequence()) {
            throw new AssertionError("disk %d: %s, not %s".formatted(id, found, expected));
        }
        return found;
    }

    @Override
    @Nullable List<PgLogEntry> after(int pg, long sequence) {
        @Nullable List<PgLogEntry> found = store.entries(pg, sequence);
        if (found != null) {
            for (PgLogEntry e : found) {
                String expected = identity(get(pg, e.sequence()));
                if (!identity(e).equals(expected)) {
                    throw new AssertionError(
                            "disk %d logged %s, not %s".formatted(id, identity(e), expected));
                }
            }
        }
        return found;
    }

    @Override
    @Nullable Chunk chunk(int pg, Key key) {
        @Nullable Chunk expected = super.chunk(pg, key);
        @Nullable ContentHead found = found(pg, key).orElse(null);
        String there = found == null ? "nothing" : found.lengthBytes() + " bytes";
        String wanted = expected == null ? "nothing" : expected.lengthBytes() + " bytes";
        if (isComplete(pg) && !there.equals(wanted)) {
            throw new AssertionError(
                    "disk %d, %x: %s has %s, not %s".formatted(id, pg, key, there, wanted));
        }
        return expected;
    }

    @Override
    long truncateSequence(int pg, Key key) {
        long expected = super.truncateSequence(pg, key);
        long found = store.truncateSequence(pg, key.inode(), key.chunk());
        if (isComplete(pg) && found != expected) {
            throw new AssertionError(
                    "disk %d, %x: %s is cut by truncation %d, not %d"
                            .formatted(id, pg, key, found, expected));
        }
        return found;
    }

    @Override
    List<Piece> read(int pg, Key key, Cells cells) {
        List<Piece> expected = super.read(pg, key, cells);
        byte[] found;
        try {
            found = store.read(pg, key.inode(), key.chunk(), cells.offset(), cells.length());
        } catch (CorruptBlockException e) {
            if (!hasFlipped() || e.block() == CorruptBlockException.UNKNOWN) {
                throw new AssertionError("disk %d, %x".formatted(id, pg), e);
            }
            damaged.add(new BadBlock(pg, key, e.block()));
            return expected;
        }
        cells.blocks().forEach(block -> damaged.remove(new BadBlock(pg, key, block)));
        if (isComplete(pg) && !isTaken(pg, key)) {
            checkBytes(pg, key, cells, expected, Arrays.copyOf(found, cells.length()));
        }
        return expected;
    }

    private void checkBytes(int pg, Key key, Cells cells, List<Piece> expected, byte[] found) {
        byte[] wanted = new byte[cells.length()];
        for (Piece p : expected) {
            DataOp op = p.write().op();
            p.cells()
                    .content(op.session(), op.number())
                    .getBytes(0, wanted, p.cells().offset() - cells.offset(), p.cells().length());
        }
        int wrong = Arrays.mismatch(found, wanted);
        if (wrong >= 0) {
            int cell = wrong / Cells.BYTES;
            int from = cell * Cells.BYTES;
            throw new AssertionError(
                    "disk %d, %x: cell %d of %s is not as in %s but %s"
                            .formatted(
                                    id,
                                    pg,
                                    cells.first() + cell,
                                    key,
                                    expected,
                                    Arrays.toString(
                                            Arrays.copyOfRange(found, from, from + Cells.BYTES))));
        }
    }

    @Override
    Map<Key, String> content(int pg) {
        Map<Key, String> all = new TreeMap<>();
        for (ContentHead head : store.heads(pg, Key.FIRST, MOST)) {
            all.put(head.key(), head + " with " + bytes(pg, head));
        }
        return all;
    }

    private String bytes(int pg, ContentHead head) {
        Key key = head.key();
        try {
            byte[] found = store.read(pg, key.inode(), key.chunk(), 0, head.lengthBytes());
            return "%d bytes %08x".formatted(found.length, Arrays.hashCode(found));
        } catch (CorruptBlockException e) {
            throw new AssertionError("disk %d, %x: %s".formatted(id, pg, head), e);
        }
    }

    @Override
    ContentPage list(int pg, long number, Key after) {
        List<ContentHead> heads = store.heads(pg, after, PAGE);
        return new ContentPage(number, heads, heads.size() < PAGE);
    }

    // ---- copies -------------------------------------------------------------------------------

    /** As the store reads it: an inode as a whole, or a chunk. */
    private static final class StoreRead extends CopyRead {
        private final @Nullable InodeCopy whole;
        private final @Nullable ChunkCopy piece;

        StoreRead(CopyRead read, @Nullable InodeCopy whole, @Nullable ChunkCopy piece) {
            super(read.chunk, read.truncated, read.removed);
            this.whole = whole;
            this.piece = piece;
        }

        @Override
        boolean isDamaged() {
            return whole == null && piece == null;
        }
    }

    @Override
    CopyRead readCopy(int pg, Copy copy, Base base) {
        CopyRead read = super.readCopy(pg, copy, base);
        if (copy.chunk() == Key.INODE) {
            return new StoreRead(read, store.readInode(pg, copy.inode()), null);
        }
        long since = leavesOut && base.lengthBytes() > 0 ? LATER : base.completeSequence();
        Rest rest = new Rest(0, since, base.lengthBytes());
        return new StoreRead(read, null, store.readChunk(pg, copy.inode(), copy.chunk(), rest));
    }

    @Override
    void copied(int pg, Copy copy, CopyRead read, Runnable durable) {
        StoreRead of = (StoreRead) read;
        super.copied(pg, copy, read, durable);
        if (of.piece != null) {
            store.copyChunk(pg, of.piece);
        } else if (of.whole != null) {
            store.copyInode(pg, copy.inode(), of.whole);
        }
    }
}
