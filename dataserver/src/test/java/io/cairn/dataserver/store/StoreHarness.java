package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.dataserver.chunk.ChunkId;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FaultDevices;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A store on devices that lose power, beside a model of it. Does random operations, crashes,
 * reopens, compares. The flusher runs only when told, on the test's thread.
 */
final class StoreHarness implements AutoCloseable {
    static final UUID CLUSTER = new UUID(1, 2);
    static final int PGS = 3;
    static final int INODES = 4;
    static final int CHUNKS = 4;
    private static final int MAX_HELD_BACK = 20;

    final TestLayout layout = new TestLayout(4096 * 2, 2, 4096 * 8);
    final FaultDevices devices;
    final DiskConfig config;
    final Random random;
    private final IndexDatabases databases = databases();
    private final Map<Integer, ModelPg> model = new HashMap<>();
    private final Map<Long, Long> truncateSequences = new HashMap<>();
    private final Map<Long, List<long[]>> pendingTruncations = new HashMap<>();
    private final LinkedBlockingQueue<Runnable> durable = new LinkedBlockingQueue<>();
    final List<String> fatal = new CopyOnWriteArrayList<>();
    private @Nullable LocalDiskStore store;
    private long epoch = 1;
    private int pgs = PGS;
    private int inodes = INODES;
    private int chunks = CHUNKS;
    private int writesPercent = 62;
    private boolean tolerant;
    private int refused;
    private Set<Integer> heldBack = Set.of();

    StoreHarness(Path directory, long seed) {
        this(directory, seed, 8 << 20, 12, 64 << 10);
    }

    /** With a data file of which a file system keeps slabs; it is several times as large. */
    static StoreHarness inRoom(Path directory, long seed, long capacity, FaultDevices.Room room) {
        StoreHarness h = new StoreHarness(directory, seed, capacity, 16, 64 << 10);
        h.devices.in(room);
        return h;
    }

    StoreHarness(Path directory, long seed, long capacity, int segments, int segmentBytes) {
        this.random = new Random(seed);
        this.devices = new FaultDevices(random.nextLong());
        this.config =
                new DiskConfig(
                        directory.resolve("data"),
                        directory.resolve("wal"),
                        directory.resolve("index"),
                        capacity,
                        (long) segments * segmentBytes,
                        segmentBytes,
                        64 << 10,
                        0,
                        1,
                        1,
                        5000);
        for (int pg = 0; pg < PGS; pg++) {
            model.put(pg, new ModelPg());
        }
    }

    /** The index's memory is lost with the process: what only RocksDB's close would save is not. */
    static IndexDatabases databases() {
        RocksConfig rocks =
                Config.parse(
                        "test.toml",
                        "[options]\navoid_flush_during_shutdown = \"true\"\n",
                        RocksConfig.class);
        return new IndexDatabases(
                rocks,
                new RocksMemory(ByteSize.ofMiB(16), ByteSize.ofMiB(4)),
                Meters.unpublished());
    }

    LocalDiskStore store() {
        LocalDiskStore s = store;
        if (s == null) {
            throw new IllegalStateException("not open");
        }
        return s;
    }

    ModelPg model(int pg) {
        ModelPg m = model.get(pg);
        if (m == null) {
            throw new IllegalArgumentException("PG " + pg);
        }
        return m;
    }

    void open() throws DiskOpenException {
        open(false);
    }

    /** With the threads that flush and keep space, if so. */
    void open(boolean background) throws DiskOpenException {
        store =
                LocalDiskStore.open(
                        config,
                        CLUSTER,
                        new DiskRuntime(databases, devices, this::fatal, background));
    }

    private void fatal(String what, Throwable cause) {
        fatal.add(what + ": " + cause.getMessage());
        devices.cutPower();
    }

    /** Whether reads may be refused from now on. */
    void tolerate(boolean refusals) {
        tolerant = refusals;
    }

    /** Ends the process: with the power, or by kill. */
    void crash(boolean power) {
        devices.cutPower();
        store().abandon();
        store = null;
        durable.forEach(Runnable::run);
        durable.clear();
        if (power) {
            devices.restorePower();
        } else {
            devices.restartProcess();
        }
    }

    /** Ends the process in order. */
    void shutDown() {
        store().close();
        store = null;
        takeAcknowledgements();
    }

    /** Ends the process in order while nothing is committed, so that all stays in the log. */
    void shutDownWithoutFlush() {
        store().close();
        store = null;
    }

    @Override
    public void close() {
        if (store != null) {
            shutDown();
        }
        databases.memory().close();
    }

    long epoch() {
        return epoch;
    }

