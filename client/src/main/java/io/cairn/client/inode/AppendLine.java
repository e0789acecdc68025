package io.cairn.client.inode;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The appends of this client to one file, in line, and the right to append to it: without it nobody
 * chooses an offset.
 *
 * <pre>
 *           an append waits          granted; or opened with it
 *   NONE ───────────────────▶ ASKING ─────────────────────────▶ HELD
 *    ▲                                                            │
 *    └── returned: another client wants it; closed: the last handle is gone ──┘
 *        also from ASKING: suspended, as the session has ended; nothing goes on until the file
 *        is open in the next one
 * </pre>
 *
 * <p>Grants and returns are mutations, queued under the monitor of the {@link InodeState} that this
 * belongs to, and so executed in the order of its changes: a grant still stands if nothing was
 * returned since it was asked for. Without threads, clock or I/O of its own; guarded by that
 * monitor. {@link Appends} drives it.
 *
 * @param <A> an append
 */
final class AppendLine<A extends AppendLine.Waiting> {
    /** An append in line. */
    interface Waiting {
        /** Whether its caller's time is over. */
        boolean isLate(long nowNanos);
    }

    /** The right stays at least this long, so that not each append of a burst moves it. */
    static final long HOLD_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    /** How long the rest of a record is waited for, and how much longer it all may take. */
    static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    static final long RECORD_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum Right {
        NONE,
        ASKING,
        HELD
    }

    /** What is to be done next, without the monitor. */
    sealed interface Step<A> {
        record Run<A>(A append) implements Step<A> {}

        /** Ask for the right; the number tells whether the answer is still waited for. */
        record Ask<A>(int number) implements Step<A> {}

        record GiveBack<A>() implements Step<A> {}

        /** Nobody appends: look again after this time whether the right is to be returned. */
        record LookAgain<A>(long nanos) implements Step<A> {}

        /** The last append is over. */
        record Empty<A>() implements Step<A> {}
    }

    private final ArrayDeque<A> waiting = new ArrayDeque<>();
    private @Nullable A running;
    private boolean occupied;
    private boolean advancing;
    private boolean suspended;

    private Right right = Right.NONE;
    private int asks;
    private int returns;
    private int grantsInFlight;
    private int returnsInFlight;
    private long heldSince;

    private boolean recalled;
    private long recalledAt;
    private boolean looking;
    private boolean recordGoesOn;
    private long endedAt;

    /** True for the first one in an empty line. */
    boolean add(A append) {
        waiting.add(append);
        boolean first = !occupied;
        occupied = true;
        return first;
    }

    /** Takes out one that waits; false where it had its turn already. */
    boolean remove(A append) {
        return waiting.remove(append);
    }

    /** Whether this thread is to take steps; another one that does will see what has changed. */
    boolean advance() {
        boolean mine = !advancing;
        advancing = true;
        return mine;
    }

    /** Null when there is nothing to do: {@link #advance} begins anew. */
    @Nullable Step<A> next(long now) {
        Step<A> step = running != null ? null : decide(now);
        advancing = step != null;
        return step;
    }

    private @Nullable Step<A> decide(long now) {
        if (suspended) {
            return null;
        }
        if (right == Right.HELD && recalled) {
            long left = keptNanos(now);
            if (left <= 0) {
                return new Step.GiveBack<>();
            }
            if (waiting.isEmpty() && !looking) {
                looking = true;
                return new Step.LookAgain<>(left);
            }
        }
        A first = waiting.peek();
        if (first == null) {
            boolean last = occupied;
            occupied = false;
            return last ? new Step.Empty<>() : null;
        }
        return switch (right) {
            case NONE -> {
                right = Right.ASKING;
                yield new Step.Ask<>(++asks);
            }
            case ASKING -> null;
            case HELD -> {
                waiting.remove();
                running = first;
                yield new Step.Run<>(first);
            }
        };
    }

    private long keptNanos(long now) {
        long burst = heldSince + HOLD_NANOS - now;
        if (!recordGoesOn) {
            return burst;
        }
        long rest = Math.min(endedAt + REST_NANOS - now, recalledAt + RECORD_NANOS - now);
        return Math.max(burst, rest);
    }

    /** The time of {@link Step.LookAgain} is over. */
    void looked() {
        looking = false;
    }

    /**
     * The running append is over.
     *
     * @param goesOn whether the next one is the rest of the same record
     */
    void over(boolean goesOn, long now) {
        running = null;
        recordGoesOn = goesOn;
        endedAt = now;
    }

    /** The running append could not begin: it is the first again. */
    void again(A append) {
        running = null;
        waiting.addFirst(append);
    }

    // ---- the right

    /** A mutation that may grant the right is being queued; returns what {@link #granted} needs. */
    int granting() {
        grantsInFlight++;
        return returns;
    }

    /** It was granted by a mutation queued when {@link #granting} returned this. */
    void granted(int returnsThen, long now) {
        grantsInFlight--;
        if (returns == returnsThen && right != Right.HELD) {
            right = Right.HELD;
            heldSince = now;
        } else if (right == Right.ASKING) {
            right = Right.NONE;
        }
    }

    /** That mutation did not grant it. */
    void notGranted() {
        grantsInFlight--;
        recalled &= right == Right.HELD;
    }

    /** The file was made with the right; only if nothing was ever returned it still stands. */
    void created(long now) {
        if (returns == 0) {
            var _ = granting();
            granted(0, now);
        }
    }

    /** Whether the answer to that {@link Step.Ask} is still waited for. */
    boolean asks(int number) {
        return right == Right.ASKING && asks == number;
    }

    /** Also whether anything still waits for the right; if not, nobody asks any more. */
    boolean wants(int number) {
        boolean mine = asks(number);
        if (mine && waiting.isEmpty()) {
            right = Right.NONE;
        }
        return mine && !waiting.isEmpty();
    }

    /**
     * Another client wants the right. True where this client must return what it does not know that
     * it has.
     */
    boolean recall(long now) {
        if (right == Right.HELD || grantsInFlight > 0) {
            // A recall may overtake the grant that it is about.
            recalledAt = recalled ? recalledAt : now;
            recalled = true;
            return false;
        }
        return returnsInFlight == 0;
    }

    /** The return is being queued. */
    void returning() {
        returnsInFlight++;
        closed();
    }

    void returned() {
        returnsInFlight--;
    }

    /** The release of the last open is being queued, which returns the right too. */
    void closed() {
        returns++;
        recalled = false;
        recordGoesOn = false;
        if (right == Right.HELD) {
            right = Right.NONE;
        }
    }

    /** The session ends, and the right with it. */
    void suspend() {
        closed();
        right = Right.NONE;
        suspended = true;
    }

    /** The file is open in the next session, or gone: then takes out all that wait. */
    List<A> resume(boolean gone) {
        suspended = false;
        return gone ? refused() : List.of();
    }

    // ---- time

    /** Takes out those whose time was over while they waited. */
    List<A> late(long now) {
        List<A> late = new ArrayList<>();
        waiting.removeIf(a -> a.isLate(now) && late.add(a));
        return late;
    }

    /** The right cannot be had: takes out all that wait for it. */
    List<A> refused() {
        right = Right.NONE;
        List<A> all = List.copyOf(waiting);
        waiting.clear();
        return all;
    }

    @Nullable A running() {
        return running;
    }
}
