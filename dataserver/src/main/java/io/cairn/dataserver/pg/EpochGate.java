package io.cairn.dataserver.pg;

import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests under way on one loop, and up to which map epoch this loop has nothing left of the
 * sessions that the map refuses: what a server confirms to the MDS in its heartbeat. Requests of
 * other sessions do not hold an epoch up, however long a placement group makes them wait. All
 * methods on the loop but {@link #confirmed}.
 */
public final class EpochGate {
    private @Nullable Entry first;
    private long epoch;
    private int fenced;
    private volatile long confirmed;

    /** A request between admission and answer; its own list node. */
    public abstract static class Entry {
        private @Nullable Entry previous;
        private @Nullable Entry next;
        private boolean open;
        private boolean fenced;

        protected abstract long session();
    }

    public void enter(Entry entry) {
        Entry second = first;
        entry.next = second;
        if (second != null) {
            second.previous = entry;
        }
        entry.open = true;
        first = entry;
    }

    /** Harmless for a request that did not enter, or has left. */
    public void leave(Entry entry) {
        if (!entry.open) {
            return;
        }
        entry.open = false;
        Entry before = entry.previous;
        Entry after = entry.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after != null) {
            after.previous = before;
        }
        entry.previous = null;
        entry.next = null;
        if (entry.fenced) {
            fenced--;
            confirm();
        }
    }

    /**
     * From now on requests are admitted under this epoch.
     *
     * @param refused whether the map of this epoch refuses a session
     */
    void advance(long newEpoch, LongPredicate refused) {
        epoch = newEpoch;
        for (Entry e = first; e != null; e = e.next) {
            if (!e.fenced && refused.test(e.session())) {
                e.fenced = true;
                fenced++;
            }
        }
        confirm();
    }

    /** Nothing of a session refused in this epoch's map is under way. Any thread. */
    long confirmed() {
        return confirmed;
    }

    private void confirm() {
        if (fenced == 0) {
            confirmed = epoch;
        }
    }
}
