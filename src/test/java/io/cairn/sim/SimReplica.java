package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.common.errno.Errno;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.pg.Merges;
import io.cairn.dataserver.pg.Splits;
import io.cairn.dataserver.replication.ContentPage;
import io.cairn.dataserver.replication.DiskSpace;
import io.cairn.dataserver.replication.OpAnswer;
import io.cairn.dataserver.replication.PeerAnswer;
import io.cairn.dataserver.replication.PgHistory;
import io.cairn.dataserver.replication.PgLimits;
import io.cairn.dataserver.replication.PgOutputs;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.replication.Prepare;
import io.cairn.dataserver.replication.PrepareAnswer;
import io.cairn.dataserver.replication.ReadMask;
import io.cairn.dataserver.replication.RecoveryOutputs;
import io.cairn.dataserver.replication.SpaceLedger;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.wal.Completeness;
import io.cairn.sim.ClusterSim.Fault;
import io.cairn.sim.SimDisk.BadBlock;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One real {@link PgReplica} between its simulated disk and the other members. */
final class SimReplica implements PgOutputs, RecoveryOutputs {
    private static final PgLimits LIMITS =
            new PgLimits(64, 1 << 20, 1024, 100 * MILLI, 25 * MILLI, 750 * MILLI, 1500 * MILLI);
    private static final long READ_AGAIN = 100 * MILLI;
    private static final DiskSpace SPACE = new DiskSpace(1L << 40, false);

    final SimDisk disk;
    final PgReplica replica;
    private final SimDataServer server;
    private final SimDataServer.SimLoop loop;
    private final ClusterSim cluster;
    private final Simulation sim;
    private final int pg;

    SimReplica(
            SimDataServer server,
            SimDataServer.SimLoop loop,
            SimDisk disk,
            int pg,
            SpaceLedger ledger) {
        this.server = server;
        this.loop = loop;
        this.disk = disk;
        this.pg = pg;
        cluster = server.cluster;
        sim = server.sim;
        replica = new PgReplica(pg, disk.id, LIMITS, this, ledger);
    }

    // ---- reads --------------------------------------------------------------------------------

    void read(DataOp op, SimDataServer.ReadAnswer client) {
        SimDataServer.ReadAnswer answer = watched(client);
        @Nullable RpcStatus refusal = replica.admitRead(op);
        if (refusal != null) {
            answer.fail(refusal);
            return;
        }
        long admitted = replica.epoch();
        Key key = new Key(op.inode(), op.chunk());
        long truncated = disk.truncateSequence(pg, key);
        Cells cells = Cells.of(op);
        Cells early = cells.before(cells.first() + earlyCells(cells));
        List<Piece> before = early.isEmpty() ? List.of() : disk.read(pg, key, early);
        server.after(
                sim.upTo(3 * MILLI),
                () -> {
                    List<Piece> rest = disk.read(pg, key, cells.from(early.end()));
                    if (disk.isDamaged(pg, key, cells)) {
                        loop.execute(() -> readElsewhere(op, admitted, answer));
                        return;
                    }
                    long applied = disk.truncateSequence(pg, key);
                    show(op, Piece.over(before, rest), truncated, applied, answer);
                    loop.execute(() -> {
                        if (cluster.fault == Fault.READ_UNCOMMITTED) {
                            answer.done();
                        } else {
                            replica.onReadDone(admitted, op, answer);
                        }
                    });
                });
    }

    /** Half of them, by a planted fault: read before the rest is. */
    private int earlyCells(Cells cells) {
        return cluster.fault == Fault.READ_IN_PARTS ? cells.count() / 2 : 0;
    }

    private SimDataServer.ReadAnswer watched(SimDataServer.ReadAnswer answer) {
        return new SimDataServer.ReadAnswer() {
            @Override
            public void seen(SimHistory.Seen seen) {
                answer.seen(seen);
            }

            @Override
            public void done() {
                cluster.history.shown(pg, replica.epoch(), server.name);
                answer.done();
            }

            @Override
            public void fail(RpcStatus status) {
                answer.fail(status);
            }
        };
    }

