package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.LoggedReset;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which numbered mutations of which sessions a PG has executed. A session's numbers below what it
 * acknowledged are forgotten; of sessions beyond {@link #MAX_SESSIONS} the one idle longest is.
 * Used under the lock of its owner.
 */
public final class AnsweredTable {
    /** More than there are clients; those that ended stay until others take their place. */
    public static final int MAX_SESSIONS = 12 << 10;

    private final LinkedHashMap<Long, Session> sessions = new LinkedHashMap<>(16, 0.75f, true);

    private static final class Session {
        private static final long[] NONE = {};

        private long ackedBelow;

        /** Ascending, so many of them. An array: there are sessions by the thousand in every PG. */
        private long[] numbers = NONE;

        private int count;

        void add(long number) {
            boolean last = count == 0 || number > numbers[count - 1];
            int found = last ? -count - 1 : Arrays.binarySearch(numbers, 0, count, number);
            if (found >= 0) {
                return;
            }
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, count + count / 2 + 1);
            }
            int at = -found - 1;
            System.arraycopy(numbers, at, numbers, at + 1, count - at);
            numbers[at] = number;
            count++;
        }

        void acknowledge(long below) {
            ackedBelow = below;
            int forgotten = 0;
            while (forgotten < count && numbers[forgotten] < below) {
                forgotten++;
            }
            count -= forgotten;
            int room = numbers.length > 4 * count + 4 ? count : numbers.length;
            long[] kept = room == numbers.length ? numbers : new long[room];
            System.arraycopy(numbers, forgotten, kept, 0, count);
            numbers = kept;
        }
    }

    AnsweredTable(List<Answered> answered) {
        addAll(answered);
    }

    private void addAll(List<Answered> answered) {
        for (Answered a : answered) {
            Session s = session(a.session());
            s.ackedBelow = a.ackedBelow();
            for (long n : a.numbers()) {
                s.add(n);
            }
        }
    }

    /** What is logged comes in its order. */
    void add(LoggedOp logged) {
        if (logged instanceof LoggedReset reset) {
            sessions.clear();
            addAll(reset.answered());
        } else {
            add(logged.op());
        }
    }

    private void add(DataOp op) {
        if (op.session() == 0 || op.number() == 0) {
            return;
        }
        Session s = session(op.session());
        s.add(op.number());
        if (op.ackedBelow() > s.ackedBelow) {
            s.acknowledge(op.ackedBelow());
        }
    }

    /** Adds what another PG has answered: sessions number their operations across all of them. */
    void unite(List<Answered> answered) {
        for (Answered a : answered) {
            Session s = session(a.session());
            for (long n : a.numbers()) {
                s.add(n);
            }
            s.acknowledge(Math.max(s.ackedBelow, a.ackedBelow()));
        }
    }

    /** The session used longest ago first. */
    List<Answered> toList() {
        List<Answered> list = new ArrayList<>(sessions.size());
        for (Map.Entry<Long, Session> e : sessions.entrySet()) {
            Session s = e.getValue();
            long[] numbers = Arrays.copyOf(s.numbers, s.count);
            list.add(new Answered(e.getKey(), s.ackedBelow, numbers));
        }
        return list;
    }

    private Session session(long id) {
        Session s = sessions.get(id);
        if (s == null) {
            s = new Session();
            sessions.put(id, s);
            if (sessions.size() > MAX_SESSIONS) {
                sessions.remove(sessions.keySet().iterator().next());
            }
        }
        return s;
    }
}
