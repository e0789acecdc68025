package io.cairn.dataserver.pg;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests in flight on one loop, and the map epoch that the loop confirms: under an older one
 * it admits nothing any more, and nobody waits for an answer to a request of a session that the map
 * refuses. The server reports it to the MDS in its heartbeat. Requests of other sessions do not
 * delay an epoch.
 *
 * <p>An operation that was admitted before keeps its place in the history of its placement group,
 * however long it waits for its commit there: whatever others write to, cut from or delete of its
 * file after the epoch was confirmed comes behind it. So no request delays an epoch. Called on the
 * loop, except {@link #confirmed}.
 */
public final class EpochGate {
    private @Nullable Entry first;
    private volatile long confirmed;

    /** A request between admission and answer; its own list node. */
    public abstract static class Entry {
        private @Nullable Entry previous;
        private @Nullable Entry next;
        private boolean open;

        /** 0 for a request of the MDS. */
        protected abstract long session();

        /** The map refuses the session: to be answered so at once, which makes it leave. */
        protected abstract void refused();
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

    /**
     * The request is answered.
     *
     * @return whether it was in flight: false for one that has left, as those of refused sessions
     */
    public boolean leave(Entry entry) {
        if (!entry.open) {
            return false;
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
        return true;
    }

    /**
     * From now on requests are admitted under this epoch.
     *
     * @param refused whether the map of this epoch refuses a session
     */
    public void advance(long epoch, LongPredicate refused) {
        List<Entry> evicted = new ArrayList<>();
        for (Entry e = first; e != null; e = e.next) {
            if (refused.test(e.session())) {
                evicted.add(e);
            }
        }
        evicted.forEach(Entry::refused);
        confirmed = epoch;
    }

    /** No request of a session that the map of this epoch refuses is admitted. Any thread. */
    public long confirmed() {
        return confirmed;
    }
}
