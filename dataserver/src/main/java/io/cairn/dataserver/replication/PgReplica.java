package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One replica of one PG: primary/backup replication (Alsberg and Day, 1976; PacificA, 2008) with
 * the membership decided elsewhere, in the cluster map. No threads, clock or I/O: inputs are method
 * calls, outputs go to {@link PgOutputs} and the answer objects.
 *
 * <p>All methods are called by the one thread that owns the PG. Inputs of another PG epoch than the
 * newest map gave this replica are refused: of older ones because their primary is deposed, of
 * newer ones until the map arrives.
 *
 * <p>Truncations: a write carries the inode's open cuts, and the store applies those newer than the
 * chunk's in the same logged operation. A read's newer cuts are not logged; its result is masked by
 * them (see {@link ReadMask}), which shows the same bytes and costs no write.
 */
public final class PgReplica {
    private final int pg;
    private final int disk;
    private final PgLimits limits;
    private final PgOutputs out;
    private final SpaceLedger ledger;
    private final PgLog log;
    private @Nullable Primary primary;
    private @Nullable Backup backup;
    private @Nullable Learner learner;
    private long epoch;
    private long nowNanos;

    /**
     * @param pg placement group
     * @param disk the disk this replica is on
     * @param ledger shared by all PGs of the server
     */
    public PgReplica(int pg, int disk, PgLimits limits, PgOutputs out, SpaceLedger ledger) {
        this.pg = pg;
        this.disk = disk;
        this.limits = limits;
        this.out = out;
        this.ledger = ledger;
        log = new PgLog(out.logState());
    }

    // ---- map and time -------------------------------------------------------------------------

    /**
     * The map says who the members are in this epoch; older maps are ignored.
     *
     * @param mapEpoch epoch of the whole map
     */
    public void onMap(long pgEpoch, long mapEpoch, PgMembers members) {
        if (pgEpoch <= epoch) {
            return;
        }
        epoch = pgEpoch;
        int place = members.inSync().indexOf(disk);
        boolean learns = place < 0 && members.learners().contains(disk);
        if (place != 0 && primary != null) {
            primary.close(refuse(Advice.REFRESH_MAP, "another disk is primary"));
            primary = null;
        }
        if (place <= 0 && !learns && backup != null) {
            backup.close();
            backup = null;
        }
        learner = null;
        if (place == 0) {
            if (primary == null) {
                primary = new Primary(pg, limits, out, ledger, log);
            }
            primary.newEpoch(pgEpoch, mapEpoch, members, nowNanos);
        } else if (place > 0 || learns) {
            if (backup == null) {
                backup = new Backup(out, log);
                out.stateChanged(PgState.BACKUP, "epoch " + pgEpoch);
            }
            backup.newEpoch(pgEpoch);
            if (learns) {
                learner = new Learner(out.recovery(), log, backup);
                learner.begin();
            }
        }
    }

    /** Drives retries; to be called a few times per second or more often. */
    public void tick(long nowNanos) {
        this.nowNanos = nowNanos;
        if (primary != null) {
            primary.tick(nowNanos);
        }
    }

    /**
     * Fails every operation and read that waits: they are to be tried again. The replica is not
     * used afterwards.
     */
    public void close(String why) {
        if (primary != null) {
            primary.close(refuse(Advice.RETRY, why));
            primary = null;
        }
        if (backup != null) {
            backup.close();
            backup = null;
        }
        learner = null;
    }

    // ---- clients and the MDS ------------------------------------------------------------------

    /**
     * A mutation. Block checksums, session and map epoch are already checked.
     *
     * @param payload stays the caller's; retained where it is kept
     */
    public void onOperation(DataOp op, ByteBuf payload, OpAnswer answer) {
        if (primary == null) {
            answer.fail(refuse(Advice.REFRESH_MAP, "not the primary"));
        } else {
            primary.operation(op, payload, answer);
        }
    }

