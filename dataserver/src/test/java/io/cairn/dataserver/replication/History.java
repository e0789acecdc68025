package io.cairn.dataserver.replication;

import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the clients of a {@link ReplicationSim} saw, and the judgement over it. */
final class History {
    private static final long RENUMBER = 1_000_000;

    /** One operation as its client saw it. */
    static final class Op {
        final long session;
        final long number;
        final int chunk;
        final long start;
        long end;

        /** Reads: sequence of the write whose value was returned, 0 for the initial value. */
        long position;

        String value = "";

        Op(long session, long number, int chunk, long start) {
            this.session = session;
            this.number = number;
            this.chunk = chunk;
            this.start = start;
        }

        boolean write() {
            return number != 0;
        }

        @Override
        public String toString() {
            return "%s %d/%d of chunk %d, %d..%d, position %d"
                    .formatted(
                            write() ? "write" : "read",
                            session,
                            number,
                            chunk,
                            start,
                            end,
                            position);
        }
    }

    private final List<Op> ops = new ArrayList<>();

    Op begin(long session, long number, int chunk, long now) {
        Op op = new Op(session, number, chunk, now);
        ops.add(op);
        return op;
    }

    void end(Op op, long now, long seen, String value) {
        op.end = now;
        op.position = seen;
        op.value = value;
    }

    /** "Already acknowledged" may only be said about what the client has the answer to. */
    void refused(Op op) {
        if (op.end == 0) {
            throw new AssertionError("refused before it was answered: " + op);
        }
    }

    /** Judges the history against the order in which the log has the writes. */
    void check(SimStore log) {
        Map<String, Long> positions = new HashMap<>();
        for (long s = 1; s <= log.size(); s++) {
            PgLogEntry e = log.get(s);
            if (e.op().session() != 0) {
                String name = e.op().session() + "/" + e.op().number() % RENUMBER;
                Long before = positions.put(name, s);
                if (before != null) {
                    throw new AssertionError(name + " executed at " + before + " and at " + s);
                }
            }
        }
        for (Op op : ops) {
            if (op.write()) {
                Long position = positions.get(op.session + "/" + op.number);
                if (position == null) {
                    throw new AssertionError("acknowledged and lost: " + op);
                }
                op.position = position;
            } else if (op.position != 0
                    && (op.position > log.size()
                            || !ReplicationSim.identity(log.get(op.position)).equals(op.value))) {
                throw new AssertionError("read of a write that was lost: " + op);
            }
        }
        for (Op first : ops) {
            for (Op second : ops) {
                if (first.chunk == second.chunk && first.end < second.start) {
                    checkOrder(first, second);
                }
            }
        }
    }

    /** The second began after the first had ended: the register must agree. */
    private static void checkOrder(Op first, Op second) {
        boolean wrong =
                second.write()
                        ? second.position <= first.position
                        : second.position < first.position;
        if (wrong) {
            throw new AssertionError("not linearizable: " + first + " and then " + second);
        }
    }
}
