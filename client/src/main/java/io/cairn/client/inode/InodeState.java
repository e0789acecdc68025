package io.cairn.client.inode;

import io.cairn.client.ahead.Aheads;
import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataTarget;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One inode this client has open: its newest attributes from the MDS, and what this client's own
 * writes have made of them. Shared by all handles of the client.
 *
 * <p>Any thread; guarded by its own monitor. Mutations of this inode are queued under that monitor,
 * so that they are executed in the order in which the state changed; nothing waits or completes a
 * future under it.
 */
public final class InodeState implements DataTarget {
    private final long inode;

    /** What its handles read ahead; it calls nothing of ours. */
    final Aheads aheads = new Aheads();

    private final RangeOrder order = new RangeOrder(aheads::drop);
    private final Supplier<CompletableFuture<Attr>> getAttr;

    /** Under the monitor. */
    final AppendLine<AppendOp> appends = new AppendLine<>();

    private @Nullable Attr attr;
    private long attrNanos;

    /** Whether other clients may write to it, as the MDS has said last. */
    private boolean writtenElsewhere;

    private volatile @Nullable DataView view;
    private boolean refreshing;
    private @Nullable CompletableFuture<Void> refreshNext;

    /** Under the monitor. */
    final OwnWrites own;

    /** The newest publication; under the monitor. */
    CompletableFuture<Void> lastGrow = Async.done();

    /** Under the monitor. */
    final Delegation delegation;

    /** The newest change of attributes that was answered here first; under the monitor. */
    CompletableFuture<Void> lastChange = Async.done();

    /** Completes when all that was done while it was delegated is told; under the monitor. */
    CompletableFuture<Void> telling = Async.done();

    /** Under the monitor. */
    final SizeLease sizeLease = new SizeLease();

    /** Under the monitor. */
    final HeldLocks locks = new HeldLocks();

    /** Handles that exist or are being made. */
    int handles;

    /** Under which this client has made it, if so, or has renamed it to since. */
    InodeTable.@Nullable Name name;

    /** Of which a rename was told. */
    private int lossesSettled;

    /** When the last handle went, while the file stays open all the same; 0: it does not. */
    long closedNanos;

    /** Opens of this inode the MDS counts for the session of {@link #tenure}. */
    int mdsOpens;

    /** Of the newest open for reading, which only the leader knows of; 0: there is none. */
    private long readNumber;

    /** The ceiling mutation in flight, and how far it will reach. */
    @Nullable CompletableFuture<Void> raising;

    long raisingTo;

    /** The session it is open in; under the monitor. */
    final Tenure tenure;

    /**
     * @param newest the client's session
     * @param isRound whether what was delegated in that round still is
     */
    InodeState(
            long inode,
            DataSession newest,
            LongPredicate isRound,
            Supplier<CompletableFuture<Attr>> getAttr) {
        this.inode = inode;
        this.own = new OwnWrites(inode);
        this.tenure = new Tenure(inode, newest);
        this.delegation = new Delegation(isRound);
        this.getAttr = getAttr;
    }

    @Override
    public long inode() {
        return inode;
    }

    RangeOrder order() {
        return order;
    }

    // ---- what the MDS says

    /** Takes over attributes from any reply, unless newer ones are known. */
    void observe(Attr received) {
        observe(received, System.nanoTime());
    }

    /**
     * @param asOfNanos when they were true for certain, or later
     */
    private void observe(Attr received, long asOfNanos) {
        if (received.getInode() != inode) {
            return;
        }
        synchronized (this) {
            Attr known = attr;
            if (known != null
                    && Long.compareUnsigned(received.getChange(), known.getChange()) < 0) {
                return;
            }
            if (known != null && cutSequence(received) > cutSequence(known)) {
                own.cut(cutSequence(received), received.getSize());
            }
            // Before anybody sees them: an open that they answer reads what was fetched after it.
            if (known != null && received.getChange() != known.getChange()) {
                aheads.drop(0, Long.MAX_VALUE);
            }
            if (received.hasWriters()) {
                writtenElsewhere = received.getWriters() > (mdsOpens > 0 ? 1 : 0);
            }
            attr = withoutLease(received);
            attrNanos = known == null ? asOfNanos : Math.max(attrNanos, asOfNanos);
            if (!received.hasLayout() || !Mode.isRegular(received.getMode())) {
                return;
            }
            DataView old = view;
            if (old == null || !old.describes(received)) {
                view = DataView.of(received);
            }
        }
    }

    /** Of the newest truncation that took bytes; later ones move the file to another pool. */
    static long cutSequence(Attr attr) {
        return attr.hasCutSequence() ? attr.getCutSequence() : attr.getTruncateSequence();
    }

    /** The MDS's attributes with this client's own size and times in them. */
    public synchronized Attr merged() {
        return own.mergedInto(delegation.appliedTo(known()));
    }