    /**
     * Null if the store may be asked now; then {@link #onReadDone} must follow, with the epoch of
     * now.
     */
    public @Nullable RpcStatus admitRead(DataOp op) {
        return primary == null
                ? refuse(Advice.REFRESH_MAP, "not the primary")
                : primary.admitRead(op);
    }

    /**
     * The store has the data; the answer says when and whether it may be shown.
     *
     * @param admittedEpoch the epoch in which the read was admitted
     */
    public void onReadDone(long admittedEpoch, DataOp op, OpAnswer answer) {
        if (primary == null) {
            answer.fail(refuse(Advice.REFRESH_MAP, "not the primary"));
        } else {
            primary.readDone(admittedEpoch, op, answer);
        }
    }

    /**
     * The store cannot read what was asked; the answer says when another member may be asked for
     * it: once all that was appended here is committed, for then every member has it too. {@link
     * #onReadDone} follows when the data has arrived.
     *
     * @param admittedEpoch the epoch in which the read was admitted
     */
    public void onReadFailed(long admittedEpoch, OpAnswer answer) {
        if (primary == null) {
            answer.fail(refuse(Advice.REFRESH_MAP, "not the primary"));
        } else {
            primary.readFailed(admittedEpoch, answer);
        }
    }

    /**
     * Null if what is here may be listed now; what was listed may be told if this is null after it
     * too, and the epoch the same: then all that was committed before is in it.
     */
    public @Nullable RpcStatus admitListing() {
        return primary == null
                ? refuse(Advice.REFRESH_MAP, "not the primary")
                : primary.admitListing();
    }

    /** The MDS says nothing of this session can be in flight any more. */
    public void forgetSession(long session) {
        if (primary != null) {
            primary.forgetSession(session);
        }
    }

    // ---- own store ----------------------------------------------------------------------------

    /** An appended entry is durable; entries of one PG become so in order. */
    public void onDurable(long entryEpoch, long sequence) {
        if (!log.becameDurable(entryEpoch, sequence)) {
            return;
        }
        if (primary != null) {
            primary.onDurable();
        } else if (backup != null) {
            backup.onDurable();
        }
    }

    public void onTailDropped(long kept) {
        if (primary != null) {
            primary.tailDropped(kept);
        } else if (backup != null) {
            backup.tailDropped(kept);
            if (learner != null) {
                learner.begin();
            }
        } else {
            log.dropped(kept, out.logState().content());
        }
    }

    /** Own entries that were asked for; takes over their payloads. */
    public void onEntries(List<PgLogEntry> entries) {
        if (primary != null) {
            primary.peering().onEntries(entries);
        } else {
            entries.forEach(e -> ReferenceCountUtil.release(e.payload()));
        }
    }

    /** Own entries that were asked for could not be read: they are asked for again, later. */
    public void onEntriesFailed() {
        if (primary != null) {
            primary.peering().onEntriesFailed();
        }
    }

    // ---- from the primary ---------------------------------------------------------------------

    /** The entry's payload stays the caller's. */
    public void onPrepare(Prepare prepare, PrepareAnswer answer) {
        RpcStatus refusal = peerRefusal(prepare.pgEpoch());
        if (refusal != null) {
            answer.refuse(refusal);
        } else if (learner != null) {
            learner.prepare(prepare, answer);
        } else if (backup != null) {
            backup.prepare(prepare, answer);
        }
    }

    public void onQuery(long pgEpoch, PeerAnswer answer) {
        RpcStatus refusal = peerRefusal(pgEpoch);
        if (refusal != null) {
            answer.refuse(refusal);
        } else if (learner != null) {
            answer.refuse(refuse(Advice.RETRY, "a learner"));
        } else if (backup != null) {
            backup.query(answer);
        }
    }

