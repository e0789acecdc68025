package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.cairn.dataserver.wal.Completeness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A source, which does random work, and a learner of one of its PGs, which missed a part of it and
 * crashes. What the primary and the learner would do by messages is done here by calls.
 */
final class LearnerPair implements AutoCloseable {
    static final int PG = 0;

    final StoreHarness source;
    final StoreHarness learner;
    final Random random;

    /** What the learner has appended since its last reset or restart, and the position before. */
    private final ArrayDeque<PgLogEntry> appended = new ArrayDeque<>();

    private long appendedAfter;

    /** What is to be copied. */
    private final Set<Long> inodes = new HashSet<>();

    private final Set<ChunkId> chunks = new HashSet<>();

    /** Of the learner's chunks, when it was found what is to be copied. */
    private final Map<ChunkId, Integer> lengths = new HashMap<>();

    /** Position at which it was copied. */
    private final Map<Long, Long> copiedInodes = new HashMap<>();

    private final Map<ChunkId, Long> copiedChunks = new HashMap<>();

    /** What must survive, once it was said to be durable. */
    private volatile long durableSequence;

    private volatile long durableReset;
    private volatile boolean durableCompleted;

    /** Up to here the learner had all when it was reset. */
    private Completeness content = Completeness.NOTHING;

    LearnerPair(Path directory, long seed) throws IOException {
        random = new Random(seed);
        source =
                new StoreHarness(
                        Files.createDirectory(directory.resolve("source")), random.nextLong());
        learner =
                new StoreHarness(
                        Files.createDirectory(directory.resolve("learner")), random.nextLong());
    }

    LocalDiskStore store() {
        return learner.store();
    }

    private ModelPg model() {
        return source.model(PG);
    }

    private PgLogState state() {
        return store().logState(PG);
    }

    // ---- the course of things

    /** The learner has the first part of the history, not all of it flushed. */
    void begin(int steps) throws Exception {
        source.open();
        learner.open();
        source.work(steps);
        settleSource();
        appendMissing();
        flushSome();
    }

    /** The source goes on alone. */
    void miss(int steps) {
        source.work(steps);
        settleSource();
    }

    private void settleSource() {
        source.awaitDurable();
        source.commitAll();
    }

    /** Sets the learner to the position of the source; false if its power was cut. */
    boolean reset() {
        settleSource();
        PgLogState before = state();
        long kept = Math.min(before.lastSequence(), Math.max(common(), before.committedSequence()));
        if (kept < before.lastSequence() && !drop(kept)) {
            return false;
        }
        store().commit(PG, state().lastSequence());
        boolean distrusted = random.nextInt(4) == 0;
        content =
                distrusted
                        ? Completeness.NOTHING
                        : state().content().lackingAfter(state().lastSequence());
        PgLogEntry last = model().history().getLast().entry();
        durableReset = 0;
        durableCompleted = false;
        store().reset(
                        PG,
                        last.epoch(),
                        last.sequence(),
                        source.store().logState(PG).answered(),
                        distrusted,
                        () -> durableReset = last.sequence());
        appended.clear();
        appendedAfter = last.sequence();
        if (random.nextBoolean()) {
            flushSome();
        }
        assertThat(state().content()).isEqualTo(content);
        assertThat(state().lastSequence()).isEqualTo(last.sequence());
        assertThat(state().committedSequence()).isEqualTo(last.sequence());
        changed();
        return await(() -> durableReset == last.sequence());
    }

    /**
     * The learner's disk is no replica for a while, and loses what it has of the PG; or not all.
     */
    boolean discard() {
        settleSource();
        long kept = Math.max(common(), state().committedSequence());
        if (kept < state().lastSequence() && !drop(kept)) {
            return false;
        }
        store().commit(PG, state().lastSequence());
        AtomicBoolean done = new AtomicBoolean();
        store().discard(PG, () -> done.set(true));
        assertThat(state().content().sequence()).isZero();
        if (!await(done::get)) {
            return false;
        }
        for (ContentHead head : heads(store())) {
            if (random.nextInt(4) > 0) {
                store().removeContent(PG, head.key().inode(), () -> {});
            }
            relieve();
        }
        if (random.nextBoolean()) {
            flushSome();
        }
        return !learner.devices.isCut();
    }