    /**
     * {@link #merged}, with the leases of a reply that was observed: of the attributes only if they
     * are these, and nothing is being written. That the inode has its name, and no extended
     * attributes, stays true whatever was written.
     */
    synchronized Attr merged(Attr received) {
        Attr merged = merged();
        boolean same = merged == attr && merged.getChange() == received.getChange();
        if (same && !unconfirmed() && order.idle()) {
            return received;
        }
        int noXattrs = received.getNoXattrs() ? received.getAttrLeaseMicros() : 0;
        return received.getNameLeaseMicros() == 0 && noXattrs == 0
                ? merged
                : merged.toBuilder()
                        .setNameLeaseMicros(received.getNameLeaseMicros())
                        .setNoXattrsLeaseMicros(noXattrs)
                        .build();
    }

    /**
     * What is kept is used when the lease of its reply may be over, and is no answer to a mutation.
     */
    private static Attr withoutLease(Attr received) {
        return received.getAttrLeaseMicros() == 0
                        && received.getNameLeaseMicros() == 0
                        && !received.getNoXattrs()
                        && !received.hasChangedFrom()
                ? received
                : received.toBuilder()
                        .clearAttrLeaseMicros()
                        .clearNameLeaseMicros()
                        .clearNoXattrs()
                        .clearChangedFrom()
                        .build();
    }

    synchronized long size() {
        return Math.max(known().getSize(), own.size());
    }

    /**
     * Whether another client may have made the file longer since its size was heard of.
     *
     * @param freshNanos how long nobody does who was not known to have it open to write
     */
    synchronized boolean mayHaveGrown(long nowNanos, long freshNanos) {
        return writtenElsewhere || nowNanos - attrNanos > freshNanos;
    }

    synchronized boolean hasPrivilegeBits() {
        return Mode.hasPrivileges(delegation.appliedTo(known()).getMode());
    }

    private Attr known() {
        Attr known = attr;
        if (known == null) {
            throw new FsException(Errno.EIO, "attributes of inode " + inode + " are not known yet");
        }
        return known;
    }

    /** False for what is no regular file. */
    boolean hasView() {
        return view != null;
    }

    @Override
    public DataView view() {
        DataView v = view;
        if (v == null) {
            throw new FsException(Errno.EIO, "layout of inode " + inode + " is not known yet");
        }
        return v;
    }

    /**
     * Fetches the attributes; they are at least as new as this call. So a request in flight is not
     * joined: it may have been answered before whatever the caller has heard of. Those who come
     * while it is in flight share the one that follows it.
     */
    @Override
    public CompletableFuture<Void> refresh() {
        CompletableFuture<Void> mine = new CompletableFuture<>();
        synchronized (this) {
            if (refreshing) {
                CompletableFuture<Void> next = refreshNext;
                refreshNext = next == null ? mine : next;
                return refreshNext;
            }
            refreshing = true;
        }
        fetch(mine);
        return mine;
    }

    private void fetch(CompletableFuture<Void> fetched) {
        long askedNanos = System.nanoTime();
        var _ =
                getAttr.get()
                        .whenComplete((fresh, thrown) -> {
                            CompletableFuture<Void> next;
                            synchronized (this) {
                                next = refreshNext;
                                refreshNext = null;
                                refreshing = next != null;
                            }
                            if (next != null) {
                                fetch(next);
                            }
                            if (thrown == null) {
                                observe(fresh, askedNanos);
                            }
                            Async.settle(fetched, null, thrown);
                        });
    }

    // ---- what this client did

    /**
     * A write is durable; true when the state must be listed for publication.
     *
     * @param truncateSequence newest truncation known to the requests that wrote it
     */
    synchronized boolean wrote(
            long end, long truncateSequence, long nowNanos, boolean killPrivileges) {
        boolean counts = truncateSequence >= cutSequence(known());
        return own.wrote(counts ? end : -1, nowNanos, killPrivileges);
    }

    /**
     * A write is to be answered before it is durable; null where the file is not delegated, and
     * others might miss it, or where the MDS has yet to allow data so far. Under the monitor.
     *
     * @param end of its bytes
     */
    OwnWrites.@Nullable Promise promise(long end, long nowNanos, boolean killPrivileges) {
        boolean kills = killPrivileges && Mode.hasPrivileges(merged().getMode());
        return isDelegated() && !kills && end <= view().ceiling()
                ? own.promise(end, known().getSize(), nowNanos, killPrivileges)
                : null;
    }

    /** It is durable; as {@link #wrote}. */
    synchronized boolean landed(OwnWrites.Promise promise, long end, long truncateSequence) {
        return own.landed(promise, truncateSequence >= cutSequence(known()) ? end : -1);
    }

    /** It failed, and its caller was told that it was done. */
    synchronized boolean broken(OwnWrites.Promise promise, FsException why) {
        tenure.lose(why);
        return own.brokenOff(promise);
    }