    void newEpoch() {
        epoch++;
    }

    // ---- random work

    /** From now on all random work meets in two chunks of one inode, with many truncations. */
    void crowd() {
        writesPercent = 46;
        pgs = 1;
        inodes = 1;
        chunks = 2;
    }

    /**
     * From now on only operations of these PGs that are older than their {@value #MAX_HELD_BACK}
     * newest get committed.
     */
    void holdBack(Integer... pgs) {
        heldBack = Set.of(pgs);
    }

    /** What may be committed of what is acknowledged. */
    private long committable(int pg, ModelPg m) {
        return heldBack.contains(pg)
                ? Math.max(m.committed, m.acknowledged - MAX_HELD_BACK)
                : m.acknowledged;
    }

    /** Does up to that many steps; ends early when power is cut. */
    void work(int steps) {
        for (int i = 0; i < steps && !devices.isCut(); i++) {
            int what = random.nextInt(100);
            int pg = random.nextInt(pgs);
            if (what < writesPercent) {
                write(pg);
            } else if (what < 67) {
                truncate(pg);
            } else if (what < 70) {
                delete(pg);
            } else if (what < 72) {
                epoch += random.nextInt(2);
                append(pg, Ops.noop(pg, epoch, model(pg).last() + 1), 0, 0, new byte[0], 0);
            } else if (what < 75) {
                dropTail(pg);
            } else if (what < 82) {
                awaitDurable();
            } else if (what < 90) {
                commit(pg);
            } else if (what < 94) {
                store().flushThread().step();
            } else if (what < 97) {
                publish();
            } else if (what < 98) {
                commitAll();
                store().flushThread().flushAll();
            } else {
                compareOne(pg);
            }
            if (devices.isCut()) {
                return; // perhaps while a tail was dropped, of which the model has not heard
            }
            forgetSome();
            if (store().walFillRatio() > 0.6) {
                relieveSome();
            }
            if (store().admissibleBytes() < 1 << 20) {
                deleteAll();
            }
        }
    }

    /** A round of the flusher in the index, whose operations the overlays forget step by step. */
    private void publish() {
        try {
            store().flushThread().flusher().publish();
        } catch (IOException | RuntimeException e) {
            devices.cutPower(); // as the flusher's thread would
        }
    }

    /** Reads before and after some of what is in the index is forgotten, if there is any. */
    private void forgetSome() {
        if (random.nextBoolean()
                && store().flushThread().flusher().forgetSome(1 + random.nextInt(3))) {
            for (int pg = 0; pg < pgs; pg++) {
                compareOne(pg);
            }
        }
    }

    void relieve() {
        awaitDurable();
        commitAll();
        store().flushThread().flushAll();
    }

    private void relieveSome() {
        if (random.nextBoolean()) {
            relieve();
        } else {
            awaitDurable();
            commitAll();
            store().flushThread().step();
        }
    }

    private void deleteAll() {
        for (int pg = 0; pg < PGS; pg++) {
            for (int inode = 1; inode <= INODES; inode++) {
                appendDelete(pg, inode);
            }
        }
        relieve();
    }

    void write(int pg) {
        long inode = 1 + random.nextInt(inodes);
        int chunk = random.nextInt(chunks);
        int max = layout.chunkSize();
        int offset = random.nextInt(max);
        int length = 1 + random.nextInt(random.nextInt(10) == 0 ? max - offset : 6000);
        length = Math.min(length, max - offset);
        if (random.nextBoolean()) {
            offset &= -4096;
            length = Math.min((length + 4095) & -4096, max - offset);
        }
        byte[] payload = new byte[length];
        random.nextBytes(payload);
        List<Cut> cuts = new ArrayList<>();
        long known = 0;
        for (long[] t : pendingTruncations.getOrDefault(inode, List.of())) {
            cuts.add(new Cut(t[0], layout.cut(chunk, t[1])));
            known = t[0];
        }
        known = Math.max(known, truncateSequences.getOrDefault(inode, 0L));
        PgLogEntry e =
                Ops.write(
                        pg,
                        epoch,
                        model(pg).last() + 1,
                        inode,
                        chunk,
                        offset,
                        payload,
                        known,
                        cuts);
        append(pg, e, inode, chunk, payload, 0);
    }

