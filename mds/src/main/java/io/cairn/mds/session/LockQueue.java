package io.cairn.mds.session;

import io.cairn.common.proto.FileLock;
import io.cairn.mds.namespace.LockRanges;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Who waits for locks, in the order of their coming, and whose turn it is. Without threads, clock
 * or I/O of its own; its monitor guards it.
 *
 * <pre>
 *   asked --nothing in the way--> its turn --locked, cancelled, or 100 ms--> (out)
 * </pre>
 *
 * <p>Nothing in the way: no lock of another owner, no turn of one, and none that came before and
 * wants what conflicts with it. The last holds for a second only, and not for an owner that has
 * locked something of the file already: it could be the one the others wait for, and then all would
 * wait for ever. So who comes later passes a waiter for a second at most, or a stream of readers
 * could keep a writer away; and a deadlock that is only of our making ends after that time.
 *
 * @param <R> what a waiter is told by
 */
final class LockQueue<R> {
    static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How long the place is kept for a caller that was told to ask again. */
    static final long PLACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Owners that a search for a deadlock looks at, at most: then there is none. */
    private static final int MAX_OWNERS = 10_000;

    /** One call that waits. The control thread only. */
    static final class Waiter<R> {
        final FileLock wanted;
        final long ticket;

        /** Whether it can be part of a deadlock that is told. */
        final boolean checked;

        final long sinceNanos;

        /** Null once it was told to ask again. */
        @Nullable R request;

        /** With a request: when it is answered in any case; without: when the place is lost. */
        long untilNanos;

        Waiter(FileLock wanted, long ticket, boolean checked, long sinceNanos) {
            this.wanted = wanted;
            this.ticket = ticket;
            this.checked = checked;
            this.sinceNanos = sinceNanos;
        }

        boolean isOf(long session, long ticket) {
            return wanted.getSession() == session && this.ticket == ticket;
        }
    }

    private record Turn<R>(Waiter<R> waiter, long untilNanos) {
        boolean lasts(long now) {
            return now - untilNanos < 0;
        }
    }

    private record Owner(long session, long owner) {
        static Owner of(FileLock lock) {
            return new Owner(lock.getSession(), lock.getOwner());
        }
    }

    private final Map<Long, List<Waiter<R>>> waiting = new HashMap<>();
    private final Map<Long, List<Turn<R>>> turns = new HashMap<>();

    /**
     * The caller's place: its own, kept, or at the end. One whose turn it was, and who comes back
     * without the lock, keeps the time at which it came.
     */
    synchronized Waiter<R> place(FileLock wanted, long ticket, boolean checked, long now) {
        long inode = wanted.getInode();
        List<Waiter<R>> line = waiting.computeIfAbsent(inode, i -> new ArrayList<>());
        for (Waiter<R> waiter : line) {
            if (waiter.isOf(wanted.getSession(), ticket)) {
                return waiter;
            }
        }
        long since = now;
        List<Turn<R>> given = turns.getOrDefault(inode, List.of());
        for (Turn<R> turn : given) {
            if (turn.waiter.isOf(wanted.getSession(), ticket)) {
                since = turn.waiter.sinceNanos;
            }
        }
        endTurns(inode, turn -> turn.waiter.isOf(wanted.getSession(), ticket));
        Waiter<R> waiter = new Waiter<>(wanted, ticket, checked, since);
        int at = line.size();
        while (at > 0 && since - line.get(at - 1).sinceNanos < 0) {
            at--;
        }
        line.add(at, waiter);
        return waiter;
    }

    /** The call has ended; null where it does not wait. */
    synchronized @Nullable Waiter<R> cancel(long inode, long session, long ticket) {
        endTurns(inode, turn -> turn.waiter.isOf(session, ticket));
        @Nullable Waiter<R> found = null;
        for (Waiter<R> waiter : waiting.getOrDefault(inode, List.of())) {
            if (waiter.isOf(session, ticket)) {
                found = waiter;
            }
        }
        if (found != null) {
            remove(found);
        }
        return found;
    }