    /**
     * True while the MDS does not know of a size this client made, or has cut it: the cut may be
     * that of our own eviction, of which we have not heard.
     */
    synchronized boolean sizeUnconfirmed() {
        return own.sizeVoided() || own.size() > known().getSize();
    }

    synchronized CompletableFuture<Void> lastGrow() {
        return lastGrow;
    }

    /**
     * What is to be published, sent from now on; null when there is nothing. Under the monitor
     * until the mutation is queued.
     *
     * @param leftovers whether to tell of bytes beyond the size: only while no change is in flight
     * @param awaited as of {@link OwnWrites#take}
     */
    @Nullable GrowOp takeGrow(boolean killPrivileges, boolean leftovers, boolean awaited) {
        Attr known = known();
        return own.take(
                known.getTruncateSequence(), known.getSize(), killPrivileges, leftovers, awaited);
    }

    /** A write up to there does not count; true if it may have left bytes beyond the size. */
    synchronized boolean leftBeyond(long end) {
        if (end <= size()) {
            return false;
        }
        own.left();
        return true;
    }

    /** True while the MDS has not confirmed everything. */
    synchronized boolean unconfirmed() {
        return own.unconfirmed() || delegation.isUntold();
    }

    /** Whether nobody else has asked for it: what is known here is all there is to know. */
    public synchronized boolean isDelegated() {
        return delegation.isHeld() && isOpen() && tenure.awaited() == null;
    }

    /**
     * The session has ended and nobody knows whether a Grow was executed in it: a size that it was
     * to publish is lost, the times are unsent again.
     */
    synchronized void growLost(GrowOp grow) {
        boolean counts =
                grow.hasTruncateSequence() && grow.getTruncateSequence() >= cutSequence(known());
        if (own.sizeVoided() || (counts && grow.getSize() > known().getSize())) {
            tenure.lose();
        }
        own.growLost(grow);
        if (mdsOpens == 0 && tenure.awaited() == null) {
            own.forget(); // closed meanwhile
        }
    }

    /**
     * All operations that began in the session are over: sizes not published are lost, times are to
     * be published in the next one. True when writes were lost with it. Under the monitor.
     */
    boolean endSession() {
        if (sizeUnconfirmed()) {
            tenure.lose();
        }
        own.sessionEnded();
        return tenure.takeNews();
    }

    /**
     * An open was answered: counts it. False when that was in a session that has begun to end.
     *
     * @param newest the client's session
     * @param openedIn number of the one in which the open was executed
     */
    boolean counted(Attr opened, DataSession newest, long openedIn) {
        observe(opened);
        synchronized (this) {
            if (newest.id() != openedIn || newest.isEnding()) {
                return false;
            }
            mdsOpens++;
            if (tenure.awaited() == null) {
                tenure.opened(newest);
            }
            return true;
        }
    }

    /**
     * The same for an open for reading, which only the leader knows of.
     *
     * @param number of the open
     */
    boolean countedForReading(Attr opened, DataSession newest, long openedIn, long number) {
        observe(opened);
        synchronized (this) {
            if (newest.id() != openedIn || newest.isEnding()) {
                return false;
            }
            readNumber = Math.max(readNumber, number);
            if (tenure.awaited() == null) {
                tenure.opened(newest);
            }
            return true;
        }
    }

    /** Whether the session has it open, in whatever way. Under the monitor. */
    boolean isOpen() {
        return mdsOpens > 0 || readNumber > 0;
    }

    /** It is open no more: what there was of opens for reading. Under the monitor. */
    long takeReadNumber() {
        long number = readNumber;
        readNumber = 0;
        return number;
    }

    /** Why a handle can change nothing, or null; see {@link Tenure#refusal}. */
    synchronized @Nullable FsException refusal(int lossesKnown) {
        return tenure.refusal(lossesKnown);
    }

    /** What was lost since this was last asked, or null. */
    synchronized @Nullable FsException lostSinceSettled() {
        FsException lost = tenure.refusal(lossesSettled);
        lossesSettled = tenure.losses();
        return lost;
    }

    /** Whether something was lost since {@link #lostSinceSettled} was asked. */
    public synchronized boolean hasLost() {
        return tenure.refusal(lossesSettled) != null;
    }

    /** Why nothing can be done with it any more, or null. */
    public synchronized @Nullable FsException whyGone() {
        return tenure.whyGone();
    }

    /** The session for requests that begin now. */
    synchronized DataSession session() {
        return tenure.session();
    }

    /**
     * What was executed in that session counts for nothing any more, or will not soon. Under the
     * monitor: what it is false for is counted before the file is told of the session's end.
     */
    boolean isOver(long executedIn) {
        DataSession now = tenure.session();
        return tenure.awaited() != null || now.id() != executedIn || now.isEnding();
    }

    /** A write in that session has failed: if that is because it has ended, it is lost. */
    synchronized void failedIn(DataSession session) {
        if (session.isEnding()) {
            tenure.lose();
        }
    }
}
