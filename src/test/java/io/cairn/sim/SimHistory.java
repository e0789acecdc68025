package io.cairn.sim;

import io.cairn.common.data.DataOpType;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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
    private final Map<Integer, TreeMap<Long, PgLogEntry>> committed = new HashMap<>();
    private final Set<Long> released = new HashSet<>();

    /** One operation as its client saw it. */
    static final class Op {
        final long session;
        final long number;
        final int pg;
        final long inode;
        final int block;
        final long start;

        /** When its answer arrived; never, if that is 0. */
        long end;

        /** Sequence of the write, or of the one whose value was read; 0 for the initial value. */
        long position;

        /** What was read. */
        String value = "";

        Op(long session, long number, int pg, long inode, int block, long start) {
            this.session = session;
            this.number = number;
            this.pg = pg;
            this.inode = inode;
            this.block = block;
            this.start = start;
        }

        boolean isWrite() {
            return number != 0;
        }

        @Override
        public String toString() {
            return "%s %d/%d of block %d of inode %d in %x, %d..%d us, position %d"
                    .formatted(
                            isWrite() ? "write" : "read",
                            session,
                            number,
                            block,
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

    Op begin(long session, long number, int pg, long inode, int block, long now) {
        Op op = new Op(session, number, pg, inode, block, now);
        ops.add(op);
        return op;
    }

    /**
     * @param seen by a read; null for the initial value
     */
    void end(Op op, long now, @Nullable PgLogEntry seen) {
        op.end = now;
        if (seen != null) {
            op.position = seen.sequence();
            op.value = SimDisk.identity(seen);
        }
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

    /** A member takes an operation for committed. */
    void committed(int pg, PgLogEntry entry) {
        String identity = SimDisk.identity(entry);
        @Nullable PgLogEntry before =
                committed
                        .computeIfAbsent(pg, g -> new TreeMap<>())
                        .putIfAbsent(entry.sequence(), entry);
        if (before != null && !SimDisk.identity(before).equals(identity)) {
            throw new AssertionError(
                    "%x: committed %s and then %s"
                            .formatted(pg, SimDisk.identity(before), identity));
        }
        if (before != null) {
            return;
        }
        // The primary may be deposed already: whoever is in sync by now has it nevertheless.
        for (int disk : cluster.group(pg).getInSyncList()) {
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
        committed.forEach((pg, history) -> positionsOf(pg, history, positions));
        Map<String, List<Op>> registers = new HashMap<>();
        for (Op op : ops) {
            if (place(op, positions)) {
                registers
                        .computeIfAbsent(op.inode + "/" + op.block, k -> new ArrayList<>())
                        .add(op);
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
        cluster.raft.map().pgs().forEach(this::checkContent);
    }

    private void positionsOf(
            int pg, TreeMap<Long, PgLogEntry> history, Map<String, Long> positions) {
        long before = beginning(pg);
        if (history.lastKey() != before + history.size()) {
            throw new AssertionError(
                    "%x: %d of %d operations are known to be committed"
                            .formatted(pg, history.size(), history.lastKey() - before));
        }
        history.forEach((sequence, entry) -> {
            if (entry.op().session() != 0) {
                String name = entry.op().session() + "/" + entry.op().number() % SimClient.RENUMBER;
                @Nullable Long other = positions.put(name, sequence);
                if (other != null) {
                    throw new AssertionError(
                            name + " executed at " + other + " and at " + sequence);
                }
            }
        });
    }

    /** The sequence of the split that made the group; 0 if none did. */
    private long beginning(int pg) {
        int parent = cluster.raft.map().parentOf(pg);
        if (parent < 0) {
            return 0;
        }
        for (PgLogEntry e : history(parent).values()) {
            if (e.op().type() == DataOpType.SPLIT
                    && SplitFormat.decode(e.payload()).child() == pg) {
                return e.sequence();
            }
        }
        throw new AssertionError("%x was made by no split".formatted(pg));
    }

    private TreeMap<Long, PgLogEntry> history(int pg) {
        return committed.getOrDefault(pg, new TreeMap<>());
    }

    /** With that of the groups before the splits that made this one. */
    private List<PgLogEntry> wholeHistory(int pg, long upTo) {
        int parent = cluster.raft.map().parentOf(pg);
        List<PgLogEntry> all = parent < 0 ? new ArrayList<>() : wholeHistory(parent, beginning(pg));
        all.addAll(history(pg).headMap(upTo, true).values());
        return all;
    }

    private boolean isIn(int pg, long inode) {
        return cluster.raft.map().isIn(pg, inode, 0);
    }

    /** Every replica has what the history comes to. */
    private void checkContent(PlacementGroup group) {
        int pg = group.getPg();
        Map<String, PgLogEntry> expected = new TreeMap<>();
        for (PgLogEntry e : wholeHistory(pg, Long.MAX_VALUE)) {
            if (e.op().type() == DataOpType.DELETE_INODES) {
                for (long inode : DeleteInodesFormat.decode(e.payload())) {
                    expected.keySet().removeIf(k -> k.startsWith(inode + "/"));
                    if (isIn(pg, inode)) {
                        checkDeleted(group, inode);
                    }
                }
            } else if (e.op().session() != 0 && isIn(pg, e.op().inode())) {
                expected.put(e.op().inode() + "/" + e.op().offset() / SimClient.BLOCK, e);
            }
        }
        expected.forEach((register, entry) -> {
            int block = entry.op().offset() / SimClient.BLOCK;
            for (int disk : group.getReplicasList()) {
                @Nullable PgLogEntry found =
                        cluster.disk(disk).newestWrite(pg, entry.op().inode(), block);
                String has = found == null ? "nothing" : SimDisk.identity(found);
                if (!has.equals(SimDisk.identity(entry))) {
                    throw new AssertionError(
                            "%x: disk %d has %s in %s, not %s"
                                    .formatted(pg, disk, has, register, SimDisk.identity(entry)));
                }
            }
        });
    }

    private void checkDeleted(PlacementGroup group, long inode) {
        for (int disk : group.getReplicasList()) {
            if (cluster.disk(disk).chunk(group.getPg(), inode) != null) {
                throw new AssertionError(
                        "%x: disk %d still has the deleted inode %d"
                                .formatted(group.getPg(), disk, inode));
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
            boolean kept =
                    committed.values().stream()
                            .map(history -> history.get(op.position))
                            .anyMatch(w -> w != null && SimDisk.identity(w).equals(op.value));
            if (!kept) {
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
