package io.cairn.dataserver.pg;

import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests in flight on one loop, and the map epoch that the loop confirms: the newest one
 * under which it has no request in flight of a session that the map refuses. The server reports it
 * to the MDS in its heartbeat. Requests of other sessions do not delay an epoch, however long a
 * placement group makes them wait. Called on the loop, except {@link #confirmed}.
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

        /** 0 for a request of the MDS. */
        protected abstract long session();
    }

    /** From now on the request is in flight. */
    public void enter(Entry entry) {
        Entry second = first;
        entry.next = second;
        if (second != null) {
            second.previous = entry;
        }
        entry.open = true;
        first = entry;
    }

    /** The request is answered. Harmless for one that did not enter, or has left. */
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

    /** No request of a session that the map of this epoch refuses is in flight. Any thread. */
    long confirmed() {
        return confirmed;
    }

    private void confirm() {
        if (fenced == 0) {
            confirmed = epoch;
        }
    }
}