    private void truncate(int pg) {
        long inode = 1 + random.nextInt(inodes);
        List<long[]> pending = pendingTruncations.computeIfAbsent(inode, k -> new ArrayList<>());
        if (pending.size() < 3 && random.nextBoolean()) {
            long sequence = truncateSequences.merge(inode, 1L, Long::sum);
            pending.add(new long[] {sequence, random.nextInt(chunks * layout.chunkSize())});
            return;
        }
        if (pending.isEmpty()) {
            return;
        }
        long[] t = pending.removeFirst();
        for (int p = 0; p < PGS; p++) {
            PgLogEntry e = Ops.truncate(p, epoch, model(p).last() + 1, inode, t[0], t[1], layout);
            append(p, e, inode, 0, new byte[0], t[1]);
        }
    }

    private void delete(int pg) {
        appendDelete(pg, 1 + random.nextInt(inodes));
    }

    void appendDelete(int pg, long inode) {
        PgLogEntry e = Ops.delete(pg, epoch, model(pg).last() + 1, inode);
        append(pg, e, inode, 0, new byte[0], 0);
    }

    void append(int pg, PgLogEntry e, long inode, int chunk, byte[] payload, long size) {
        ModelPg m = model(pg);
        m.history().add(new ModelPg.Op(e, inode, chunk, payload, size, new long[] {inode}));
        store().append(e, () -> durable.add(() -> m.acknowledge(e)));
    }

    private void dropTail(int pg) {
        ModelPg m = model(pg);
        awaitDurable();
        if (devices.isCut() || m.last() == m.committed) {
            return;
        }
        dropTail(pg, m.committed + random.nextInt((int) (m.last() - m.committed) + 1));
    }

    void dropTail(int pg, long kept) {
        ModelPg m = model(pg);
        CountDownLatch done = new CountDownLatch(1);
        m.acknowledged = Math.min(m.acknowledged, kept);
        store().dropTail(pg, kept, done::countDown);
        await(done);
        if (done.getCount() == 0) {
            m.keep(kept);
            epoch++;
        }
    }

    void commit(int pg) {
        takeAcknowledgements();
        ModelPg m = model(pg);
        long behind = committable(pg, m) - m.committed;
        if (behind > 0) {
            m.committed += 1 + random.nextInt((int) behind);
            store().commit(pg, m.committed);
        }
    }

    void commitAll() {
        takeAcknowledgements();
        for (int pg = 0; pg < PGS; pg++) {
            ModelPg m = model(pg);
            m.committed = Math.max(m.committed, committable(pg, m));
            if (m.committed > 0) {
                store().commit(pg, m.committed);
            }
        }
    }

