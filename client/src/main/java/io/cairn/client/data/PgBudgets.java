package io.cairn.client.data;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Bounds the bytes of data requests in flight and of writes held in memory, so that placement
 * groups that do not answer leave the others their room.
 *
 * <pre>
 *                  silent for stuckNanos with requests in flight
 *   ANSWERING ────────────────────────────────────────────────────▶ STUCK
 *       ▲                        any answer                           │
 *       └─────────────────────────────────────────────────────────────┘
 * </pre>
 *
 * <p>What a stuck PG has in flight does not count against the limit of all, and nothing is added to
 * it: its other requests wait. A PG that has not answered lately gets little until it does, so that
 * one that is about to be found stuck has taken little. Requests of one PG start in their order;
 * PGs take turns.
 *
 * <p>Requests that nobody waits for are *spare*: they are only started where there is room, and
 * what they have in flight keeps no other request waiting. They take half the limit at most,
 * together with the others.
 *
 * <p>Any thread; without a clock of its own but for {@link #slowDown}. Nothing runs under its
 * monitor.
 *
 * @param <C> a request
 */
final class PgBudgets<C> {
    /**
     * The bounds.
     *
     * @param inFlightBytes of all requests of PGs that answer; a larger request goes alone
     * @param heldBytes of all writes in memory; those for stuck PGs may take half
     * @param stuckNanos silence after which a PG counts as stuck
     * @param patienceNanos silence up to which a stuck PG may be about to answer, from another
     *     server: see {@link #slowDown}
     */
    record Limits(long inFlightBytes, long heldBytes, long stuckNanos, long patienceNanos) {}

    /** In flight for a PG that has not answered lately. */
    private static final long PROBE_BYTES = 1 << 20;

    private final class Pg {
        final ArrayDeque<Waiting<C>> waiting = new ArrayDeque<>();
        final Set<Held> held = new HashSet<>();
        long inFlightBytes;
        long spareBytes;
        boolean stuck;
        boolean ready;
        boolean answered;

        /** Of the last answer, or of the first request since nothing was in flight. */
        long sinceNanos;

        /** While it is stuck: when it last answered, or was asked after that. */
        long silentNanos;

        boolean mayTake(long bytes, long now) {
            if (inFlightBytes == 0) {
                return true;
            }
            return !stuck && (lively(now) || inFlightBytes + bytes <= PROBE_BYTES);
        }

        boolean mayTakeSpare(long bytes, long now) {
            long all = inFlightBytes + spareBytes;
            boolean little = all == 0 || all + bytes <= PROBE_BYTES;
            return !stuck && waiting.isEmpty() && (little || lively(now));
        }

        private boolean lively(long now) {
            return answered && now - sinceNanos < limits.stuckNanos;
        }

        boolean isAsked() {
            return inFlightBytes + spareBytes > 0;
        }

        void asked(long now) {
            if (!isAsked()) {
                answered &= now - sinceNanos < limits.stuckNanos;
                sinceNanos = now;
            }
        }
    }

    private record Waiting<C>(C call, long bytes) {}

    /** The memory of a write, as it is counted: see {@link #hold}. */
    static final class Held {
        private final int[] ids;
        private final long bytes;

        /** How many of its PGs are stuck. */
        private int stuck;

        private Held(int[] ids, long bytes) {
            this.ids = ids;
            this.bytes = bytes;
        }
    }

    private final Limits limits;
    private final Map<Integer, Pg> pgs = new HashMap<>();

    /** Those whose first waiting request only needs room, or might. */
    private final ArrayDeque<Pg> ready = new ArrayDeque<>();

    private long activeBytes;
    private long activeSpareBytes;
    private long inFlightBytes;
    private long heldBytes;
    private long stuckHeldBytes;
    private int waiting;
    private boolean draining;

    PgBudgets(Limits limits) {
        this.limits = limits;
    }

    private Pg pg(int id) {
        return pgs.computeIfAbsent(id, i -> new Pg());
    }

    // ---- requests

    /** True: start it. False: it waits, and comes out of {@link #next} or {@link #remove}. */
    synchronized boolean acquire(int id, long bytes, C call, long now) {
        Pg pg = pg(id);
        if (pg.waiting.isEmpty()
                && pg.mayTake(bytes, now)
                && (pg.stuck || (ready.isEmpty() && fits(bytes)))) {
            take(pg, bytes, now);
            return true;
        }
        pg.waiting.add(new Waiting<>(call, bytes));
        waiting++;
        ready(pg);
        return false;
    }

    private boolean fits(long bytes) {
        return activeBytes == 0 || activeBytes + bytes <= limits.inFlightBytes;
    }

    private void take(Pg pg, long bytes, long now) {
        pg.asked(now);
        pg.inFlightBytes += bytes;
        inFlightBytes += bytes;
        if (!pg.stuck) {
            activeBytes += bytes;
        }
    }

    /** True: start it. False: there is no room, and it does not wait for any. */
    synchronized boolean acquireSpare(int id, long bytes, long now) {
        Pg pg = pg(id);
        long all = activeBytes + activeSpareBytes + bytes;
        if (!ready.isEmpty() || all > limits.inFlightBytes / 2 || !pg.mayTakeSpare(bytes, now)) {
            return false;
        }
        pg.asked(now);
        pg.spareBytes += bytes;
        activeSpareBytes += bytes;
        inFlightBytes += bytes;
        return true;
    }

    private void ready(Pg pg) {
        if (!pg.ready && !pg.waiting.isEmpty()) {
            pg.ready = true;
            ready.add(pg);
        }
    }

    /**
     * A request that was started is over.
     *
     * @param answered whether its PG has answered it, if only with a refusal
     */
    synchronized void release(int id, long bytes, boolean answered, long now) {
        Pg pg = pg(id);
        pg.inFlightBytes -= bytes;
        inFlightBytes -= bytes;
        if (!pg.stuck) {
            activeBytes -= bytes;
        }
        over(pg, answered, now);
    }

    /** As {@link #release}, of one that {@link #acquireSpare} let start. */
    synchronized void releaseSpare(int id, long bytes, boolean answered, long now) {
        Pg pg = pg(id);
        pg.spareBytes -= bytes;
        inFlightBytes -= bytes;
        if (!pg.stuck) {
            activeSpareBytes -= bytes;
        }
        over(pg, answered, now);
    }

    private void over(Pg pg, boolean answered, long now) {
        if (answered) {
            pg.answered = true;
            pg.sinceNanos = now;
            if (pg.stuck) {
                pg.stuck = false;
                activeBytes += pg.inFlightBytes;
                activeSpareBytes += pg.spareBytes;
                pg.held.forEach(held -> stuck(held, -1));
                notifyAll();
            }
        }
        ready(pg);
    }

    /** Whether this thread is to start what {@link #next} gives; another one does so if not. */
    synchronized boolean drain() {
        boolean mine = !draining;
        draining = true;
        return mine;
    }

    /** The next request that has become possible; null: {@link #drain} begins anew. */
    synchronized @Nullable C next(long now) {
        for (Pg pg = ready.peek(); pg != null; pg = ready.peek()) {
            Waiting<C> first = pg.waiting.peek();
            boolean possible = first != null && pg.mayTake(first.bytes, now);
            if (possible && !pg.stuck && !fits(first.bytes)) {
                break;
            }
            ready.remove();
            pg.ready = false;
            if (possible) {
                pg.waiting.remove();
                waiting--;
                take(pg, first.bytes, now);
                ready(pg);
                return first.call;
            } // else its next release makes it ready again
        }
        draining = false;
        return null;
    }

    /** Takes out requests that wait. */
    synchronized List<C> remove(Predicate<? super C> which) {
        List<C> removed = new ArrayList<>();
        if (waiting == 0) {
            return removed;
        }
        for (Pg pg : pgs.values()) {
            for (Iterator<Waiting<C>> all = pg.waiting.iterator(); all.hasNext(); ) {
                C call = all.next().call;
                if (which.test(call)) {
                    all.remove();
                    waiting--;
                    removed.add(call);
                }
            }
            ready(pg);
        }
        return removed;
    }

    /** Finds out which PGs are stuck; {@link #next} may have something then. */
    synchronized void tick(long now) {
        for (Pg pg : pgs.values()) {
            if (!pg.stuck && pg.isAsked() && now - pg.sinceNanos >= limits.stuckNanos) {
                pg.stuck = true;
                pg.silentNanos = pg.sinceNanos;
                activeBytes -= pg.inFlightBytes;
                activeSpareBytes -= pg.spareBytes;
                pg.held.forEach(held -> stuck(held, 1));
            }
        }
    }

    // ---- memory

    /**
     * Counts the memory of a write for these PGs, unless it is too much: then null.
     *
     * @param ids each once
     */
    synchronized @Nullable Held hold(int[] ids, long bytes) {
        boolean stuck = false;
        for (int id : ids) {
            stuck |= pg(id).stuck;
        }
        if (heldBytes + bytes > limits.heldBytes
                || (stuck && stuckHeldBytes + bytes > limits.heldBytes / 2)) {
            return null;
        }
        Held held = new Held(ids, bytes);
        for (int id : ids) {
            Pg pg = pg(id);
            pg.held.add(held);
            if (pg.stuck) {
                stuck(held, 1);
            }
        }
        heldBytes += bytes;
        return held;
    }

    /** That much is free again; once. */
    synchronized void letGo(Held held) {
        for (int id : held.ids) {
            pg(id).held.remove(held);
        }
        if (held.stuck > 0) {
            stuckHeldBytes -= held.bytes;
        }
        heldBytes -= held.bytes;
        notifyAll();
    }

    /** So many more of its PGs are stuck: it counts once, however many they are. */
    private void stuck(Held held, int more) {
        boolean before = held.stuck > 0;
        held.stuck += more;
        boolean after = held.stuck > 0;
        if (before != after) {
            stuckHeldBytes += after ? held.bytes : -held.bytes;
        }
    }

    /**
     * Waits as long as a write might be refused though its PGs are about to answer, and while
     * writes for PGs that answer hold more than half of what all may hold: the longer, the fuller
     * it is.
     *
     * @param maxMillis of the latter
     */
    synchronized void slowDown(long maxMillis) throws InterruptedException {
        awaitPgsThatMayAnswer();
        awaitRoom(maxMillis);
        awaitPgsThatMayAnswer(); // others may have been found stuck meanwhile
    }

    private void awaitRoom(long maxMillis) throws InterruptedException {
        long half = limits.heldBytes / 2;
        long over = heldBytes - stuckHeldBytes - half;
        if (over <= 0) {
            return;
        }
        long until = System.nanoTime() + Math.max(1, maxMillis * over / half) * 1_000_000;
        long left = until - System.nanoTime();
        while (left > 0 && heldBytes - stuckHeldBytes > half) {
            wait(left / 1_000_000 + 1);
            left = until - System.nanoTime();
        }
    }

    /** Leaves a quarter for callers that are past this. */
    private void awaitPgsThatMayAnswer() throws InterruptedException {
        long most = limits.heldBytes / 8 * 3;
        while (stuckHeldBytes > most) {
            long left = patienceLeft();
            if (left <= 0) {
                return;
            }
            wait(left / 1_000_000 + 1);
        }
    }

    /** With the PG that fell silent last; negative if with none. */
    private long patienceLeft() {
        long now = System.nanoTime();
        long left = -1;
        for (Pg pg : pgs.values()) {
            if (pg.stuck && !pg.held.isEmpty()) {
                left = Math.max(left, limits.patienceNanos - (now - pg.silentNanos));
            }
        }
        return left;
    }

    // ---- meters

    synchronized long inFlightBytes() {
        return inFlightBytes;
    }

    synchronized int waiting() {
        return waiting;
    }

    synchronized long heldBytes() {
        return heldBytes;
    }

    /** Of these bytes, those of writes with parts in stuck PGs. */
    synchronized long stuckHeldBytes() {
        return stuckHeldBytes;
    }

    /**
     * The PGs that were found stuck and have not answered since, and since when they have not; also
     * those for which nothing waits any more.
     */
    synchronized Map<Integer, Long> stuckSince() {
        Map<Integer, Long> stuck = Map.of();
        for (Map.Entry<Integer, Pg> pg : pgs.entrySet()) {
            if (pg.getValue().stuck) {
                stuck = stuck.isEmpty() ? new HashMap<>() : stuck;
                stuck.put(pg.getKey(), pg.getValue().silentNanos);
            }
        }
        return stuck;
    }

    synchronized int stuckPgs() {
        int stuck = 0;
        for (Pg pg : pgs.values()) {
            stuck += pg.stuck && (pg.isAsked() || !pg.waiting.isEmpty()) ? 1 : 0;
        }
        return stuck;
    }
}
