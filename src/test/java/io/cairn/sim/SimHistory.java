package io.cairn.sim;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What clients were told and what replicas promised, judged while it happens and at the end: what
 * is committed is durable on every in-sync member and the same for ever; nothing acknowledged is
 * lost, nothing executed twice; each file is a linearizable register; a session whose eviction is
 * complete begins nothing any more.
 */
final class SimHistory {
    private final ClusterSim cluster;
    private final List<Op> ops = new ArrayList<>();
    private final Map<String, String> committed = new HashMap<>();
    private final Map<String, int[]> members = new HashMap<>();
    private final Set<Long> released = new HashSet<>();

    /** One operation as its client saw it. */
    static final class Op {
        final long session;
        final long number;
        final int pg;
        final long inode;
        final long start;

        /** When its answer arrived; never, if that is 0. */
        long end;

        /** Sequence of the write, or of the one whose value was read; 0 for the initial value. */
        long position;

        String value = "";

        Op(long session, long number, int pg, long inode, long start) {
            this.session = session;
            this.number = number;
            this.pg = pg;
            this.inode = inode;
            this.start = start;
        }

        boolean isWrite() {
            return number != 0;
        }

        @Override
        public String toString() {
            return "%s %d/%d of inode %d in %x, %d..%d us, position %d"
                    .formatted(
                            isWrite() ? "write" : "read",
                            session,
                            number,
                            inode,
                            pg,
                            start / 1000,
                            end / 1000,
                            position);
        }
    }

    SimHistory(ClusterSim cluster) {
        this.cluster = cluster;
    }

    // ---- what happens -------------------------------------------------------------------------

    void map(ClusterMap map) {
        for (PlacementGroup group : map.pgs()) {
            members.computeIfAbsent(
                    group.getPg() + "/" + group.getEpoch(), k -> cluster.members(group));
        }
    }

    Op begin(long session, long number, int pg, long inode, long now) {
        Op op = new Op(session, number, pg, inode, now);
        ops.add(op);
        return op;
    }

    void end(Op op, long now, long position, String value) {
        op.end = now;
        op.position = position;
        op.value = value;
    }

    /** "Already acknowledged" may only be said about what the client has the answer to. */
    void acknowledgedBefore(Op op) {
        if (op.end == 0) {
            throw new AssertionError("refused as acknowledged before it was answered: " + op);
        }
    }

    /** A primary gives an operation its place. */
    void admitted(int pg, PgLogEntry entry) {
        if (released.contains(entry.op().session())) {
            throw new AssertionError(
                    "admitted after the eviction of its session was complete: %x %s"
                            .formatted(pg, SimDisk.identity(entry)));
        }
    }

    /** The eviction of the session is complete. */
    void released(long session) {
        released.add(session);
    }

    /** A member takes an operation for committed in this epoch of the placement group. */
    void committed(int pg, long epoch, PgLogEntry entry) {
        String identity = SimDisk.identity(entry);
        @Nullable String before = committed.putIfAbsent(pg + "/" + entry.sequence(), identity);
        if (before != null && !before.equals(identity)) {
            throw new AssertionError(
                    "%x: committed %s and then %s".formatted(pg, before, identity));
        }
        for (int disk : members.getOrDefault(pg + "/" + epoch, new int[0])) {
            if (!cluster.disk(disk).isDurable(pg, entry.sequence(), identity)) {
                throw new AssertionError(
                        "%x: %s is committed and not durable on disk %d"
                                .formatted(pg, identity, disk));
            }
        }
    }

    // ---- judgement ----------------------------------------------------------------------------

    void check() {
        Map<String, Long> positions = new HashMap<>();
        for (PlacementGroup group : cluster.raft.map().pgs()) {
            positionsOf(group, positions);
        }
        Map<String, List<Op>> registers = new HashMap<>();
        for (Op op : ops) {
            if (place(op, positions)) {
                registers.computeIfAbsent(op.pg + "/" + op.inode, k -> new ArrayList<>()).add(op);
            }
        }
        for (List<Op> register : registers.values()) {
            for (Op first : register) {
                for (Op second : register) {
                    if (first.end != 0 && first.end < second.start) {
                        checkOrder(first, second);
                    }
                }
            }
        }
    }

    private void positionsOf(PlacementGroup group, Map<String, Long> positions) {
        int pg = group.getPg();
        int[] in = cluster.members(group);
        SimDisk first = cluster.disk(in[0]);
        for (long s = 1; s <= first.last(pg); s++) {
            PgLogEntry entry = first.get(pg, s);
            String identity = SimDisk.identity(entry);
            for (int disk : in) {
                if (!SimDisk.identity(cluster.disk(disk).get(pg, s)).equals(identity)) {
                    throw new AssertionError(
                            "%x: disks %d and %d differ at %d".formatted(pg, in[0], disk, s));
                }
            }
            if (entry.op().session() != 0) {
                String name = entry.op().session() + "/" + entry.op().number() % SimClient.RENUMBER;
                @Nullable Long before = positions.put(name, s);
                if (before != null) {
                    throw new AssertionError(name + " executed at " + before + " and at " + s);
                }
            }
        }
    }

    /** False for what left no trace: neither answered nor executed. */
    private boolean place(Op op, Map<String, Long> positions) {
        if (op.isWrite()) {
            @Nullable Long position = positions.get(op.session + "/" + op.number);
            if (position == null && op.end != 0) {
                throw new AssertionError("acknowledged and lost: " + op);
            }
            op.position = position == null ? 0 : position;
            return position != null;
        }
        if (op.end == 0) {
            return false;
        }
        if (op.position != 0) {
            SimDisk disk = cluster.disk(cluster.members(cluster.group(op.pg))[0]);
            if (op.position > disk.last(op.pg)
                    || !SimDisk.identity(disk.get(op.pg, op.position)).equals(op.value)) {
                throw new AssertionError("read of a write that was lost: " + op);
            }
        }
        return true;
    }

    /** The second began after the first had ended: the register must agree. */
    private static void checkOrder(Op first, Op second) {
        boolean wrong =
                second.isWrite()
                        ? second.position <= first.position
                        : second.position < first.position;
        if (wrong) {
            throw new AssertionError("not linearizable: " + first + " and then " + second);
        }
    }
}
