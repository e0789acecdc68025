package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The primary's side: admission, ordering, sending to the backups, commit. What happens between a
 * new epoch and {@link PgState#ACTIVE} is in {@link Peering}. Owner's thread only.
 */
final class Primary {
    private static final long SILENCE_LOOK_NANOS = 250_000_000L;

    private final int pg;
    private final PgLimits limits;
    private final PgOutputs out;
    private final SpaceLedger ledger;
    private final PgSpace space;
    private final PgLog log;
    private final SessionWindows windows;
    private final InFlightRing ring;
    private final List<PeerProgress> peers = new ArrayList<>();
    private final List<WaitingRead> waitingReads = new ArrayList<>();
    private final Peering peering;
    private final Learners learners;
    private int[] members = {};
    private int[] backups = {};
    private long epoch;
    private long mapEpoch;
    private long nowNanos;
    private long askedNanos;
    private long lookedNanos;

    /** For silent members, in this epoch. */
    private boolean looked;

    private boolean belowMinimum;

    /** Whether the PG goes on if a member leaves. */
    private boolean canSpare;

    private PgState state = PgState.IDLE;

    private record WaitingRead(long sequence, OpAnswer answer) {}

    Primary(int pg, PgLimits limits, PgOutputs out, SpaceLedger ledger, PgLog log) {
        this.pg = pg;
        this.limits = limits;
        this.out = out;
        this.ledger = ledger;
        this.space = new PgSpace(ledger);
        this.log = log;
        windows = new SessionWindows(limits.maxNumbersPerSession());
        windows.restore(out.logState().answered());
        ring = new InFlightRing(log.lastSequence() + 1);
        peering = new Peering(this, out, log, ring);
        learners = new Learners(this, out, log, ring);
    }

    /**
     * @param who this disk is the first in sync
     */
    void newEpoch(long epoch, long mapEpoch, PgMembers who, long nowNanos) {
        this.epoch = epoch;
        this.mapEpoch = mapEpoch;
        members = who.inSync().stream().mapToInt(Integer::intValue).toArray();
        backups = Arrays.copyOfRange(members, 1, members.length);
        belowMinimum = who.belowMinimum();
        canSpare = who.inSync().size() > who.minSize() && who.learners().isEmpty();
        looked = false;
        this.nowNanos = nowNanos;
        peers.clear();
        for (int backup : backups) {
            peers.add(new PeerProgress(backup, nowNanos));
        }
        learners.newEpoch(who.learners(), nowNanos);
        if (belowMinimum) {
            // They may get committed, but by too few for anybody to rely on them.
            ring.forEach(op -> op.disown(tooFew()));
        }
        peering.start();
    }

    /** Another disk is the primary now, or the replica closes. */
    void close(RpcStatus status) {
        become(PgState.IDLE, "no longer primary");
        failAll(status);
    }

    private void failAll(RpcStatus status) {
        while (ring.size() > 0) {
            ring.removeFirst().failed(status);
        }
        failReads(status);
    }

    // ---- clients ------------------------------------------------------------------------------

    /** Admits a mutation and gives it the next sequence, or answers at once. */
    void operation(DataOp op, ByteBuf payload, OpAnswer answer) {
        if (belowMinimum) {
            answer.fail(tooFew());
            return;
        }
        if (out.isEnding()) {
            answer.fail(ending()); // the group that goes on knows what was answered here
            return;
        }
        if (op.session() != 0 && answeredByNumber(op, answer)) {
            return;
        }
        DiskSpace own = out.space(); // before it is tried: it may have grown afterwards
        RpcStatus refusal = refusal(op, payload, own);
        if (refusal != null) {
            answer.fail(refusal);
            return;
        }
        long sequence = log.lastSequence() + 1;
        PgLogEntry entry = new PgLogEntry(epoch, sequence, op, payload);
        if (!out.appendIfRoom(entry)) {
            answer.fail(
                    own.growing()
                            ? RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "the disk is growing")
                            : noSpace());
            return;
        }
        payload.retain();
        appended(new InFlight(entry, space, backups, answer));
    }

    /** Handles a number seen before; returns false if it is new. */
    private boolean answeredByNumber(DataOp op, OpAnswer answer) {
        long sequence = windows.find(op.session(), op.number());
        if (sequence == SessionWindows.UNKNOWN) {
            return false;
        }
        if (sequence == SessionWindows.ACKNOWLEDGED) {
            answer.fail(RpcStatus.fail(Errno.EINVAL, "already acknowledged: " + describe(op)));
            return true;
        }
        InFlight inFlight = sequence == 0 ? null : ring.get(sequence);
        if (sequence > log.committed() && inFlight != null) {
            inFlight.join(answer);
        } else if (state == PgState.ACTIVE && sequence <= log.committed()) {
            answer.done();
        } else {
            answer.fail(notServing());
        }
        return true;
    }

    private @Nullable RpcStatus refusal(DataOp op, ByteBuf payload, DiskSpace own) {
        if (state != PgState.ACTIVE || !out.leaseValid()) {
            return notServing();
        }
        if (op.session() != 0 && op.number() < op.ackedBelow()) {
            return RpcStatus.fail(Errno.EINVAL, "number below its own mark: " + describe(op));
        }
        // Also when it is refused below: else a full window would never empty again.
        windows.acknowledge(op.session(), op.ackedBelow());
        for (int i = 0; i < peers.size(); i++) {
            if (peers.get(i).isProbed()) {
                // What waits for it would take the room that this server's other PGs need.
                return RpcStatus.fail(
                        Errno.EAGAIN,
                        Advice.RETRY,
                        "disk %d of the placement group takes nothing now"
                                .formatted(peers.get(i).disk));
            }
        }
        if (learners.holds(op, payload)) {
            return RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "the chunk is being copied to another disk");
        }
        long bytes = InFlight.chargeBytes(op);
        if (op.type() == DataOpType.WRITE) {
            if (op.truncateSequence() < out.truncateSequence(op.inode(), op.chunk())) {
                return staleInode(op);
            }
            if (out.isPoolFull() && !out.overwrites(op)) {
                return poolFull();
            }
            ledger.report(members[0], own);
            if (!ledger.fits(members, bytes)) {
                RpcStatus full = refusalByFullDisk(op, bytes);
                if (full != null) {
                    askForSpace();
                    return full;
                }
            }
        }
        if (ring.size() >= limits.maxInFlightOps()
                || space.inFlightBytes() >= limits.maxInFlightBytes()
                || !space.withinBound(backups, bytes)
                || (op.session() != 0 && windows.full(op.session()))) {
            return tooMany();
        }
        if (op.type() == DataOpType.WRITE && !space.withinWindow(backups, bytes)) {
            askForSpace(); // the window is small under an old report
            return tooMany();
        }
        return null;
    }

    private static RpcStatus tooMany() {
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "too many operations are in flight");
    }

    /** Null for an overwrite: once it is flushed the disks have as much space as before. */
    private @Nullable RpcStatus refusalByFullDisk(DataOp op, long bytes) {
        boolean overwrites = out.overwrites(op);
        if (overwrites && ledger.fitsOverwrite(members, bytes)) {
            return null;
        }
        if (!ledger.isFresh(backups)) {
            return RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "the backups are asked what space they have");
        }
        if (ledger.isGrowing(members, bytes)) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "a disk is growing");
        }
        return overwrites && out.isFlushing()
                ? RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "a full disk is being flushed")
                : noSpace();
    }

    /**
     * The space on the backups' disks is known from their answers only. While no operation is in
     * flight there are none, and freed space would stay unknown: a NOOP asks for it.
     */
    private void askForSpace() {
        if (ring.size() == 0 && nowNanos - askedNanos >= limits.askNanos()) {
            askedNanos = nowNanos;
            appendNoop();
        }
    }

    /** Null if the read may go to the store; {@link #readDone} then decides when it is shown. */
    @Nullable RpcStatus admitRead(DataOp op) {
        if (state != PgState.ACTIVE || !out.leaseValid()) {
            return notServing();
        }
        if (out.isEnding()) {
            return ending();
        }
        if (op.truncateSequence() < out.truncateSequence(op.inode(), op.chunk())) {
            return staleInode(op);
        }
        return null;
    }

    /** Null if it may be told what the store has. */
    @Nullable RpcStatus admitListing() {
        if (state != PgState.ACTIVE || !out.leaseValid()) {
            return notServing();
        }
        return out.isEnding() ? ending() : null;
    }

    /**
     * The store has read. Everything overlapping that was appended by now may be in the data, so
     * the answer waits until that is committed; waiting after the read instead of before it cannot
     * be starved by further writes.
     */
    void readDone(long admittedEpoch, DataOp op, OpAnswer answer) {
        RpcStatus refusal = readRefusal(admittedEpoch);
        if (refusal == null) {
            afterCommitOf(ring.newestOverlap(op), answer);
        } else {
            answer.fail(refusal);
        }
    }

    /**
     * The store cannot read it, but perhaps a backup: it is asked when it has all that was appended
     * by now. Before, its data could lack a cut that the answer is not masked by any more.
     */
    void readFailed(long admittedEpoch, OpAnswer answer) {
        RpcStatus refusal = readRefusal(admittedEpoch);
        if (refusal == null) {
            afterCommitOf(log.lastSequence(), answer);
        } else {
            answer.fail(refusal);
        }
    }

    /** A read of an older epoch may have seen an operation that was dropped since. */
    private @Nullable RpcStatus readRefusal(long admittedEpoch) {
        if (state != PgState.ACTIVE || !out.leaseValid()) {
            return notServing();
        }
        return admittedEpoch == epoch
                ? null
                : RpcStatus.fail(
                        Errno.EAGAIN, Advice.RETRY, "a newer epoch began while it was read");
    }

    private void afterCommitOf(long newest, OpAnswer answer) {
        if (newest <= log.committed()) {
            answer.done();
        } else {
            waitingReads.add(new WaitingRead(newest, answer));
        }
    }

    void forgetSession(long session) {
        windows.forget(session);
    }

    // ---- log ----------------------------------------------------------------------------------

    /** Appends what another member has, and takes over the payload, unless there is no room. */
    boolean appendFetched(PgLogEntry entry) {
        if (!out.appendIfRoom(entry)) {
            return false;
        }
        appended(resent(entry));
        return true;
    }

    /** Sends what was appended here to every backup that is not behind. */
    private void appended(InFlight op) {
        PgLogEntry entry = op.entry;
        long previousEpoch = log.lastEpoch();
        log.appended(entry.epoch(), entry.sequence());
        noteNumber(entry);
        ring.add(op);
        if (state != PgState.ACTIVE) {
            return;
        }
        for (int i = 0; i < peers.size(); i++) {
            PeerProgress peer = peers.get(i);
            if (peer.next == entry.sequence() && !peer.lost) {
                send(peer, entry, previousEpoch);
            }
        }
        if (state == PgState.ACTIVE) {
            learners.appended(entry, previousEpoch);
        }
    }

    private void noteNumber(PgLogEntry entry) {
        DataOp op = entry.op();
        if (op.type() == DataOpType.MERGE) {
            // What the other group has answered is answered here from now on.
            windows.unite(out.logState().answered(), entry.sequence());
        }
        if (op.session() != 0 && op.number() != 0) {
            windows.executed(op.session(), op.number(), op.ackedBelow(), entry.sequence());
        }
    }

    /** The first operation of an epoch: a split that is due, else one that changes nothing. */
    void appendFirst() {
        Split split = out.splitDue();
        if (split == null) {
            appendNoop();
        } else {
            ByteBuf payload = Unpooled.buffer(SplitFormat.LENGTH);
            SplitFormat.encode(split, payload);
            append(DataOp.split(pg, mapEpoch), payload);
        }
    }

    /** Once another group has come to its end, it is taken in. */
    private void appendMerge() {
        Merge merge = out.mergeDue();
        if (merge != null) {
            ByteBuf payload = Unpooled.buffer(MergeFormat.LENGTH);
            MergeFormat.encode(merge, payload);
            append(DataOp.merge(pg, mapEpoch), payload);
        }
    }

    void appendNoop() {
        append(DataOp.noop(pg, mapEpoch), Unpooled.EMPTY_BUFFER);
    }

    private void append(DataOp op, ByteBuf payload) {
        PgLogEntry entry = new PgLogEntry(epoch, log.lastSequence() + 1, op, payload);
        out.append(entry);
        appended(InFlight.resent(entry, space));
    }

    InFlight resent(PgLogEntry entry) {
        return InFlight.resent(entry, space);
    }

    /** The store dropped what came after: nobody may be told it was done. */
    void tailDropped(long kept) {
        RpcStatus status =
                RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "dropped with an older history");
        while (ring.size() > 0 && ring.next() - 1 > kept) {
            ring.removeLast().failed(status);
        }
        if (ring.size() == 0) {
            ring.restart(kept + 1);
        }
        log.dropped(kept, out.logState().content());
        windows.restore(out.logState().answered());
        failReads(status);
        peering.tailDropped();
    }

    void onDurable() {
        if (!peering.onDurable()) {
            advance();
        }
    }

    // ---- backups ------------------------------------------------------------------------------

    void prepareReply(int disk, long durable, DiskSpace space) {
        PeerProgress peer = peer(disk);
        ledger.report(disk, space);
        if (peer != null && peer.history != null && sending()) {
            peer.advance(Math.min(durable, log.lastSequence()), nowNanos);
            settle(peer);
            advance();
            return;
        }
        PeerProgress learner = learners.peer(disk);
        if (learner != null && learner.history != null) {
            learner.advance(Math.min(durable, log.lastSequence()), nowNanos);
            advance();
            learners.advanced();
        }
    }

    /** What the backup has is part of what it said last of its space. */
    void settle(PeerProgress peer) {
        for (long s = Math.max(peer.settled + 1, ring.first()); s <= peer.durable; s++) {
            InFlight op = ring.get(s);
            if (op != null) {
                op.acknowledged(peer.disk);
            }
        }
        peer.settled = peer.durable;
    }

    void prepareGap(int disk, long have) {
        PeerProgress peer = peerOrLearner(disk);
        if (peer != null && sending()) {
            peer.sendAgainFrom(have + 1);
        }
    }

    void peerLost(int disk) {
        PeerProgress peer = peerOrLearner(disk);
        if (peer != null) {
            peer.refused(peer.durable < log.lastSequence(), nowNanos);
        }
    }

    /** A member has said what it has, if only that it cannot now. */
    void heard(int disk) {
        PeerProgress peer = peer(disk);
        if (peer != null) {
            notSilent(peer);
        }
    }

    /** A member has answered something, whatever has become of what it was sent. */
    void alive(int disk) {
        PeerProgress peer = peer(disk);
        if (peer != null) {
            peer.aliveNanos = nowNanos;
        }
    }

    private void notSilent(PeerProgress peer) {
        peer.aliveNanos = nowNanos;
        peer.heardNanos = nowNanos;
    }

    private void lookForSilence() {
        if (nowNanos - lookedNanos < SILENCE_LOOK_NANOS) {
            return;
        }
        boolean wasAway = nowNanos - lookedNanos > 2 * SILENCE_LOOK_NANOS;
        lookedNanos = nowNanos;
        if (!looked || wasAway) { // what was said meanwhile is not read yet
            looked = true;
            peers.forEach(this::notSilent);
            return;
        }
        boolean waits = state != PgState.ACTIVE || log.committed() < log.lastSequence();
        List<Integer> awaited = waits ? awaited() : List.of();
        for (PeerProgress peer : peers) {
            if (!awaited.contains(peer.disk)) {
                notSilent(peer);
                continue;
            }
            if (!sending()) {
                peer.aliveNanos = nowNanos; // it answers when its log is durable
            }
            if (nowNanos - peer.aliveNanos > limits.unreachableNanos()
                    || nowNanos - peer.heardNanos > limits.silentNanos()) {
                out.memberSilent(peer.disk, epoch);
            } else if (nowNanos - peer.aliveNanos >= SILENCE_LOOK_NANOS) {
                out.sendCommit(peer.disk, epoch, log.committed()); // which it answers at once
            }
        }
    }

    void tick(long nowNanos) {
        this.nowNanos = nowNanos;
        ledger.tick(nowNanos);
        lookForSilence();
        if (!sending()) {
            peering.tick(nowNanos);
            return;
        }
        for (PeerProgress peer : peers) {
            if (isToBeSent(peer, nowNanos)) {
                pump(peer);
                tellCommitted(peer);
            }
        }
        if (state == PgState.ACTIVE) {
            learners.tick(nowNanos);
            appendMerge();
        }
    }

    /**
     * Whether it is sent what it lacks, again where that was lost; else it is left alone for now.
     */
    boolean isToBeSent(PeerProgress peer, long nowNanos) {
        if (peer.pausing(nowNanos)) {
            return false;
        }
        boolean inFlight = peer.durable < peer.next - 1;
        if (inFlight && nowNanos - peer.progressNanos > limits.resendNanos()) {
            peer.sendAgainFrom(peer.durable + 1);
        }
        if (peer.lost) {
            peer.lost = false;
            peer.progressNanos = nowNanos;
        }
        return true;
    }

    void tellCommitted(PeerProgress peer) {
        if (peer.toldCommitted < log.committed()) {
            peer.toldCommitted = log.committed();
            out.sendCommit(peer.disk, epoch, log.committed());
        }
    }

    /** Sends everything the backup lacks and was not sent. */
    void pump(PeerProgress peer) {
        if (peer.next < ring.first() && peer.next <= log.lastSequence()) {
            peering.load();
            return;
        }
        while (peer.next <= log.lastSequence()) {
            InFlight op = ring.get(peer.next);
            if (op == null) {
                return;
            }
            send(peer, op.entry, log.epochAt(peer.next - 1));
            if (peer.isProbed()) {
                return;
            }
        }
    }

    void send(PeerProgress peer, PgLogEntry entry, long previousEpoch) {
        if (peer.durable == peer.next - 1) {
            peer.progressNanos = nowNanos;
        }
        peer.next = entry.sequence() + 1;
        peer.toldCommitted = log.committed();
        out.sendPrepare(new Prepare(peer.disk, epoch, previousEpoch, log.committed(), entry));
    }

    void advance() {
        if (!sending()) {
            return;
        }
        long durable = log.durable();
        for (int i = 0; i < peers.size(); i++) {
            durable = Math.min(durable, peers.get(i).durable);
        }
        durable = learners.counted(durable);
        boolean more = durable > log.committed();
        if (more) {
            log.committedUpTo(durable);
            out.commit(durable);
        }
        while (ring.size() > 0 && ring.first() <= durable) {
            ring.removeFirst().committed();
        }
        if (!waitingReads.isEmpty()) {
            showReads(durable);
        }
        peering.committed(durable);
        if (more) {
            learners.advanced();
        }
    }

    private void showReads(long committed) {
        List<WaitingRead> ready = new ArrayList<>();
        waitingReads.removeIf(r -> r.sequence <= committed && ready.add(r));
        for (WaitingRead r : ready) {
            if (out.leaseValid()) {
                r.answer.done();
            } else {
                r.answer.fail(notServing());
            }
        }
    }

    private void failReads(RpcStatus status) {
        List<WaitingRead> failed = List.copyOf(waitingReads);
        waitingReads.clear();
        failed.forEach(r -> r.answer.fail(status));
    }

    // ---- state --------------------------------------------------------------------------------

    Peering peering() {
        return peering;
    }

    List<PeerProgress> peers() {
        return peers;
    }

    @Nullable PeerProgress peer(int disk) {
        for (int i = 0; i < peers.size(); i++) {
            if (peers.get(i).disk == disk) {
                return peers.get(i);
            }
        }
        return null;
    }

    private @Nullable PeerProgress peerOrLearner(int disk) {
        PeerProgress peer = peer(disk);
        return peer != null ? peer : learners.peer(disk);
    }

    /** See {@link PgReplica#onMemberStale}. */
    boolean memberStale(int member) {
        boolean leaves =
                state == PgState.ACTIVE
                        && canSpare
                        && Arrays.stream(backups).anyMatch(b -> b == member);
        if (leaves) {
            learners.distrust(member);
            out.memberSilent(member, epoch);
        }
        return leaves;
    }

    Learners learners() {
        return learners;
    }

    /** The numbers of operations up to the sequence. */
    List<Answered> answeredUpTo(long sequence) {
        return windows.upTo(sequence);
    }

    SpaceLedger ledger() {
        return ledger;
    }

    PgState state() {
        return state;
    }

    /** Whether too few members are in sync to acknowledge anything. */
    boolean belowMinimum() {
        return belowMinimum;
    }

    /**
     * The disks for which this PG waits to become active, or to commit: they have not answered, or
     * lack operations. This one may be among them.
     */
    List<Integer> awaited() {
        List<Integer> disks = new ArrayList<>();
        if (!log.allDurable()) {
            disks.add(members[0]);
        }
        PeerProgress source = peering.source();
        for (PeerProgress peer : peers) {
            boolean lacks =
                    switch (state) {
                        case QUERYING -> peer.history == null;
                        case FETCHING -> peer == source;
                        case RESENDING, ACTIVE -> peer.durable < log.lastSequence();
                        case IDLE, BACKUP, DAMAGED -> false;
                    };
            if (lacks) {
                disks.add(peer.disk);
            }
        }
        if (log.committed() < log.lastSequence()) {
            disks.addAll(learners.joining());
        }
        return disks;
    }

    long epoch() {
        return epoch;
    }

    long nowNanos() {
        return nowNanos;
    }

    long askNanos() {
        return limits.askNanos();
    }

    long resendNanos() {
        return limits.resendNanos();
    }

    private boolean sending() {
        return state == PgState.ACTIVE || state == PgState.RESENDING;
    }

    /** Throws IllegalStateException if {@link PgState} has no such transition. */
    void become(PgState next, String reason) {
        if (state != next) {
            if (!state.mayBecome(next)) {
                throw new IllegalStateException(
                        "placement group %x cannot become %s from %s: %s"
                                .formatted(pg, next, state, reason));
            }
            state = next;
            out.stateChanged(next, reason);
            if (next == PgState.DAMAGED) {
                // Nothing comes of them before a new epoch, which reads them from the log again.
                failAll(notServing());
            }
        }
    }

    private RpcStatus tooFew() {
        return RpcStatus.fail(
                Errno.EAGAIN,
                Advice.RETRY,
                "placement group %x has only %d members in sync".formatted(pg, members.length));
    }

    private RpcStatus ending() {
        return RpcStatus.fail(
                Errno.EAGAIN,
                Advice.RETRY,
                "placement group %x goes back into the one that it was made of".formatted(pg));
    }

    private static RpcStatus noSpace() {
        return RpcStatus.fail(Errno.ENOSPC, "a disk of the placement group is full");
    }

    private static RpcStatus poolFull() {
        return RpcStatus.fail(
                Errno.ENOSPC,
                "the pool takes no new data, as a disk of it is full: delete files or add disks, 'cairn status' names it");
    }

    private RpcStatus notServing() {
        return RpcStatus.fail(
                Errno.EAGAIN,
                Advice.RETRY,
                state == PgState.ACTIVE
                        ? "the data server has no lease from the MDS"
                        : "placement group %x is %s".formatted(pg, state));
    }

    private static RpcStatus staleInode(DataOp op) {
        return RpcStatus.fail(
                Errno.EAGAIN, Advice.REFRESH_INODE, "the file was truncated: " + describe(op));
    }

    private static String describe(DataOp op) {
        return "%s of session %d, number %d".formatted(op.type(), op.session(), op.number());
    }
}
