package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which numbers of which sessions this PG has executed: what makes a retry harmless. Numbers below
 * a session's acknowledged mark are forgotten and refused. Owner's thread only.
 */
final class SessionWindows {
    /** The number was not executed here. */
    static final long UNKNOWN = -1;

    /** The client already has the answer: the request is a stray. */
    static final long ACKNOWLEDGED = -2;

    private final Map<Long, Window> windows = new HashMap<>();
    private final int maxNumbers;
    private long cachedSession;
    private @Nullable Window cached;

    SessionWindows(int maxNumbers) {
        this.maxNumbers = maxNumbers;
    }

    /** Forgets everything and takes what the store recovered; sequences are then unknown (0). */
    void restore(List<Answered> answered) {
        windows.clear();
        cached = null;
        for (Answered a : answered) {
            Window w = window(a.session());
            for (long number : a.numbers()) {
                w.add(number, 0);
            }
            w.acknowledge(a.ackedBelow());
        }
    }

    /**
     * Adds what was not known to be executed here, as of the operation with the sequence, by which
     * it came.
     */
    void unite(List<Answered> answered, long sequence) {
        for (Answered a : answered) {
            Window w = window(a.session());
            w.acknowledge(a.ackedBelow());
            for (long number : a.numbers()) {
                if (w.find(number) == UNKNOWN) {
                    w.add(number, sequence);
                }
            }
        }
    }

    /** The numbers of operations up to the sequence. */
    List<Answered> upTo(long sequence) {
        List<Answered> answered = new ArrayList<>(windows.size());
        windows.forEach((session, window) -> answered.add(window.upTo(session, sequence)));
        return answered;
    }

    /**
     * @return the sequence the number was executed with, 0 if that was before a restart, {@link
     *     #UNKNOWN} or {@link #ACKNOWLEDGED}
     */
    long find(long session, long number) {
        Window w = lookup(session);
        return w == null ? UNKNOWN : w.find(number);
    }

    /** The client has the answers to all numbers below: they are forgotten. */
    void acknowledge(long session, long below) {
        Window w = lookup(session);
        if (w != null) {
            w.acknowledge(below);
        }
    }

    boolean full(long session) {
        Window w = lookup(session);
        return w != null && w.count >= maxNumbers;
    }

    void executed(long session, long number, long ackedBelow, long sequence) {
        Window w = window(session);
        w.acknowledge(ackedBelow);
        w.add(number, sequence);
    }

    void forget(long session) {
        windows.remove(session);
        cached = null;
    }

    private @Nullable Window lookup(long session) {
        if (cached == null || cachedSession != session) {
            cached = windows.get(session);
            cachedSession = session;
        }
        return cached;
    }

    private Window window(long session) {
        Window w = lookup(session);
        if (w == null) {
            w = new Window();
            windows.put(session, w);
            cached = w;
        }
        return w;
    }

    /** Two parallel arrays instead of a map: a session has few numbers open in one PG. */
    private static final class Window {
        private long ackedBelow;
        private long[] numbers = new long[8];
        private long[] sequences = new long[8];
        private int count;

        long find(long number) {
            if (number < ackedBelow) {
                return ACKNOWLEDGED;
            }
            for (int i = count - 1; i >= 0; i--) {
                if (numbers[i] == number) {
                    return sequences[i];
                }
            }
            return UNKNOWN;
        }

        void add(long number, long sequence) {
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, count * 2);
                sequences = Arrays.copyOf(sequences, count * 2);
            }
            numbers[count] = number;
            sequences[count++] = sequence;
        }

        Answered upTo(long session, long sequence) {
            long[] known = new long[count];
            int n = 0;
            for (int i = 0; i < count; i++) {
                if (sequences[i] <= sequence) {
                    known[n++] = numbers[i];
                }
            }
            return new Answered(session, ackedBelow, Arrays.copyOf(known, n));
        }

        void acknowledge(long below) {
            if (below <= ackedBelow) {
                return;
            }
            ackedBelow = below;
            int kept = 0;
            for (int i = 0; i < count; i++) {
                if (numbers[i] >= below) {
                    numbers[kept] = numbers[i];
                    sequences[kept++] = sequences[i];
                }
            }
            count = kept;
        }
    }
}