    /** Null if the primary of this epoch may have this replica's entries. */
    public @Nullable RpcStatus admitFetch(long pgEpoch) {
        return learner == null ? peerRefusal(pgEpoch) : refuse(Advice.RETRY, "a learner");
    }

    /** Null if another member of this epoch may read here, from primary and backups alike. */
    public @Nullable RpcStatus admitMemberRead(long pgEpoch) {
        return pgEpoch == epoch && primary != null ? null : admitFetch(pgEpoch);
    }

    /** Null if it was taken. */
    public @Nullable RpcStatus onCommit(long pgEpoch, long committedSequence) {
        RpcStatus refusal = peerRefusal(pgEpoch);
        if (refusal == null && backup != null) {
            backup.commit(committedSequence);
        }
        return refusal;
    }

    /**
     * The primary asks this learner what it has.
     *
     * @param shared see {@link RecoveryOutputs#sendAsk}
     */
    public void onAsk(long pgEpoch, long number, long shared, PeerAnswer answer) {
        RpcStatus refusal = learnerRefusal(pgEpoch);
        if (refusal != null) {
            answer.refuse(refusal);
        } else if (learner != null) {
            learner.ask(number, shared, answer);
        }
    }

    /** The primary has this learner begin anew. */
    public void onReset(long pgEpoch, Reset reset, Step step) {
        RpcStatus refusal = learnerRefusal(pgEpoch);
        if (refusal != null) {
            step.failed(refusal);
        } else if (learner != null) {
            learner.reset(reset, step);
        }
    }

    /** Null if the primary of this epoch may have the list of what is here. */
    public @Nullable RpcStatus onListContent(long pgEpoch, long number, Key after) {
        RpcStatus refusal = learnerRefusal(pgEpoch);
        if (refusal == null && learner != null) {
            learner.copiedTo(number, after);
        }
        return refusal;
    }

    /** Null if a piece of a copy may be logged now. */
    public @Nullable RpcStatus onCopy(long pgEpoch, Copy copy) {
        RpcStatus refusal = learnerRefusal(pgEpoch);
        return refusal != null || learner == null ? refusal : learner.admit(copy);
    }

    /** The primary has copied all that this learner lacked. */
    public void onCompleted(long pgEpoch, long number, Step step) {
        RpcStatus refusal = learnerRefusal(pgEpoch);
        if (refusal != null) {
            step.failed(refusal);
        } else if (learner != null) {
            learner.completed(number, step);
        }
    }

    private @Nullable RpcStatus learnerRefusal(long pgEpoch) {
        RpcStatus refusal = peerRefusal(pgEpoch);
        return refusal == null && learner == null
                ? refuse(Advice.REFRESH_MAP, "no learner")
                : refusal;
    }

    private @Nullable RpcStatus peerRefusal(long pgEpoch) {
        if (pgEpoch > epoch) {
            out.needMap();
            return refuse(Advice.RETRY, "the map is on its way");
        }
        if (pgEpoch < epoch || backup == null) {
            return refuse(Advice.REFRESH_MAP, "epoch " + epoch + " began");
        }
        return null;
    }

    // ---- from the backups ---------------------------------------------------------------------

    public void onPeerHistory(int from, long pgEpoch, PgHistory history, DiskSpace space) {
        if (primary != null && pgEpoch == epoch) {
            primary.heard(from);
            primary.peering().onHistory(from, history, space);
        }
    }

    /** Takes over the entries' payloads. */
    public void onFetched(int from, long pgEpoch, List<PgLogEntry> entries) {
        if (primary != null && pgEpoch == epoch) {
            primary.heard(from);
            primary.peering().onFetched(from, entries);
        } else {
            entries.forEach(e -> ReferenceCountUtil.release(e.payload()));
        }
    }

    public void onPrepareReply(int from, long pgEpoch, long durable, DiskSpace space) {
        if (primary != null && pgEpoch == epoch) {
            primary.heard(from);
            primary.prepareReply(from, durable, space);
        }
    }