    /** The last sequence up to which the learner's own history is the source's. */
    private long common() {
        long common = appendedAfter;
        for (PgLogEntry e : appended) {
            if (e.sequence() > model().last()
                    || model().history().get((int) e.sequence() - 1).entry() != e) {
                return common;
            }
            common = e.sequence();
        }
        return common;
    }

    private boolean drop(long kept) {
        AtomicBoolean done = new AtomicBoolean();
        store().dropTail(PG, kept, () -> done.set(true));
        while (!appended.isEmpty() && appended.getLast().sequence() > kept) {
            appended.removeLast();
        }
        copiedChunks.entrySet().removeIf(e -> e.getValue() > kept && chunks.add(e.getKey()));
        copiedInodes.entrySet().removeIf(e -> e.getValue() > kept && inodes.add(e.getKey()));
        boolean isAlive = await(done::get);
        durableSequence = Math.min(durableSequence, kept); // what is dropped was told of until then
        return isAlive;
    }

    /** What the learner has to get. */
    private void changed() {
        inodes.clear();
        chunks.clear();
        copiedInodes.clear();
        copiedChunks.clear();
        lengths.clear();
        for (ContentHead h : heads(store())) {
            lengths.put(new ChunkId(h.key().inode(), h.key().chunk()), h.lengthBytes());
        }
        for (ModelPg.Op op : model().history().subList(0, (int) model().last())) {
            DataOp head = op.entry().op();
            switch (head.type()) {
                case WRITE -> changed(op, op.chunk());
                case TRUNCATE_INODE, DELETE_INODES -> {
                    if (isLacked(op, Key.INODE)) {
                        inodes.add(op.inode());
                    }
                    for (int c = 0; c < StoreHarness.CHUNKS; c++) {
                        changed(op, c);
                    }
                }
                case NOOP, SPLIT, MERGE, READ -> {}
            }
        }
    }

    private void changed(ModelPg.Op op, int chunk) {
        if (isLacked(op, chunk)) {
            chunks.add(new ChunkId(op.inode(), chunk));
        }
    }

    private boolean isLacked(ModelPg.Op op, int chunk) {
        return op.entry().sequence() > content.of(op.inode(), chunk);
    }

    /** All that comes before what is left was copied. */
    private void tellCopied() {
        Key first = new Key(StoreHarness.INODES + 1, Key.INODE);
        for (long inode : inodes) {
            first = earlier(first, new Key(inode, Key.INODE));
        }
        for (ChunkId id : chunks) {
            first = earlier(first, new Key(id.inode(), id.chunk()));
        }
        store().copiedTo(PG, new Key(first.inode(), first.chunk() - 1));
    }