    /** Returns when everything appended is durable or power is cut. */
    void awaitDurable() {
        ModelPg m = model(0);
        append(0, Ops.noop(0, epoch, m.last() + 1), 0, 0, new byte[0], 0);
        try {
            while (!devices.isCut() && !allAcknowledged()) {
                Runnable next = durable.poll(20, TimeUnit.MILLISECONDS);
                if (next != null) {
                    next.run();
                } else {
                    relieveIfFull();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private boolean allAcknowledged() {
        return model.values().stream().allMatch(m -> m.acknowledged == m.last());
    }

    /** While the WAL is full only the flusher, which is this thread, can make room. */
    private void relieveIfFull() {
        if (store().walFillRatio() > 0.9) {
            holdBack(); // what is held back is too much to be logged once more
        }
        if (store().walFillRatio() > 0.5) {
            commitAll();
            store().flushThread().flushAll();
        }
    }

    private void await(CountDownLatch done) {
        try {
            while (!devices.isCut() && !done.await(20, TimeUnit.MILLISECONDS)) {
                relieveIfFull();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private void takeAcknowledgements() {
        for (Runnable r = durable.poll(); r != null; r = durable.poll()) {
            r.run();
        }
    }

    // ---- comparing

    /** After reopening: nothing acknowledged is missing; from now on the store's history counts. */
    void adoptRecovered() {
        for (int pg = 0; pg < PGS; pg++) {
            ModelPg m = model(pg);
            PgLogState state = store().logState(pg);
            assertThat(state.lastSequence())
                    .as("last sequence of PG %d", pg)
                    .isBetween(Math.max(m.acknowledged, m.committed), m.last());
            m.keep(state.lastSequence());
            m.acknowledged = m.last();
            m.committed = committable(pg, m);
            if (m.last() > 0) {
                assertThat(state.lastEpoch()).isEqualTo(m.history().getLast().entry().epoch());
            }
            if (m.committed > 0) {
                commitInSteps(pg, m.committed);
            }
        }
        epoch++;
    }

    /** As the replication does after a restart: the flusher takes other operations together. */
    private void commitInSteps(int pg, long last) {
        long at = store().logState(pg).committedSequence();
        for (int steps = random.nextInt(6); steps > 0 && at < last && !devices.isCut(); steps--) {
            at += 1 + random.nextInt((int) (last - at));
            store().commit(pg, at);
            store().flushThread().step();
        }
        store().commit(pg, last);
    }

    /** Bytes are either right or refused. */
    int compareAllAllowingCorruption() {
        boolean before = tolerant;
        tolerant = true;
        refused = 0;
        compareAll();
        tolerant = before;
        return refused;
    }

    void compareAll() {
        for (int pg = 0; pg < PGS; pg++) {
            Map<ChunkId, ModelPg.Content> expected = model(pg).replay(layout);
            for (long inode = 1; inode <= INODES; inode++) {
                for (int chunk = 0; chunk < CHUNKS; chunk++) {
                    compare(pg, inode, chunk, 0, layout.chunkSize() + 4096, expected);
                }
            }
        }
    }

    private void compareOne(int pg) {
        int offset = random.nextInt(layout.chunkSize());
        compare(
                pg,
                1 + random.nextInt(inodes),
                random.nextInt(chunks),
                offset,
                1 + random.nextInt(20_000),
                model(pg).replay(layout));
        compareLog(pg, random.nextInt((int) model(pg).last() + 1));
    }

    /**
     * What the log gives of the history behind an operation is all of that, unless there is damage:
     * an operation's own bytes are not repaired.
     *
     * @return whether it does not reach back so far
     */
    boolean compareLog(int pg, long after) {
        List<PgLogEntry> found;
        boolean damaged = tolerant || devices.isCut() || devices.hasFlipped();
        try {
            found = store().entries(pg, after);
        } catch (FsException e) {
            // The power may go while it is read.
            assertThat(damaged || devices.isCut() || e.errno() == Errno.ENODATA)
                    .as("%s", e)
                    .isTrue();
            return true;
        }
        long sequence = after;
        for (PgLogEntry e : found) {
            ModelPg.Op op = model(pg).history().get((int) sequence++);
            assertThat(e.sequence()).isEqualTo(sequence);
            assertThat(e.epoch()).isEqualTo(op.entry().epoch());
            assertThat(e.op().type()).isEqualTo(op.entry().op().type());
            if (e.op().type() == DataOpType.WRITE) {
                assertThat(ByteBufUtil.getBytes(e.payload())).isEqualTo(op.payload());
            }
            e.payload().release();
        }
        assertThat(damaged || devices.isCut() || sequence == model(pg).last())
                .as("up to %d", sequence)
                .isTrue();
        return false;
    }

    private void compare(
            int pg,
            long inode,
            int chunk,
            int offset,
            int length,
            Map<ChunkId, ModelPg.Content> expected) {
        ModelPg.Content c = expected.get(new ChunkId(inode, chunk));
        byte[] all = c == null ? new byte[0] : c.bytes;
        String where = String.format("PG %d inode %d chunk %d", pg, inode, chunk);
        byte[] got;
        try {
            got = read(store(), pg, inode, chunk, offset, length);
        } catch (CorruptBlockException e) {
            if (devices.isCut()) {
                return;
            }
            if (tolerant) {
                refused++;
                return;
            }
            throw new AssertionError(where, e);
        }
        int n = Math.clamp((long) all.length - offset, 0, length);
        assertThat(got.length).as("length of " + where).isEqualTo(n);
        for (int i = 0; i < n; i++) {
            if (got[i] != all[offset + i]) {
                throw new AssertionError(where + " differs at byte " + (offset + i));
            }
        }
    }

    /** Reads and verifies the checksums that come along. */
    static byte[] read(DiskStore store, int pg, long inode, int chunk, int offset, int length)
            throws CorruptBlockException {
        CompletableFuture<byte[]> read = new CompletableFuture<>();
        CompletableFuture<int[]> crcs = new CompletableFuture<>();
        store.read(
                pg,
                inode,
                chunk,
                offset,
                length,
                (@Nullable ByteBuf data,
                        int[] blockCrcs,
                        @Nullable CorruptBlockException failure) -> {
                    if (data == null) {
                        read.completeExceptionally(
                                failure == null ? new IllegalStateException() : failure);
                    } else {
                        byte[] bytes = new byte[data.readableBytes()];
                        data.readBytes(bytes);
                        data.release();
                        crcs.complete(blockCrcs);
                        read.complete(bytes);
                    }
                });
        try {
            byte[] bytes = read.get(30, TimeUnit.SECONDS);
            int[] expected = bytes.length == 0 ? new int[0] : Ops.blockCrcs(offset, bytes);
            assertThat(crcs.join()).isEqualTo(expected);
            return bytes;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CorruptBlockException c) {
                throw c;
            }
            throw new AssertionError(e);
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }
}