    /**
     * @param truncated truncation that what was found is masked by
     * @param applied the newest one that what was found has
     */
    private void show(
            DataOp op,
            List<Piece> found,
            long truncated,
            long applied,
            SimDataServer.ReadAnswer answer) {
        int visible = ReadMask.visibleBytes(op, truncated, op.length());
        Cells shown = Cells.ALL.before((op.offset() + visible) / Cells.BYTES);
        answer.seen(new SimHistory.Seen(Piece.within(found, shown), applied));
    }

    /** As {@code ReadCall}: a backup may lack what is uncommitted here, a cut too. */
    private void readElsewhere(DataOp op, long admitted, SimDataServer.ReadAnswer answer) {
        long truncated = disk.truncateSequence(pg, new Key(op.inode(), op.chunk()));
        replica.onReadFailed(
                admitted,
                new OpAnswer() {
                    @Override
                    public void done() {
                        askBackup(op, truncated, admitted, answer);
                    }

                    @Override
                    public void fail(RpcStatus status) {
                        answer.fail(status);
                    }
                });
    }

    /** A backup has it, as {@code CorruptReads} asks for it. */
    private void askBackup(
            DataOp op, long truncated, long admitted, SimDataServer.ReadAnswer answer) {
        Key key = new Key(op.inode(), op.chunk());
        Cells cells = Cells.of(op);
        long epoch = replica.epoch();
        boolean asked =
                askAnother(
                        epoch,
                        (other, reply) -> {
                            if (other.replica.admitFetch(epoch) != null) {
                                return;
                            }
                            List<Piece> found = other.disk.read(pg, key, cells);
                            long applied = other.disk.truncateSequence(pg, key);
                            if (!other.disk.isDamaged(pg, key, cells)) {
                                reply.accept(me -> {
                                    show(op, found, truncated, applied, answer);
                                    me.onReadDone(admitted, op, answer);
                                });
                            }
                        });
        if (!asked) {
            answer.fail(RpcStatus.fail(Errno.EIO, Advice.RETRY, "damaged everywhere"));
        }
    }

    // ---- repair -------------------------------------------------------------------------------

    /** Of the block as another member has it, as {@code Repairs} does it. */
    void repair(BadBlock block) {
        if (cluster.fault == Fault.REPAIR_OMITTED) {
            return;
        }
        long epoch = replica.epoch();
        var _ =
                askAnother(
                        epoch,
                        (other, reply) -> {
                            if (other.replica.admitMemberRead(epoch) == null) {
                                @Nullable VersionedBlock right =
                                        other.disk.readBlock(other.held(block));
                                if (right != null) {
                                    reply.accept(me -> {
                                        disk.repair(
                                                block,
                                                cluster.fault == Fault.REPAIR_OF_ANY_VERSION
                                                        ? disk.asOwn(block, right)
                                                        : right);
                                        syncSoon();
                                    });
                                }
                            }
                        });
    }

    /** Where a split was carried out, the block may be another group's by now. */
    private BadBlock held(BadBlock block) {
        Key key = block.key();
        if (loop.applied.isIn(pg, key.inode(), key.chunk())) {
            return block;
        }
        int now = loop.applied.pgOf(PgHash.poolOf(pg), key.inode(), key.chunk());
        return disk.has(now) ? new BadBlock(now, key, block.block()) : block;
    }

    /** Calls another member in sync, by the map here; false if there is none. */
    private boolean askAnother(
            long epoch, BiConsumer<SimReplica, Consumer<Consumer<PgReplica>>> method) {
        @Nullable PlacementGroup group = loop.applied.pg(pg);
        List<Integer> others =
                group == null
                        ? List.of()
                        : group.getInSyncList().stream().filter(d -> d != disk.id).toList();
        if (others.isEmpty()) {
            return false;
        }
        call(others.get(sim.random.nextInt(others.size())), epoch, method);
        return true;
    }