    synchronized void remove(Waiter<R> waiter) {
        long inode = waiter.wanted.getInode();
        List<Waiter<R>> line = waiting.get(inode);
        if (line != null && line.remove(waiter) && line.isEmpty()) {
            waiting.remove(inode);
        }
    }

    synchronized List<Waiter<R>> waiting(long inode) {
        return List.copyOf(waiting.getOrDefault(inode, List.of()));
    }

    /** Files that somebody waits for, or has the turn of. */
    synchronized Set<Long> files() {
        Set<Long> files = new HashSet<>(waiting.keySet());
        files.addAll(turns.keySet());
        return files;
    }

    synchronized boolean concerns(long inode) {
        return waiting.containsKey(inode) || turns.containsKey(inode);
    }

    /** Whether the lock's owner waits for another one. */
    synchronized boolean isWaiting(FileLock lock) {
        for (List<Waiter<R>> line : waiting.values()) {
            for (Waiter<R> waiter : line) {
                if (waiter.checked && Owner.of(waiter.wanted).equals(Owner.of(lock))) {
                    return true;
                }
            }
        }
        return false;
    }

    synchronized int size() {
        return waiting.values().stream().mapToInt(List::size).sum();
    }

    /** Whether the call has a place in line or a turn: {@link #place} makes no further one. */
    synchronized boolean knows(long inode, long session, long ticket) {
        for (Waiter<R> waiter : waiting.getOrDefault(inode, List.of())) {
            if (waiter.isOf(session, ticket)) {
                return true;
            }
        }
        for (Turn<R> turn : turns.getOrDefault(inode, List.of())) {
            if (turn.waiter.isOf(session, ticket)) {
                return true;
            }
        }
        return false;
    }

    synchronized int sizeOf(long session) {
        int count = 0;
        for (List<Waiter<R>> line : waiting.values()) {
            for (Waiter<R> waiter : line) {
                count += waiter.wanted.getSession() == session ? 1 : 0;
            }
        }
        return count;
    }

    synchronized void clear() {
        waiting.clear();
        turns.clear();
    }

    // ---- turns --------------------------------------------------------------

    /**
     * Gives turns to those whose request is there and whom nothing is in the way of; they are no
     * longer in line.
     *
     * @param held the file's locks
     */
    synchronized List<Waiter<R>> serve(long inode, List<FileLock> held, long now) {
        endTurns(inode, turn -> !turn.lasts(now));
        List<Waiter<R>> served = new ArrayList<>();
        List<Waiter<R>> line = waiting.getOrDefault(inode, List.of());
        for (Waiter<R> waiter : List.copyOf(line)) {
            if (waiter.request != null && isFree(waiter, held, now)) {
                remove(waiter);
                turns.computeIfAbsent(inode, i -> new ArrayList<>())
                        .add(new Turn<>(waiter, now + TURN_NANOS));
                served.add(waiter);
            }
        }
        return served;
    }

    /** The owner has the lock: it has used its turn. */
    synchronized void taken(FileLock lock) {
        endTurns(
                lock.getInode(),
                turn ->
                        LockRanges.sameOwner(turn.waiter.wanted, lock)
                                && LockRanges.overlap(turn.waiter.wanted, lock));
    }

