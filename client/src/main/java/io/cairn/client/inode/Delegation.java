package io.cairn.client.inode;

import io.cairn.client.base.AttrChanges;
import io.cairn.client.base.Times;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.ArrayDeque;
import java.util.function.LongPredicate;

/**
 * Whether a file is delegated to this client, and the changes of its attributes that were answered
 * to programs and not by the MDS yet. Guarded by the monitor of the {@link InodeState} that it
 * belongs to.
 */
final class Delegation {
    /** One change that was queued. */
    record Change(SetAttrOp change, Timespec time) {}

    private final LongPredicate isRound;
    private final ArrayDeque<Change> untold = new ArrayDeque<>();

    /** This client has made the file, and the MDS has not yet. */
    private boolean unmade;

    /** Changes queued so far. */
    private long queued;

    /** So many are in the attributes that are known, whether or not they were answered. */
    private long executed;

    /** In which it was delegated; 0: it is not. */
    private long round;

    /**
     * @param isRound whether what was delegated in that round still is
     */
    Delegation(LongPredicate isRound) {
        this.isRound = isRound;
    }

    /** The MDS says so, in that round; 0: it does not. */
    void begin(long in) {
        round = in;
    }

    /** True if it was delegated. */
    boolean end() {
        boolean was = round != 0;
        round = 0;
        return was;
    }

    boolean isHeld() {
        return round != 0 && isRound.test(round);
    }

    /** 0: it is not delegated. */
    long round() {
        return round;
    }

    // ---- what is not answered yet

    boolean isUntold() {
        return unmade || !untold.isEmpty();
    }

    /** Programs use it, and the MDS has yet to make it; then {@link #made}. */
    void making() {
        unmade = true;
    }

    /** The MDS has made it, or will not. */
    void made() {
        unmade = false;
    }

    /**
     * @return how many were queued so far
     */
    long queued(Change change) {
        untold.add(change);
        return ++queued;
    }

    long queued() {
        return queued;
    }

    /** Answers may come in another order: something behind so many changes was answered. */
    void executed(long changes) {
        executed = Math.max(executed, changes);
    }

    /** One was answered, or will not be. */
    void answered() {
        untold.remove();
    }

    /** The attributes as they will be. */
    Attr appliedTo(Attr known) {
        if (untold.isEmpty()) {
            return known;
        }
        Attr.Builder attr = known.toBuilder();
        long number = queued - untold.size();
        for (Change change : untold) {
            if (++number > executed && Times.compare(known.getCtime(), change.time()) < 0) {
                AttrChanges.apply(change.change(), change.time(), attr);
            }
        }
        return attr.build();
    }

    /**
     * The time for a change that is queued now. Such times ascend, and the MDS makes them the ctime
     * of the file: so the ctime of what is heard of it says which changes are in it.
     *
     * @param now by this client's clock
     * @param told the attributes with all changes before it
     */
    static Timespec stamp(Timespec now, Attr told) {
        return Times.after(told.getCtime(), now);
    }
}