    // ---- own disk -----------------------------------------------------------------------------

    @Override
    public void append(PgLogEntry appended) {
        PgLogEntry entry = kept(appended);
        disk.append(pg, entry, () -> durable(entry));
        server.appended();
        if (cluster.fault == Fault.DURABLE_AT_APPEND) {
            durable(entry);
        }
        syncSoon();
    }

    /** What a primary makes itself it releases; what comes from clients here is never released. */
    private static PgLogEntry kept(PgLogEntry e) {
        return e.op().type() == DataOpType.SPLIT || e.op().type() == DataOpType.MERGE
                ? new PgLogEntry(
                        e.epoch(),
                        e.sequence(),
                        e.op(),
                        Unpooled.unreleasableBuffer(Unpooled.copiedBuffer(e.payload())))
                : e;
    }

    private void durable(PgLogEntry entry) {
        loop.execute(() -> replica.onDurable(entry.epoch(), entry.sequence()));
    }

    /** One sync for all groups of the disk. */
    private void syncSoon() {
        int end = disk.end();
        server.after(sim.upTo(10 * MILLI), () -> disk.synced(end).forEach(Runnable::run));
    }

    /** Now and then a disk has no room. */
    @Override
    public boolean appendIfRoom(PgLogEntry entry) {
        if (sim.chance(0.03)) {
            return false;
        }
        if (replica.state() == PgState.ACTIVE) {
            cluster.history.admitted(pg, entry);
        }
        append(entry);
        return true;
    }

    @Override
    public boolean overwrites(DataOp op) {
        return false;
    }

    @Override
    public boolean isFlushing() {
        return false;
    }

    @Override
    public void commit(long sequence) {
        for (long s = disk.committed(pg) + 1; s <= sequence; s++) {
            cluster.history.committed(pg, replica.epoch(), disk.get(pg, s));
        }
        disk.commit(pg, sequence);
        if (sim.random.nextInt(8) == 0) {
            disk.flush(pg, sim.random);
        }
    }

    @Override
    public @Nullable Split splitDue() {
        @Nullable Split split = Splits.of(loop.applied, pg);
        return split == null || disk.hasSplit(pg, split) ? null : split;
    }

    @Override
    public @Nullable Merge mergeDue() {
        @Nullable PlacementGroup child = loop.applied.merging().get(pg);
        if (child == null) {
            return null;
        }
        Merges.@Nullable End end = server.endOf(child.getPg(), disk.id);
        @Nullable Merge merge = Merges.due(loop.applied, pg, replica.epoch(), end);
        return merge == null || disk.hasMerge(pg, merge.child(), merge.epoch()) ? null : merge;
    }

    @Override
    public boolean isEnding() {
        @Nullable PlacementGroup group = loop.applied.pg(pg);
        boolean goesOn =
                cluster.fault == Fault.MERGE_UNNOTICED
                        || cluster.fault == Fault.MERGE_BEFORE_THE_END;
        return !goesOn && group != null && group.getMergeEpoch() > 0;
    }

    @Override
    public long firstMerge() {
        return disk.firstMerge(pg);
    }

    @Override
    public boolean mayJoin() {
        return !loop.applied.isTied(cluster.group(loop.applied, pg));
    }

    @Override
    public void dropTail(long kept) {
        server.after(
                sim.upTo(10 * MILLI),
                () -> {
                    disk.dropTail(pg, kept);
                    loop.execute(() -> replica.onTailDropped(kept));
                });
    }

    @Override
    public void readEntries(long after) {
        server.after(
                sim.upTo(10 * MILLI),
                () -> {
                    if (isLogDamaged()) {
                        loop.execute(replica::onEntriesFailed);
                        return;
                    }
                    @Nullable List<PgLogEntry> entries = disk.after(pg, after);
                    loop.execute(() -> replica.onEntries(entries == null ? List.of() : entries));
                });
    }