    private boolean isFree(Waiter<R> waiter, List<FileLock> held, long now) {
        FileLock wanted = waiter.wanted;
        if (held.stream().anyMatch(lock -> LockRanges.conflict(lock, wanted))
                || isAnothersTurn(wanted, now)) {
            return false;
        }
        if (now - waiter.sinceNanos >= PATIENCE_NANOS || hasAny(held, wanted)) {
            return true;
        }
        for (Waiter<R> before : waiting.getOrDefault(wanted.getInode(), List.of())) {
            if (before == waiter) {
                break;
            }
            if (LockRanges.conflict(before.wanted, wanted)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether the lock is not to be taken now though it is free: it is another's turn, or, if the
     * caller would rather wait, another has waited for longer.
     *
     * @param held the file's locks, asked for only where somebody waits
     */
    boolean isReserved(
            FileLock wanted, boolean waits, long now, LongFunction<List<FileLock>> held) {
        synchronized (this) {
            if (isAnothersTurn(wanted, now)) {
                return true;
            }
            boolean later = false;
            for (Waiter<R> before : waiting.getOrDefault(wanted.getInode(), List.of())) {
                later |= LockRanges.conflict(before.wanted, wanted);
            }
            for (Turn<R> turn : turns.getOrDefault(wanted.getInode(), List.of())) {
                later &= !LockRanges.sameOwner(turn.waiter.wanted, wanted); // whose turn it is
            }
            if (!later || !waits) {
                return false;
            }
        }
        return !hasAny(held.apply(wanted.getInode()), wanted);
    }

    private boolean isAnothersTurn(FileLock wanted, long now) {
        for (Turn<R> turn : turns.getOrDefault(wanted.getInode(), List.of())) {
            if (turn.lasts(now) && LockRanges.conflict(turn.waiter.wanted, wanted)) {
                return true;
            }
        }
        return false;
    }

    private void endTurns(long inode, Predicate<Turn<R>> ended) {
        List<Turn<R>> given = turns.get(inode);
        if (given != null) {
            given.removeIf(ended);
            if (given.isEmpty()) {
                turns.remove(inode);
            }
        }
    }

    private static boolean hasAny(List<FileLock> held, FileLock wanted) {
        return held.stream().anyMatch(lock -> LockRanges.sameOwner(lock, wanted));
    }

    // ---- deadlocks ----------------------------------------------------------

    /**
     * Whether the waiter waits for an owner that, by way of others that wait, waits for the
     * waiter's own.
     *
     * @param held the locks of a file
     */
    boolean isDeadlock(Waiter<R> waiter, LongFunction<List<FileLock>> held) {
        if (!waiter.checked) {
            return false;
        }
        Map<Owner, List<FileLock>> wants = new HashMap<>();
        synchronized (this) {
            for (List<Waiter<R>> line : waiting.values()) {
                for (Waiter<R> other : line) {
                    if (other.checked) {
                        wants.computeIfAbsent(Owner.of(other.wanted), o -> new ArrayList<>())
                                .add(other.wanted);
                    }
                }
            }
        }
        Owner self = Owner.of(waiter.wanted);
        Map<Long, List<FileLock>> known = new HashMap<>();
        List<FileLock> open = new ArrayList<>(List.of(waiter.wanted));
        Set<Owner> seen = new HashSet<>();
        while (!open.isEmpty() && seen.size() < MAX_OWNERS) {
            FileLock wanted = open.removeLast();
            for (FileLock lock : known.computeIfAbsent(wanted.getInode(), held::apply)) {
                Owner holder = Owner.of(lock);
                if (!LockRanges.conflict(lock, wanted) || !seen.add(holder)) {
                    continue;
                }
                if (holder.equals(self)) {
                    return true;
                }
                open.addAll(wants.getOrDefault(holder, List.of()));
            }
        }
        return false;
    }

    /** Forgets places that nobody came back to; returns those to be told to ask again. */
    synchronized List<Waiter<R>> late(long now) {
        List<Waiter<R>> late = new ArrayList<>();
        for (Iterator<List<Waiter<R>>> lines = waiting.values().iterator(); lines.hasNext(); ) {
            List<Waiter<R>> line = lines.next();
            line.removeIf(w -> w.request == null && now - w.untilNanos >= 0);
            line.stream()
                    .filter(w -> w.request != null && now - w.untilNanos >= 0)
                    .forEach(late::add);
            if (line.isEmpty()) {
                lines.remove();
            }
        }
        return late;
    }
}
