package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.store.AnsweredTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which numbers of which sessions this PG has executed: what makes a retry harmless. Numbers below
 * a session's acknowledged mark are forgotten and refused. Of sessions beyond {@link #MAX_SESSIONS}
 * the one idle longest is forgotten, as {@link AnsweredTable} does. Owner's thread only.
 *
 * <p>All of it goes to a learner that begins anew, as one record of its log: the bounds keep it
 * below {@link AnsweredFormat#MAX_BYTES}.
 */
final class SessionWindows {
    /** The number was not executed here. */
    static final long UNKNOWN = -1;

    /** The client already has the answer: the request is a stray. */
    static final long ACKNOWLEDGED = -2;

    /** More than there are clients; those that ended stay until others take their place. */
    static final int MAX_SESSIONS = AnsweredTable.MAX_SESSIONS;

    /** Of all sessions together; above, each may have only {@link #FEW}. */
    private static final int MANY = 128 << 10;

    private static final int FEW = 16;

    /** The one used longest ago first. */
    private final LinkedHashMap<Long, Window> windows = new LinkedHashMap<>(16, 0.75f, true);

    private final int maxNumbers;
    private int total;
    private long cachedSession;
    private @Nullable Window cached;

    SessionWindows(int maxNumbers) {
        this.maxNumbers = maxNumbers;
    }

    /** Forgets everything and takes what the store recovered; sequences are then unknown (0). */
    void restore(List<Answered> answered) {
        windows.clear();
        total = 0;
        cached = null;
        for (Answered a : answered) {
            Window w = window(a.session());
            for (long number : a.numbers()) {
                w.add(number, 0);
            }
            total += w.count;
            total -= w.acknowledge(a.ackedBelow());
        }
    }

    /**
     * Adds what was not known to be executed here, as of the operation with the sequence, by which
     * it came.
     */
    void unite(List<Answered> answered, long sequence) {
        for (Answered a : answered) {
            Window w = window(a.session());
            total -= w.acknowledge(a.ackedBelow());
            for (long number : a.numbers()) {
                if (w.find(number) == UNKNOWN) {
                    w.add(number, sequence);
                    total++;
                }
            }
        }
    }

    /** The numbers of operations up to the sequence; the session used longest ago first. */
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
            total -= w.acknowledge(below);
        }
    }

    boolean full(long session) {
        Window w = lookup(session);
        return w != null && w.count >= (total < MANY ? maxNumbers : Math.min(maxNumbers, FEW));
    }

    void executed(long session, long number, long ackedBelow, long sequence) {
        Window w = window(session);
        total -= w.acknowledge(ackedBelow);
        w.add(number, sequence);
        total++;
    }

    void forget(long session) {
        Window w = windows.remove(session);
        total -= w == null ? 0 : w.count;
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
            if (windows.size() > MAX_SESSIONS) {
                Window eldest = windows.pollFirstEntry().getValue();
                total -= eldest.count;
            }
        }
        return w;
    }

    /** Two parallel arrays instead of a map: a session has few numbers open in one PG. */
    private static final class Window {
        private long ackedBelow;
        private long[] numbers = new long[2];
        private long[] sequences = new long[2];
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

        /** Returns how many are forgotten. */
        int acknowledge(long below) {
            if (below <= ackedBelow) {
                return 0;
            }
            int before = count;
            ackedBelow = below;
            int kept = 0;
            for (int i = 0; i < count; i++) {
                if (numbers[i] >= below) {
                    numbers[kept] = numbers[i];
                    sequences[kept++] = sequences[i];
                }
            }
            count = kept;
            return before - kept;
        }
    }
}