    @Override
    public PgLogState logState() {
        return disk.state(pg);
    }

    @Override
    public long truncateSequence(long inode, int chunk) {
        return cluster.fault == Fault.CUT_NOT_KNOWN
                ? 0
                : disk.truncateSequence(pg, new Key(inode, chunk));
    }

    @Override
    public DiskSpace space() {
        return SPACE;
    }

    // ---- other members ------------------------------------------------------------------------

    /**
     * Calls a method of another member's replica; the answer finds only the process that asked. No
     * answer within a while is told as one.
     */
    private void call(
            int to, long epoch, BiConsumer<SimReplica, Consumer<Consumer<PgReplica>>> method) {
        SimDataServer target = cluster.serverOf(to);
        boolean[] answered = {false};
        SimMachine.Process asking = server.process();
        Consumer<Consumer<PgReplica>> reply =
                action ->
                        cluster.network.send(
                                target,
                                server,
                                asking.only(() ->
                                        loop.execute(() -> {
                                            answered[0] = true;
                                            action.accept(replica);
                                        })));
        cluster.network.send(
                server,
                target,
                () ->
                        target.loopOf(pg)
                                .execute(() -> {
                                    @Nullable SimReplica other = target.replica(pg, to);
                                    if (other != null) {
                                        method.accept(other, reply);
                                    }
                                }));
        server.after(
                200 * MILLI,
                () -> {
                    if (!answered[0]) {
                        loop.execute(() -> replica.onPeerLost(to, epoch));
                    }
                });
    }

    @Override
    public void sendPrepare(Prepare sent) {
        Prepare p =
                new Prepare(
                        sent.targetDisk(),
                        sent.pgEpoch(),
                        sent.previousEpoch(),
                        sent.committedSequence(),
                        kept(sent.entry()));
        int to = p.targetDisk();
        if (cluster.fault == Fault.ACKNOWLEDGED_WHEN_SENT) {
            long sequence = p.entry().sequence();
            loop.execute(() -> replica.onPrepareReply(to, p.pgEpoch(), sequence, SPACE));
        }
        @Nullable PlacementGroup group = cluster.raft.map().pg(pg);
        boolean learner = group != null && !group.getInSyncList().contains(to);
        if (cluster.fault == Fault.LEARNER_NOT_WAITED_FOR && learner) {
            long sequence = p.entry().sequence();
            loop.execute(() -> replica.onPrepareReply(to, p.pgEpoch(), sequence, SPACE));
        }
        call(
                to,
                p.pgEpoch(),
                (other, reply) ->
                        other.replica.onPrepare(
                                p,
                                new PrepareAnswer() {
                                    @Override
                                    public void appended() {}

                                    @Override
                                    public void durable(long e, long s, DiskSpace free) {
                                        reply.accept(me -> me.onPrepareReply(to, e, s, free));
                                    }

                                    @Override
                                    public void gap(long e, long have, DiskSpace free) {
                                        reply.accept(me -> me.onPrepareGap(to, e, have));
                                    }

                                    @Override
                                    public void refuse(RpcStatus status) {
                                        reply.accept(me -> me.onPeerRefused(to, p.pgEpoch()));
                                    }
                                }));
    }

    @Override
    public void sendQuery(int to, long epoch) {
        call(
                to,
                epoch,
                (other, reply) ->
                        other.replica.onQuery(
                                epoch,
                                new PeerAnswer() {
                                    @Override
                                    public void history(long e, PgHistory h, DiskSpace free) {
                                        reply.accept(me -> me.onPeerHistory(to, e, h, free));
                                    }

                                    @Override
                                    public void refuse(RpcStatus status) {
                                        reply.accept(me -> me.onPeerRefused(to, epoch));
                                    }
                                }));
    }