    public void onPrepareGap(int from, long pgEpoch, long have) {
        if (primary != null && pgEpoch == epoch) {
            primary.heard(from);
            primary.prepareGap(from, have);
        }
    }

    /** What a learner has. */
    public void onLearnerHistory(int from, long pgEpoch, long number, PgHistory history) {
        if (primary != null && pgEpoch == epoch) {
            primary.learners().onHistory(from, number, history);
        }
    }

    /** What was read here for a learner; takes over the payloads. */
    public void onEntriesFor(int learner, long pgEpoch, long after, List<PgLogEntry> entries) {
        if (primary != null && pgEpoch == epoch) {
            primary.learners().onEntries(learner, after, entries);
        } else {
            entries.forEach(e -> ReferenceCountUtil.release(e.payload()));
        }
    }

    /** A part of the list of what is here; numbers of an earlier epoch mean other parts. */
    public void onOwnContent(long pgEpoch, ContentPage page) {
        if (primary != null && pgEpoch == epoch) {
            primary.learners().onOwnContent(page);
        }
    }

    /** A part of the list of what a learner has. */
    public void onPeerContent(int from, long pgEpoch, ContentPage page) {
        if (primary != null && pgEpoch == epoch) {
            primary.learners().onPeerContent(from, page);
        }
    }

    /** Something sent in this epoch was refused for now. */
    public void onPeerRefused(int from, long pgEpoch) {
        if (primary != null && pgEpoch == epoch) {
            primary.heard(from);
            primary.peerLost(from);
        }
    }

    /** Something was answered, which says nothing of what the member has. */
    public void onPeerAlive(int from, long pgEpoch) {
        if (primary != null && pgEpoch == epoch) {
            primary.alive(from);
        }
    }

    /** Something sent in this epoch was not answered. */
    public void onPeerLost(int from, long pgEpoch) {
        if (primary != null && pgEpoch == epoch) {
            primary.peerLost(from);
        }
    }

    // ---- from a scrub -------------------------------------------------------------------------

    /**
     * A scrub found that a member lacks something of what is here. The metadata service is told, as
     * of one that is silent: it takes the member out of the in-sync set, and then it is compared
     * and copied to. Returns false if that cannot be now, since too few members would stay.
     */
    public boolean onMemberStale(int member, long pgEpoch) {
        return primary != null && pgEpoch == epoch && primary.memberStale(member);
    }

    // ---- state --------------------------------------------------------------------------------

    public int pg() {
        return pg;
    }

    public int disk() {
        return disk;
    }

    /** PG epoch of the newest map this replica was told, 0 before the first. */
    public long epoch() {
        return epoch;
    }

    public PgState state() {
        if (primary != null) {
            return primary.state();
        }
        return backup != null ? PgState.BACKUP : PgState.IDLE;
    }

    /** Whether it is no member and no learner, and nothing that it began is under way. */
    public boolean isIdle() {
        return primary == null && backup == null && !log.dropping() && log.allDurable();
    }

    /** Disks that a primary waits for before it serves, or commits; empty for others. */
    public List<Integer> awaited() {
        return primary == null ? List.of() : primary.awaited();
    }

    /** Whether a primary acknowledges nothing because too few members are in sync. */
    public boolean belowMinimum() {
        return primary != null && primary.belowMinimum();
    }

    /** Learners of a primary that are being brought up to date. */
    public int recovering() {
        return primary == null ? 0 : primary.learners().recovering();
    }

    /** What a primary's learners are doing, for the administrator; empty for others. */
    public String learners() {
        return primary == null ? "" : primary.learners().toString();
    }

    public long lastSequence() {
        return log.lastSequence();
    }

    public long committedSequence() {
        return log.committed();
    }

    private RpcStatus refuse(Advice advice, String why) {
        return RpcStatus.fail(Errno.EAGAIN, advice, "placement group %x: %s".formatted(pg, why));
    }
}