    private static Key earlier(Key a, Key b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    /** Copies everything while the source goes on; false if the learner's power was cut. */
    boolean copyAll() throws Exception {
        boolean inOrder = random.nextBoolean();
        while (!learner.devices.isCut() && !(inodes.isEmpty() && chunks.isEmpty())) {
            if (inOrder && random.nextInt(3) == 0) {
                tellCopied();
            }
            int what = random.nextInt(10);
            if (what < 4) {
                source.work(1 + random.nextInt(6));
            } else if (what < 5) {
                flushSome();
            }
            follow();
            if (!inodes.isEmpty()) {
                copyInode(pick(inodes, Comparator.naturalOrder(), inOrder));
            } else if (!chunks.isEmpty()) {
                copyChunk(
                        pick(
                                chunks,
                                Comparator.comparingLong(ChunkId::inode)
                                        .thenComparingInt(ChunkId::chunk),
                                inOrder));
            }
            relieve();
        }
        return !learner.devices.isCut();
    }

    private <T> T pick(Set<T> some, Comparator<T> order, boolean first) {
        List<T> all = new ArrayList<>(some);
        all.sort(order); // the seed decides, not the set
        if (!first) {
            Collections.shuffle(all, random);
        }
        return all.getFirst();
    }

    /** The learner has the history of the source. */
    void follow() {
        long common = common();
        if (common < state().lastSequence()) {
            drop(common);
        }
        appendMissing();
    }

    private void appendMissing() {
        int from = (int) state().lastSequence();
        for (ModelPg.Op op : List.copyOf(model().history()).subList(from, (int) model().last())) {
            PgLogEntry e = op.entry();
            store().append(e, () -> durableSequence = Math.max(durableSequence, e.sequence()));
            appended.add(e);
            relieve();
        }
        store().commit(PG, model().committed);
    }

    private void copyInode(long inode) {
        inodes.remove(inode);
        long sequence = source.store().inodeTruncateSequence(PG, inode);
        boolean gone = heads(source.store()).stream().noneMatch(h -> h.key().inode() == inode);
        if (gone) {
            store().removeContent(PG, inode, () -> {});
        } else {
            store().copyInode(PG, inode, sequence, () -> {});
        }
        copiedInodes.put(inode, state().lastSequence());
    }

    private void copyChunk(ChunkId id) throws Exception {
        chunks.remove(id);
        int maxBytes = 4096 * (1 + random.nextInt(8));
        long since = random.nextInt(4) == 0 ? 0 : content.of(id.inode(), id.chunk());
        Rest rest = new Rest(0, since, lengths.getOrDefault(id, 0));
        boolean last = false;
        while (!last) {
            ChunkCopy piece = readCopy(source.store(), id, rest, maxBytes);
            last = piece.last();
            rest = last ? rest : rest.after(piece);
            try {
                assertThat(store().copy(PG, piece, () -> {})).isTrue();
            } finally {
                piece.content().release();
            }
            relieve();
            if (random.nextInt(4) == 0) {
                flushSome();
            }
        }
        copiedChunks.put(id, state().lastSequence());
        assertThat(store().pg(PG).content().head(new Key(id.inode(), id.chunk())))
                .isEqualTo(source.store().pg(PG).content().head(new Key(id.inode(), id.chunk())));
        compare(id);
    }

    static ChunkCopy readCopy(DiskStore from, ChunkId id, Rest rest, int maxBytes)
            throws Exception {
        CompletableFuture<ChunkCopy> read = new CompletableFuture<>();
        from.readCopy(
                PG,
                id.inode(),
                id.chunk(),
                rest,
                maxBytes,
                (@Nullable ChunkCopy piece, @Nullable CorruptBlockException failure) -> {
                    if (piece == null) {
                        read.completeExceptionally(
                                failure == null ? new IllegalStateException() : failure);
                    } else {
                        read.complete(piece);
                    }
                });
        return read.get(30, TimeUnit.SECONDS);
    }

    /** All is copied and committed; false if the learner's power was cut. */
    boolean complete() {
        settleSource();
        follow();
        store().completed(PG, () -> durableCompleted = true);
        assertThat(state().isComplete()).isTrue();
        return await(() -> durableCompleted);
    }

    /** Its power is not cut from now on; false if it was. */
    boolean staysAlive() {
        learner.devices.cutPowerIn(Long.MAX_VALUE / 2);
        return !learner.devices.isCut();
    }

    /** Ends the learner's process; it finds what was durable. */
    void crashAndRecover() throws Exception {
        learner.crash(random.nextInt(4) > 0);
        learner.open();
        PgLogState found = state();
        assertThat(found.lastSequence()).isGreaterThanOrEqualTo(durableSequence);
        assertThat(found.lastSequence()).isGreaterThanOrEqualTo(durableReset);
        if (durableCompleted) {
            assertThat(found.isComplete()).as("complete").isTrue();
        } else if (durableReset > 0 && !found.isComplete()) {
            assertThat(found.content().sequence()).isEqualTo(content.sequence());
        }
        adopt(found);
    }

    /** What the learner found in its log is its history now. */
    private void adopt(PgLogState found) {
        appended.removeIf(e -> e.sequence() > found.lastSequence());
        if (found.lastSequence() < appendedAfter) {
            appendedAfter = found.lastSequence(); // the reset was lost
            appended.clear();
        }
        durableSequence = 0;
        store().commit(PG, Math.min(common(), model().committed));
        readAll();
    }

    /** After a crash all that was changed since is copied anew; perhaps from a new position. */
    boolean goOn() throws Exception {
        if (state().isComplete()) {
            return durableCompleted || reset();
        }
        if (random.nextBoolean()) {
            return reset();
        }
        follow();
        settleSource();
        follow();
        content = state().content();
        changed();
        return !learner.devices.isCut();
    }

    // ---- the learner's disk

    void flushSome() {
        int what = random.nextInt(4);
        if (what == 0) {
            store().flushThread().flushAll();
        } else if (what == 1) {
            store().flushThread().step();
        } else {
            publish();
        }
    }

    private void publish() {
        try {
            store().flushThread().flusher().publish();
            store().flushThread().flusher().forgetSome(1 + random.nextInt(3));
        } catch (IOException | RuntimeException e) {
            learner.devices.cutPower(); // as the flusher's thread would
        }
    }

    private void relieve() {
        while (!learner.devices.isCut() && store().walFillRatio() > 0.6) {
            settleSource();
            store().commit(PG, Math.min(common(), model().committed));
            store().flushThread().flushAll();
            Thread.onSpinWait();
        }
    }

    private boolean await(BooleanSupplier done) {
        while (!done.getAsBoolean() && !learner.devices.isCut()) {
            relieve();
            Thread.onSpinWait();
        }
        return done.getAsBoolean();
    }

    // ---- comparing

    /** Whatever the learner has, it can be read. */
    private void readAll() {
        for (ContentHead head : heads(store())) {
            if (!head.key().isInode()) {
                try {
                    byte[] bytes = read(store(), head.key().inode(), head.key().chunk());
                    assertThat(bytes.length).isEqualTo(head.lengthBytes());
                } catch (CorruptBlockException e) {
                    if (!learner.devices.isCut()) {
                        throw new AssertionError(head.toString(), e);
                    }
                }
            }
        }
    }

    private byte[] read(LocalDiskStore from, long inode, int chunk) throws CorruptBlockException {
        return StoreHarness.read(from, PG, inode, chunk, 0, source.layout.chunkSize() + 4096);
    }

    private void compare(ChunkId id) throws Exception {
        try {
            assertThat(read(store(), id.inode(), id.chunk()))
                    .as(id.toString())
                    .isEqualTo(read(source.store(), id.inode(), id.chunk()));
        } catch (CorruptBlockException e) {
            if (!learner.devices.isCut()) {
                throw e;
            }
        }
    }

    /** Both have the same, and it is what the history says. */
    void compareAll() throws Exception {
        ModelPg.State expected = model().replay(source.layout, model().last());
        for (long inode = 1; inode <= StoreHarness.INODES; inode++) {
            for (int chunk = 0; chunk < StoreHarness.CHUNKS; chunk++) {
                byte[] got = read(store(), inode, chunk);
                assertThat(got)
                        .as("inode %d, chunk %d".formatted(inode, chunk))
                        .isEqualTo(expected.bytes(inode, chunk));
            }
        }
        List<ContentHead> heads = heads(store());
        assertThat(heads).isEqualTo(heads(source.store()));
        for (ContentHead h : heads) {
            Key k = h.key();
            assertThat(h.truncateSequence())
                    .isEqualTo(
                            k.isInode()
                                    ? expected.inodeSequences().getOrDefault(k.inode(), 0L)
                                    : expected.truncateSequence(k.inode(), k.chunk()));
        }
        assertThat(answered(store())).isEqualTo(answered(source.store()));
        assertThat(state().isComplete()).isTrue();
    }

    /** Numbers that are acknowledged may be told of or not. */
    private static List<String> answered(LocalDiskStore of) {
        return of.logState(PG).answered().stream()
                .map(a ->
                        a.session()
                                + Arrays.stream(a.numbers())
                                        .filter(n -> n >= a.ackedBelow())
                                        .boxed()
                                        .toList()
                                        .toString())
                .sorted()
                .toList();
    }

    List<ContentHead> heads(LocalDiskStore of) {
        List<ContentHead> all = new ArrayList<>();
        int max = 1 + random.nextInt(5);
        Key after = Key.FIRST;
        while (true) {
            List<ContentHead> some = of.heads(PG, after, max);
            all.addAll(some);
            if (some.size() < max) {
                return all;
            }
            after = some.getLast().key();
        }
    }

    /** All that was appended is durable: large writes have their blocks before their records. */
    void checkInvariants() throws Exception {
        AtomicBoolean logged = new AtomicBoolean();
        if (state().isComplete()) {
            store().completed(PG, () -> logged.set(true));
        } else {
            store().copyInode(PG, 0, 0, () -> logged.set(true));
        }
        await(logged::get);
        store().flushThread().flushAll();
        DiskInvariants.check(store());
        readAll();
    }

    @Override
    public void close() {
        source.close();
        learner.close();
    }
}
