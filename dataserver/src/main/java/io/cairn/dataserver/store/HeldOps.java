package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Operations of a PG that are not in the WAL yet: large writes whose payload is being written to
 * the data file, and what came after them, because the WAL has a PG's records in their order. Under
 * the monitor of its {@link PgStore}.
 */
final class HeldOps {
    private final ArrayDeque<Held> waiting = new ArrayDeque<>();
    private final SpaceAccount space;

    /** One operation that waits. */
    static final class Held {
        private final LoggedOp op;
        private final HeldPayload payload;
        private final Runnable durable;
        private boolean ready;
        private boolean dropped;
        private List<BlockRun> extents = List.of();

        /**
         * @param ready whether it only waits for those before it
         */
        Held(LoggedOp op, HeldPayload payload, Runnable durable, boolean ready) {
            this.op = op;
            this.payload = payload;
            this.durable = durable;
            this.ready = ready;
        }

        LoggedOp op() {
            return op;
        }

        HeldPayload payload() {
            return payload;
        }
    }

    HeldOps(SpaceAccount space) {
        this.space = space;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    void add(Held held) {
        waiting.add(held);
    }

    /**
     * The payload is durable in the extents, or is to go into the WAL if there are none; logs what
     * need not wait any more. False if the operation was dropped meanwhile: nothing points to the
     * extents.
     */
    boolean written(Wal wal, Held held, List<BlockRun> extents) {
        if (held.dropped) {
            held.payload.release(null);
            return false;
        }
        held.extents = extents;
        held.ready = true;
        logReady(wal);
        return true;
    }

    /** Logs the first ones as far as none of them waits for anything else. */
    void logReady(Wal wal) {
        while (!waiting.isEmpty() && waiting.getFirst().ready) {
            log(wal, waiting.removeFirst());
        }
    }

    private void log(Wal wal, Held h) {
        WalRecord r = h.op.record();
        LearnerStep step = r.step();
        ByteBuf payload = h.payload.bytes();
        WalRecord logged;
        if (step != null) {
            logged = wal.appendStep(r.epoch(), r.sequence(), r.op(), step, payload, h.durable);
        } else if (r.repair()) {
            logged = wal.appendRepair(r.epoch(), r.sequence(), r.op(), payload, h.durable);
        } else if (h.extents.isEmpty()) {
            logged = wal.append(r.epoch(), r.sequence(), r.op(), payload, h.durable);
        } else {
            logged = wal.appendDirect(r.epoch(), r.sequence(), r.op(), h.extents, h.durable);
        }
        int before = SpaceAccount.blocksOf(h.op);
        h.op.logged(logged);
        space.change(before, SpaceAccount.blocksOf(h.op));
        h.payload.release(logged);
    }

    /** The operations after the sequence were dropped. */
    void drop(long lastKept) {
        while (!waiting.isEmpty() && waiting.getLast().op.sequence() > lastKept) {
            Held h = waiting.removeLast();
            h.dropped = true;
            if (h.ready) {
                h.payload.release(null);
            }
            if (h.op.isRepair()) {
                // As if it had been logged before the drop: the block is read again.
                h.durable.run();
            }
        }
    }

    /** The disk is closed without writing anything more. */
    void abandon() {
        waiting.forEach(h -> h.payload.release(null));
        waiting.clear();
    }
}
