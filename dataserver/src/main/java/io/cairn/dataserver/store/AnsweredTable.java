package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.LoggedReset;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Which numbered mutations of which sessions a PG has executed. A session's numbers below what it
 * acknowledged are forgotten; of sessions beyond {@link #MAX_SESSIONS} the one idle longest is.
 * Used under the lock of its owner.
 */
final class AnsweredTable {
    static final int MAX_SESSIONS = 4096;

    private final LinkedHashMap<Long, Session> sessions = new LinkedHashMap<>(16, 0.75f, true);

    private static final class Session {
        private long ackedBelow;
        private final TreeSet<Long> numbers = new TreeSet<>();
    }

    AnsweredTable(List<Answered> answered) {
        addAll(answered);
    }

    private void addAll(List<Answered> answered) {
        for (Answered a : answered) {
            Session s = session(a.session());
            s.ackedBelow = a.ackedBelow();
            for (long n : a.numbers()) {
                s.numbers.add(n);
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
        s.numbers.add(op.number());
        if (op.ackedBelow() > s.ackedBelow) {
            s.ackedBelow = op.ackedBelow();
            s.numbers.headSet(s.ackedBelow).clear();
        }
    }

    /** Adds what another PG has answered: sessions number their operations across all of them. */
    void unite(List<Answered> answered) {
        for (Answered a : answered) {
            Session s = session(a.session());
            s.ackedBelow = Math.max(s.ackedBelow, a.ackedBelow());
            for (long n : a.numbers()) {
                s.numbers.add(n);
            }
            s.numbers.headSet(s.ackedBelow).clear();
        }
    }

    /** The session used longest ago first. */
    List<Answered> toList() {
        List<Answered> list = new ArrayList<>(sessions.size());
        for (Map.Entry<Long, Session> e : sessions.entrySet()) {
            Session s = e.getValue();
            long[] numbers = s.numbers.stream().mapToLong(Long::longValue).toArray();
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
