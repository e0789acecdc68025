package io.cairn.client.inode;

import io.cairn.client.base.Times;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.AttrOrBuilder;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.LinkedHashSet;
import org.jspecify.annotations.Nullable;

/**
 * What this client's writes have made of the size, mtime and privileges of one inode, until the MDS
 * has confirmed it.
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
 * <p>Guarded by the monitor of the {@link InodeState} that it belongs to. What is taken to be
 * published is queued under that monitor.
 */
final class OwnWrites {
    private static final long NONE = -1;

    private final long inode;

    private long unsentSize = NONE;
    private long unsentMtimeNanos = NONE;
    private boolean unsentKill;
    private long sentSize = NONE;
    private long sentMtimeNanos = NONE;
    private int growsInFlight;
    private boolean listed;

    /** In the order in which they were answered. */
    private final LinkedHashSet<Promise> extending = new LinkedHashSet<>();

    private int promises;

    /** The largest end of what is promised; NONE where nothing is. */
    private long promisedSize = NONE;

    /** Something promised was kept: a size may have no time of its own. */
    private boolean landed;

    /** The size was set while something was promised: where that extends the file is not known. */
    private boolean resized;

    /** Failed writes may have left bytes beyond the size, of which the MDS was not told. */
    private boolean left;

    private long count;

    /** Sequence of the newest cut that took a size of ours which was not published; else NONE. */
    private long voidedBy = NONE;

    /**
     * A write that was answered before it is durable.
     *
     * @param from the size that it extends; {@link Long#MAX_VALUE} where it extends nothing
     */
    record Promise(long id, long from) {}

    OwnWrites(long inode) {
        this.inode = inode;
    }

    // ---- what it is

    /** The largest end of a write that is not confirmed; -1 where there is none. */
    long size() {
        return Math.max(promisedSize, Math.max(unsentSize, sentSize));
    }

    /** Whether a write was answered that is not durable yet. */
    boolean promises() {
        return promises > 0;
    }

    /** How often this client has changed size or mtime by writing. */
    long count() {
        return count;
    }

    /** True while something was not even sent. */
    boolean unsent() {
        return unsentSize != NONE || unsentMtimeNanos != NONE || unsentKill;
    }

    /** True while the MDS has not confirmed everything. */
    boolean unconfirmed() {
        return unsent() || growsInFlight > 0;
    }

    /** Whether a cut took a size that was not published, and {@link #aliveAfter} was not said. */
    boolean sizeVoided() {
        return voidedBy != NONE;
    }

    /** The MDS's attributes with the size and times of these writes in them. */
    Attr mergedInto(Attr known) {
        boolean larger = size() > known.getSize();
        boolean sentLater = sentMtimeNanos != NONE && replaces(sentMtimeNanos, known);
        if (!larger && !sentLater && unsentMtimeNanos == NONE) {
            return known;
        }
        Attr.Builder merged = known.toBuilder();
        if (larger) {
            merged.setSize(size());
        }
        if (sentLater) { // else it may be that it was executed
            Timespec mtime = timespec(sentMtimeNanos);
            merged.setMtime(mtime).setCtime(Times.latest(mtime, known.getCtime()));
        }
        if (unsentMtimeNanos != NONE) {
            Timespec mtime = timespec(unsentMtimeNanos);
            merged.setMtime(isAhead(merged) ? mtime : Times.after(merged.getMtime(), mtime));
            merged.setCtime(Times.after(merged.getCtime(), mtime));
        }
        return merged.build();
    }

    /**
     * As the MDS decides it: writes leave no mtime after the ctime, so an mtime after the ctime was
     * set explicitly, and a write replaces it.
     */
    private static boolean replaces(long mtime, Attr known) {
        return Times.compare(timespec(mtime), known.getMtime()) > 0 || isAhead(known);
    }

    private static boolean isAhead(AttrOrBuilder attr) {
        return Times.compare(attr.getMtime(), attr.getCtime()) > 0;
    }

    // ---- what happens

    /**
     * A write is durable; true when the state must be listed for publication.
     *
     * @param end of its bytes, or -1 where they were cut since
     */
    boolean wrote(long end, long nowNanos, boolean killPrivileges) {
        count++;
        unsentSize = Math.max(unsentSize, end);
        unsentMtimeNanos = Math.max(unsentMtimeNanos, nowNanos);
        unsentKill |= killPrivileges;
        return relist();
    }

    /**
     * A write is answered before it is durable; {@link #landed} or {@link #broken} follows.
     *
     * @param end of its bytes
     * @param known the size that the MDS knows
     */
    Promise promise(long end, long known, long nowNanos, boolean killPrivileges) {
        count++;
        unsentMtimeNanos = Math.max(unsentMtimeNanos, nowNanos);
        unsentKill |= killPrivileges;
        long before = Math.max(size(), known);
        Promise promise = new Promise(count, end > before ? before : Long.MAX_VALUE);
        promises++;
        if (end > before) {
            extending.add(promise);
            promisedSize = end;
        }
        return promise;
    }

    /**
     * It is durable; true when the state must be listed for publication.
     *
     * @param end of its bytes, or -1 where they were cut since
     */
    boolean landed(Promise promise, long end) {
        broken(promise);
        unsentSize = Math.max(unsentSize, end);
        landed = true;
        return relist();
    }

    /** It will not be; true when the state must be listed for publication. */
    boolean brokenOff(Promise promise) {
        broken(promise);
        return relist();
    }

