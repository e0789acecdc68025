package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataTarget;
import io.cairn.client.data.DataView;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One inode this client has open: its newest attributes from the MDS, and size and mtime of this
 * client's own writes until the MDS has confirmed them. Shared by all handles of the client.
 *
 * <pre>
 *   write done --> unsent --Grow queued--> sent --answered--> confirmed (forgotten here)
 *                    ^-------failed---------'
 * </pre>
 *
 * <p>The sizes kept here are those of writes that knew the newest truncation in the attributes:
 * when a newer one is heard of, they are void, as they are to the MDS, for the bytes before it were
 * cut or lie below the size it left.
 *
 * <p>Any thread; guarded by its own monitor. Mutations of this inode are queued under that monitor,
 * so that they are executed in the order in which the state changed; nothing waits or completes a
 * future under it.
 */
public final class InodeState implements DataTarget {
    private static final long NONE = -1;
    private static final long MAX_SECONDS = Long.MAX_VALUE / 1_000_000_000L - 1;

    private final long inode;
    private final RangeOrder order = new RangeOrder();
    private final Supplier<CompletableFuture<Attr>> getAttr;

    /** Under the monitor. */
    final AppendLine<AppendOp> appends = new AppendLine<>();

    private @Nullable Attr attr;
    private long attrNanos;
    private volatile @Nullable DataView view;
    private boolean refreshing;
    private @Nullable CompletableFuture<Void> refreshNext;

    private long unsentSize = NONE;

    /** Sequence of the newest cut that took a size of ours which was not published; else NONE. */
    private long voidedBy = NONE;

    private long unsentMtimeNanos = NONE;
    private boolean unsentKill;
    private long sentSize = NONE;
    private long sentMtimeNanos = NONE;
    private int growsInFlight;
    private boolean listedDirty;

    /** How often this client changed size or mtime by writing; under the monitor. */
    long writes;

    /** The newest publication; under the monitor. */
    CompletableFuture<Void> lastGrow = Async.done();

    /** Handles that exist or are being made. */
    int handles;

    /** Opens of this inode the MDS counts for the session of {@link #tenure}. */
    int mdsOpens;

    /** The ceiling mutation in flight, and how far it will reach. */
    @Nullable CompletableFuture<Void> raising;

    long raisingTo;

    /** The session it is open in; under the monitor. */
    final Tenure tenure;

