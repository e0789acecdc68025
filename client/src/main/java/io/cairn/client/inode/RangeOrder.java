package io.cairn.client.inode;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the operations of one client on one file in the order they were issued where it matters:
 * each starts when every earlier change of an overlapping range has finished. Changes (writes,
 * truncations) stand in a list; reads and barriers only wait for it. Requests repeated after a lost
 * connection may arrive in any order, so order on the wire is not enough.
 *
 * <p>Any thread. {@code start} runs without a lock held, on the thread that submitted or on one
 * that finished an earlier operation.
 */
public final class RangeOrder {
    /** One operation; its fields belong to the order it is submitted to. */
    public abstract static class Entry {
        private long from;
        private long to;
        private final boolean change;
        private int blockers;
        private @Nullable List<Entry> dependents;
        private @Nullable Entry previous;
        private @Nullable Entry next;

        /**
         * @param from first byte
         * @param to byte after the last
         * @param change whether later overlapping operations wait for this one
         */
        protected Entry(long from, long to, boolean change) {
            this.from = from;
            this.to = to;
            this.change = change;
        }

        /**
         * Begins the work; must not block or throw. Whoever ends the work calls {@link #finish}.
         */
        protected abstract void start();

        /** Tells one that still waits the time; it may fail its caller, but stays in line. */
        protected void waitingAt(long nowNanos) {}

        /** Whether its caller is gone and does not wait for it. Brief, and takes no lock. */
        protected boolean isAbandoned() {
            return false;
        }
    }

    /** Told of changes. */
    @FunctionalInterface
    public interface Changes {
        /**
         * A change has its place: what is submitted from now on waits for it where it overlaps.
         * Told before it starts, under the order's monitor: brief, and submits nothing.
         *
         * @param to byte after the last
         */
        void placed(long from, long to);
    }

    private static final Logger LOG = LoggerFactory.getLogger(RangeOrder.class);

    private final Changes changes;
    private final ArrayDeque<Entry> ready = new ArrayDeque<>();
    private @Nullable Entry first;
    private @Nullable Entry last;
    private int waiting;
    private boolean draining;

    public RangeOrder(Changes changes) {
        this.changes = changes;
    }

    public void submit(Entry entry) {
        synchronized (this) {
            for (Entry e = first; e != null; e = e.next) {
                if (overlap(e, entry)) {
                    if (e.dependents == null) {
                        e.dependents = new ArrayList<>(2);
                    }
                    e.dependents.add(entry);
                    entry.blockers++;
                }
            }
            if (entry.change) {
                append(entry);
                changes.placed(entry.from, entry.to);
            }
            if (entry.blockers > 0) {
                waiting++;
                return;
            }
        }
        entry.start();
    }

    private static boolean overlap(Entry a, Entry b) {
        return a.from < b.to && b.from < a.to;
    }

    /**
     * A change that has started touches no more than this part of its range: what waits only for
     * the rest of it goes on.
     */
    public void narrow(Entry entry, long from, long to) {
        synchronized (this) {
            entry.from = from;
            entry.to = to;
            List<Entry> dependents = entry.dependents;
            if (dependents == null) {
                return;
            }
            dependents.removeIf(d -> {
                boolean free = !overlap(entry, d);
                if (free) {
                    unblock(d);
                }
                return free;
            });
        }
        drain();
    }

    /** The operation is over, whatever came of it. Once per started entry. */
    public void finish(Entry entry) {
        if (!entry.change) {
            return;
        }
        synchronized (this) {
            unlink(entry);
            List<Entry> dependents = entry.dependents;
            if (dependents == null) {
                return;
            }
            entry.dependents = null;
            dependents.forEach(this::unblock);
        }
        drain();
    }

    private void unblock(Entry dependent) {
        if (--dependent.blockers == 0) {
            waiting--;
            ready.add(dependent);
        }
    }

    private void drain() {
        synchronized (this) {
            if (draining) {
                return; // by a frame below this one or by another thread; it starts ours too
            }
            draining = true;
        }
        for (Entry e = nextReady(); e != null; e = nextReady()) {
            try {
                e.start();
            } catch (RuntimeException | Error problem) { // the others that wait must go on
                LOG.error("An operation could not be started", problem);
            }
        }
    }

    /** Calls {@link Entry#waitingAt} of every change that waits, and of what waits for one. */
    public void tick(long nowNanos) {
        List<Entry> entries = new ArrayList<>();
        synchronized (this) {
            if (waiting == 0) {
                return;
            }
            for (Entry e = first; e != null; e = e.next) {
                if (e.dependents != null) {
                    entries.addAll(e.dependents);
                }
            }
        }
        entries.forEach(e -> e.waitingAt(nowNanos));
    }

    /** True when no change has started or waits. */
    public synchronized boolean idle() {
        return first == null;
    }

    /** True when a change has started or waits that its caller does not wait for. */
    public synchronized boolean hasAbandoned() {
        for (Entry e = first; e != null; e = e.next) {
            if (e.isAbandoned()) {
                return true;
            }
        }
        return false;
    }

    private synchronized @Nullable Entry nextReady() {
        Entry e = ready.poll();
        if (e == null) {
            draining = false;
        }
        return e;
    }

    private void append(Entry entry) {
        entry.previous = last;
        if (last == null) {
            first = entry;
        } else {
            last.next = entry;
        }
        last = entry;
    }

    private void unlink(Entry entry) {
        if (entry.previous == null) {
            first = entry.next;
        } else {
            entry.previous.next = entry.next;
        }
        if (entry.next == null) {
            last = entry.previous;
        } else {
            entry.next.previous = entry.previous;
        }
        entry.previous = null;
        entry.next = null;
    }
}