    private void broken(Promise promise) {
        extending.remove(promise);
        promises--;
        if (extending.isEmpty()) {
            promisedSize = NONE;
            resized = false;
        }
    }

    /**
     * How much of the unsent size there is to publish: nothing beyond bytes that are still on their
     * way, or a hole would be there if this client failed.
     */
    private long ready(long known) {
        if (unsentSize == NONE || extending.isEmpty()) {
            return unsentSize;
        }
        long from = resized ? 0 : extending.getFirst().from();
        if (from >= unsentSize) {
            return unsentSize;
        }
        return from > Math.max(sentSize, known) ? from : NONE;
    }

    /** A write that does not count may have left bytes beyond the size. */
    void left() {
        left = true;
    }

    /** A truncation was heard of. */
    void cut(long truncateSequence, long sizeLeft) {
        if (size() > sizeLeft) {
            voidedBy = truncateSequence;
        }
        sizeSet();
    }

    /** The session has lived on after a cut of that sequence, so the cut was not of its end. */
    void aliveAfter(long truncateSequence) {
        if (truncateSequence >= voidedBy) {
            voidedBy = NONE;
        }
    }

    /** The size was set explicitly, by whomever, after all these writes. */
    void sizeSet() {
        resized = !extending.isEmpty();
        unsentSize = NONE;
        sentSize = NONE;
    }

    /**
     * Mtime or mode were set explicitly: what writes before that did to them is not to be published
     * any more, though its publication may have failed with a session.
     *
     * @param countThen {@link #count} when the change was queued
     */
    void set(SetAttrOp change, long countThen) {
        if (count != countThen) {
            return; // and what the later writes did counts
        }
        if (change.hasMtime()) {
            unsentMtimeNanos = NONE;
            sentMtimeNanos = NONE;
        }
        if (change.hasMode()) {
            unsentKill = false;
        }
    }

    /** Sizes not published are lost, times are to be published in the next session. */
    void sessionEnded() {
        sizeSet();
        left = false; // the MDS cuts what ended sessions have left
        voidedBy = NONE;
        unsentMtimeNanos = Math.max(unsentMtimeNanos, sentMtimeNanos);
    }

    /** The inode is gone: there is nothing left to publish to. */
    void forget() {
        sizeSet();
        left = false;
        unsentMtimeNanos = NONE;
        unsentKill = false;
        sentMtimeNanos = NONE;
    }

    // ---- publication

    /** Whether it is to be listed for publication, which is noted. */
    boolean relist() {
        boolean list = unsent() && !listed;
        listed |= list;
        return list;
    }

    /** It is taken from the list. */
    void unlisted() {
        listed = false;
    }

    /**
     * What is to be published, sent from now on; null when there is nothing.
     *
     * @param known the size that the MDS knows
     * @param leftovers whether to tell of bytes left beyond the size
     * @param awaited whether somebody waits until what is durable by now is published, whatever is
     *     on its way besides
     */
    @Nullable GrowOp take(
            long truncateSequence,
            long known,
            boolean killPrivileges,
            boolean leftovers,
            boolean awaited) {
        boolean tellsOfThem = left && leftovers;
        long size = awaited ? unsentSize : ready(known);
        boolean kill = unsentKill || killPrivileges;
        boolean timed = unsentMtimeNanos != NONE;
        if (size == NONE && !timed && !kill && !tellsOfThem) {
            return null;
        }
        GrowOp.Builder grow = GrowOp.newBuilder().setInode(inode);
        if (size != NONE) {
            grow.setSize(size).setTruncateSequence(truncateSequence);
        }
        grow.setKeepsTimes(landed && !timed && !kill && !tellsOfThem);
        if (unsentMtimeNanos != NONE) {
            grow.setMtime(timespec(unsentMtimeNanos));
        }
        grow.setKillSuidSgid(kill);
        grow.setLeftovers(tellsOfThem);
        left &= !tellsOfThem;
        sentSize = Math.max(sentSize, size);
        sentMtimeNanos = Math.max(sentMtimeNanos, unsentMtimeNanos);
        unsentSize = size == unsentSize ? NONE : unsentSize;
        unsentMtimeNanos = NONE;
        unsentKill = false;
        growsInFlight++;
        return grow.build();
    }

    /** A size that no bytes stand for, sent from now on. */
    GrowOp takeExtension(long size, long nowNanos) {
        count++;
        sentMtimeNanos = Math.max(sentMtimeNanos, nowNanos);
        growsInFlight++;
        return GrowOp.newBuilder()
                .setInode(inode)
                .setSize(size)
                .setMtime(timespec(nowNanos))
                .build();
    }

    /** A Grow was answered. */
    void grown() {
        if (--growsInFlight == 0) {
            sentSize = NONE;
            sentMtimeNanos = NONE;
        }
    }

    /** A Grow failed: what it published is unsent again. True: list the state for publication. */
    boolean growFailed(GrowOp grow) {
        unsentSize = Math.max(unsentSize, sentSize);
        growLost(grow);
        return relist();
    }

    /** Nobody knows whether a Grow was executed, and its session has ended: times are unsent. */
    void growLost(GrowOp grow) {
        unsentMtimeNanos = Math.max(unsentMtimeNanos, sentMtimeNanos);
        unsentKill |= grow.getKillSuidSgid();
        left |= grow.getLeftovers();
        grown();
    }

    private static Timespec timespec(long nanos) {
        return Timespec.newBuilder()
                .setSeconds(Math.floorDiv(nanos, 1_000_000_000L))
                .setNanos((int) Math.floorMod(nanos, 1_000_000_000L))
                .build();
    }
}