    @Override
    public void sendFetch(int to, long epoch, long after) {
        call(
                to,
                epoch,
                (other, reply) -> {
                    if (other.isLogDamaged()) {
                        reply.accept(me -> me.onPeerRefused(to, epoch));
                        return;
                    }
                    @Nullable List<PgLogEntry> all = other.disk.after(pg, after);
                    if (all != null && other.replica.admitFetch(epoch) == null) {
                        List<PgLogEntry> some = all.subList(0, Math.min(3, all.size()));
                        reply.accept(me -> me.onFetched(to, epoch, some));
                    }
                });
    }

    @Override
    public void sendCommit(int to, long epoch, long sequence) {
        call(
                to,
                epoch,
                (other, reply) -> {
                    boolean taken = other.replica.onCommit(epoch, sequence) == null;
                    reply.accept(r -> {
                        if (taken) {
                            r.onPeerAlive(to, epoch);
                        } else {
                            r.onPeerRefused(to, epoch);
                        }
                    });
                });
    }

    // ---- learners -----------------------------------------------------------------------------

    @Override
    public RecoveryOutputs recovery() {
        return this;
    }

    /** A step at another member, which fails if no answer of it comes. */
    private void step(int to, long epoch, BiConsumer<SimReplica, Step> method, Step step) {
        boolean[] ended = {false};
        Consumer<Consumer<Step>> end =
                how -> {
                    if (!ended[0]) {
                        ended[0] = true;
                        how.accept(step);
                    }
                };
        Consumer<Step> lost = s -> s.failed(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "lost"));
        call(
                to,
                epoch,
                (other, reply) ->
                        method.accept(
                                other,
                                new Step() {
                                    @Override
                                    public void done() {
                                        reply.accept(me -> end.accept(Step::done));
                                    }

                                    @Override
                                    public void failed(RpcStatus status) {
                                        reply.accept(me -> end.accept(s -> s.failed(status)));
                                    }
                                }));
        server.after(300 * MILLI, () -> loop.execute(() -> end.accept(lost)));
    }

    @Override
    public void readEntriesFor(int to, long epoch, long after) {
        server.after(
                sim.upTo(10 * MILLI),
                () -> {
                    if (isLogDamaged()) {
                        server.after(
                                READ_AGAIN, () -> loop.execute(() -> readAgain(to, epoch, after)));
                        return;
                    }
                    @Nullable List<PgLogEntry> all = disk.after(pg, after);
                    List<PgLogEntry> some =
                            all == null ? List.of() : all.subList(0, Math.min(3, all.size()));
                    loop.execute(() -> replica.onEntriesFor(to, epoch, after, some));
                });
    }

    private void readAgain(int to, long epoch, long after) {
        if (replica.epoch() == epoch) {
            readEntriesFor(to, epoch, after);
        }
    }

    /** Of ten reads of a log one meets a damaged record, for the moment. */
    private boolean isLogDamaged() {
        return sim.chance(0.1);
    }

    @Override
    public void sendAsk(int to, long epoch, long number, long shared) {
        call(
                to,
                epoch,
                (other, reply) ->
                        other.replica.onAsk(
                                epoch,
                                number,
                                shared,
                                new PeerAnswer() {
                                    @Override
                                    public void history(long e, PgHistory h, DiskSpace free) {
                                        reply.accept(
                                                me -> me.onLearnerHistory(to, e, number, told(h)));
                                    }

                                    @Override
                                    public void refuse(RpcStatus status) {}
                                }));
    }

    private PgHistory told(PgHistory history) {
        Completeness content = history.content();
        boolean all = cluster.fault == Fault.COPIED_TAKEN_FOR_ALL && content.hasCopied();
        return new PgHistory(
                history.lastEpoch(),
                history.lastSequence(),
                cluster.fault == Fault.TAIL_TAKEN_FOR_COMMITTED
                        ? history.lastSequence()
                        : history.committedSequence(),
                history.epochStarts(),
                all ? content.copiedTo(content.copiedInode(), content.copiedChunk()) : content);
    }

    @Override
    public void sendReset(int to, long epoch, Reset reset, Step step) {
        step(to, epoch, (other, s) -> other.replica.onReset(epoch, reset, s), step);
    }

    @Override
    public void listContent(long epoch, long number, Key after) {
        server.after(
                sim.upTo(10 * MILLI),
                () -> {
                    ContentPage page = disk.list(pg, number, after);
                    server.after(
                            sim.chance(0.2) ? sim.upTo(3000 * MILLI) : 0, // it has much to do
                            () -> loop.execute(() -> replica.onOwnContent(epoch, page)));
                });
    }

    @Override
    public void sendListContent(int to, long epoch, long number, Key after) {
        call(
                to,
                epoch,
                (other, reply) -> {
                    ContentPage page =
                            cluster.fault == Fault.DELETED_CHUNK_KEPT
                                    ? new ContentPage(number, List.of(), true)
                                    : other.disk.list(pg, number, after);
                    boolean early =
                            cluster.fault == Fault.COPIED_TOLD_EARLY && !page.heads().isEmpty();
                    Key copied = early ? page.heads().getLast().key() : after;
                    if (other.replica.onListContent(epoch, number, copied) == null) {
                        reply.accept(me -> me.onPeerContent(to, epoch, page));
                    }
                });
    }

    @Override
    public boolean mayCopy(int to) {
        return sim.random.nextInt(8) > 0;
    }

    @Override
    public void copy(int to, long epoch, Copy copy, Base base, Step step) {
        server.after(
                sim.upTo(20 * MILLI),
                () -> {
                    SimDisk.CopyRead read = disk.readCopy(pg, copy, base);
                    if (read.isDamaged()) {
                        loop.execute(
                                () -> step.failed(RpcStatus.fail(Errno.EIO, "a damaged block")));
                        return;
                    }
                    step(to, epoch, (other, s) -> other.copied(epoch, copy, read, s), step);
                });
    }

    private void copied(long epoch, Copy copy, SimDisk.CopyRead read, Step step) {
        @Nullable RpcStatus refusal = replica.onCopy(epoch, copy);
        if (refusal != null) {
            step.failed(refusal);
            return;
        }
        if (cluster.fault == Fault.COPY_LOST && sim.random.nextInt(3) == 0) {
            loop.execute(step::done);
            return;
        }
        disk.copied(pg, copy, read, () -> loop.execute(step::done));
        syncSoon();
        if (cluster.fault == Fault.COPY_OUT_OF_ORDER) {
            server.after(sim.upTo(500 * MILLI), () -> disk.copied(pg, copy, read, () -> {}));
        }
    }

    @Override
    public void sendCompleted(int to, long epoch, long number, Step step) {
        step(to, epoch, (other, s) -> other.replica.onCompleted(epoch, number, s), step);
    }

    @Override
    public void askToJoin(int to, long epoch) {
        server.askToJoin(pg, epoch, to);
    }

    @Override
    public void reset(Reset reset, Step step) {
        disk.begin(pg, reset, () -> loop.execute(step::done));
        syncSoon();
    }

    @Override
    public void copiedTo(Key key) {
        disk.copiedTo(pg, key);
        syncSoon();
    }

    @Override
    public void completed(Step step) {
        disk.completed(pg, () -> loop.execute(step::done));
        syncSoon();
    }

    // ---- server -------------------------------------------------------------------------------

    @Override
    public void needMap() {
        server.needMap();
    }

    @Override
    public void memberSilent(int member, long epoch) {
        server.memberSilent(pg, epoch, member);
    }

    @Override
    public boolean isPoolFull() {
        return false;
    }

    @Override
    public boolean leaseValid() {
        return server.leaseValid();
    }

    @Override
    public void stateChanged(PgState state, String reason) {
        if (state == PgState.DAMAGED) {
            throw new AssertionError(
                    "placement group %x on disk %d is damaged: %s".formatted(pg, disk.id, reason));
        }
    }
}