    /**
     * @param newest the client's session
     */
    InodeState(long inode, DataSession newest, Supplier<CompletableFuture<Attr>> getAttr) {
        this.inode = inode;
        this.tenure = new Tenure(inode, newest);
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
            if (known != null && received.getTruncateSequence() > known.getTruncateSequence()) {
                if (Math.max(unsentSize, sentSize) > received.getSize()) {
                    voidedBy = received.getTruncateSequence();
                }
                sizeSet();
            }
            attr = received;
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

    /** The MDS's attributes with this client's own size and times in them. */
    synchronized Attr merged() {
        Attr known = known();
        long size = Math.max(unsentSize, sentSize);
        long mtime = Math.max(unsentMtimeNanos, sentMtimeNanos);
        boolean larger = size > known.getSize();
        boolean later = mtime != NONE && replaces(mtime, known);
        if (!larger && !later) {
            return known;
        }
        Attr.Builder merged = known.toBuilder();
        if (larger) {
            merged.setSize(size);
        }
        if (later) {
            merged.setMtime(timespec(mtime));
            if (mtime > nanos(known.getCtime())) {
                merged.setCtime(timespec(mtime));
            }
        }
        return merged.build();
    }

    /**
     * As the MDS decides it: writes leave no mtime after the ctime, so an mtime after the ctime was
     * set explicitly, and a write replaces it.
     */
    private static boolean replaces(long mtime, Attr known) {
        long before = nanos(known.getMtime());
        return mtime > before || before > nanos(known.getCtime());
    }

    synchronized long size() {
        return Math.max(known().getSize(), Math.max(unsentSize, sentSize));
    }

    synchronized long attrAgeNanos(long nowNanos) {
        return nowNanos - attrNanos;
    }

    synchronized boolean hasPrivilegeBits() {
        return Mode.hasPrivileges(known().getMode());
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
        if (truncateSequence == known().getTruncateSequence()) {
            unsentSize = Math.max(unsentSize, end);
        }
        writes++;
        unsentMtimeNanos = Math.max(unsentMtimeNanos, nowNanos);
        unsentKill |= killPrivileges;
        boolean list = !listedDirty;
        listedDirty = true;
        return list;
    }

    synchronized void unlisted() {
        listedDirty = false;
    }

    /**
     * True while the MDS does not know of a size this client made, or has cut it: the cut may be
     * that of our own eviction, of which we have not heard.
     */
    synchronized boolean sizeUnconfirmed() {
        return voidedBy != NONE || Math.max(unsentSize, sentSize) > known().getSize();
    }

    synchronized CompletableFuture<Void> lastGrow() {
        return lastGrow;
    }

    /** True while something was not even sent. */
    synchronized boolean unsent() {
        return unsentSize != NONE || unsentMtimeNanos != NONE || unsentKill;
    }

    /** True while the MDS has not confirmed everything. */
    synchronized boolean unconfirmed() {
        return unsent() || growsInFlight > 0;
    }

    /**
     * What is to be published, sent from now on; null when there is nothing. Under the monitor
     * until the mutation is queued.
     */
    @Nullable GrowOp takeGrow(boolean killPrivileges) {
        if (!unsent() && !killPrivileges) {
            return null;
        }
        GrowOp.Builder grow = GrowOp.newBuilder().setInode(inode);
        if (unsentSize != NONE) {
            grow.setSize(unsentSize).setTruncateSequence(known().getTruncateSequence());
        }
        if (unsentMtimeNanos != NONE) {
            grow.setMtime(timespec(unsentMtimeNanos));
        }
        grow.setKillSuidSgid(unsentKill || killPrivileges);
        sentSize = Math.max(sentSize, unsentSize);
        sentMtimeNanos = Math.max(sentMtimeNanos, unsentMtimeNanos);
        unsentSize = NONE;
        unsentMtimeNanos = NONE;
        unsentKill = false;
        growsInFlight++;
        return grow.build();
    }

    /**
     * A size that no bytes stand for, sent from now on. Under the monitor, as {@link #takeGrow}.
     */
    GrowOp takeExtension(long size, long nowNanos) {
        writes++;
        sentMtimeNanos = Math.max(sentMtimeNanos, nowNanos);
        growsInFlight++;
        return GrowOp.newBuilder()
                .setInode(inode)
                .setSize(size)
                .setMtime(timespec(nowNanos))
                .build();
    }

    /** The session has lived on after a cut of that sequence, so the cut was not of its end. */
    synchronized void aliveAfter(long truncateSequence) {
        if (truncateSequence >= voidedBy) {
            voidedBy = NONE;
        }
    }

    /** A Grow was answered. */
    synchronized void grown() {
        if (--growsInFlight == 0) {
            sentSize = NONE;
            sentMtimeNanos = NONE;
        }
    }

    /** A Grow failed: what it published is unsent again. True: list the state for publication. */
    synchronized boolean growFailed(GrowOp grow) {
        unsentSize = Math.max(unsentSize, sentSize);
        unsentMtimeNanos = Math.max(unsentMtimeNanos, sentMtimeNanos);
        unsentKill |= grow.getKillSuidSgid();
        grown();
        return relist();
    }

    /**
     * The session has ended and nobody knows whether a Grow was executed in it: a size that it was
     * to publish is lost, the times are unsent again.
     */
    synchronized void growLost(GrowOp grow) {
        boolean counts =
                grow.hasTruncateSequence()
                        && grow.getTruncateSequence() == known().getTruncateSequence();
        if (voidedBy != NONE || (counts && grow.getSize() > known().getSize())) {
            tenure.lose();
        }
        unsentMtimeNanos = Math.max(unsentMtimeNanos, sentMtimeNanos);
        unsentKill |= grow.getKillSuidSgid();
        grown();
        if (mdsOpens == 0 && tenure.awaited() == null) {
            forgetLocal(); // closed meanwhile
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
        unsentSize = NONE;
        sentSize = NONE;
        voidedBy = NONE;
        unsentMtimeNanos = Math.max(unsentMtimeNanos, sentMtimeNanos);
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

    /** Why a handle can change nothing, or null; see {@link Tenure#refusal}. */
    synchronized @Nullable FsException refusal(int lossesKnown) {
        return tenure.refusal(lossesKnown);
    }

    /** Why nothing can be done with it any more, or null. */
    public synchronized @Nullable FsException whyGone() {
        return tenure.whyGone();
    }

    /** The session for requests that begin now. */
    synchronized DataSession session() {
        return tenure.session();
    }

    /** A write in that session has failed: if that is because it has ended, it is lost. */
    synchronized void failedIn(DataSession session) {
        if (session.isEnding()) {
            tenure.lose();
        }
    }

    /** Whether it is to be listed for publication, which is noted. Under the monitor. */
    boolean relist() {
        boolean list = unsent() && !listedDirty;
        listedDirty |= list;
        return list;
    }

    /** The inode is gone: there is nothing left to publish to. */
    synchronized void forgetLocal() {
        unsentSize = NONE;
        unsentMtimeNanos = NONE;
        unsentKill = false;
        sentSize = NONE;
        sentMtimeNanos = NONE;
    }

    /** The size was set explicitly, by whomever, after everything this client had written. */
    synchronized void sizeSet() {
        unsentSize = NONE;
        sentSize = NONE;
    }

    /**
     * Mtime or mode were set explicitly: what writes before that did to them is not to be published
     * any more, though its publication may have failed with a session.
     *
     * @param writesBefore {@link #writes} when the change was queued
     */
    synchronized void set(SetAttrOp change, long writesBefore) {
        if (writes != writesBefore) {
            return; // and what they did counts
        }
        if (change.hasMtime()) {
            unsentMtimeNanos = NONE;
            sentMtimeNanos = NONE;
        }
        if (change.hasMode()) {
            unsentKill = false;
        }
    }

    static Timespec timespec(long nanos) {
        return Timespec.newBuilder()
                .setSeconds(Math.floorDiv(nanos, 1_000_000_000L))
                .setNanos((int) Math.floorMod(nanos, 1_000_000_000L))
                .build();
    }

    /** Since the epoch; times further away than a long of nanoseconds reaches are cut to it. */
    private static long nanos(Timespec t) {
        long seconds = Math.clamp(t.getSeconds(), -MAX_SECONDS, MAX_SECONDS);
        return seconds * 1_000_000_000L + t.getNanos();
    }
}
