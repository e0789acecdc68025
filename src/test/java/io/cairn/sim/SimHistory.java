package io.cairn.sim;

import io.cairn.common.data.DataOpType;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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
    private final Map<Life, TreeMap<Long, PgLogEntry>> committed = new TreeMap<>();

    /** The map epochs that made groups, of which there may have been several of one number. */
    private final Map<Integer, TreeSet<Long>> made = new HashMap<>();

    private final Map<Life, TreeMap<Long, Long>> offsets = new HashMap<>();
    private final Set<Long> released = new HashSet<>();

    /**
     * A group, until it is merged into another one.
     *
     * @param madeEpoch 0 of one that was there from the beginning
     */
    private record Life(int pg, long madeEpoch) implements Comparable<Life> {
        @Override
        public int compareTo(Life other) {
            return pg != other.pg
                    ? Integer.compare(pg, other.pg)
                    : Long.compare(madeEpoch, other.madeEpoch);
        }
    }

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

        /** Place of the write, or of the one whose value was read; 0 for the initial value. */
        long position;

        /** What was read, and by which write. */
        String value = "";

        String writer = "";

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
            op.value = SimDisk.identity(seen);
            op.writer = name(seen);
        }
    }

    private static String name(PgLogEntry write) {
        return write.op().session() + "/" + write.op().number() % SimClient.RENUMBER;
    }

    /** The map has changed. */
    void mapChanged(ClusterMap map) {
        for (PlacementGroup group : map.splitting().values()) {
            made.computeIfAbsent(group.getPg(), g -> new TreeSet<>()).add(group.getSplitEpoch());
        }
    }

    private Life life(int pg, long epoch) {
        TreeSet<Long> lives = made.getOrDefault(pg, new TreeSet<>());
        Long begun = lives.floor(epoch);
        return new Life(pg, begun == null ? 0 : begun);
    }

    private boolean isNow(Life life) {
        return cluster.raft.map().pg(life.pg) != null && life.equals(life(life.pg, Long.MAX_VALUE));
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
                        .computeIfAbsent(life(pg, entry.epoch()), g -> new TreeMap<>())
                        .putIfAbsent(entry.sequence(), entry);
        if (before != null && !SimDisk.identity(before).equals(identity)) {
            throw new AssertionError(
                    "%x: committed %s and then %s"
                            .formatted(pg, SimDisk.identity(before), identity));
        }
        if (before != null || !isNow(life(pg, entry.epoch()))) {
            return;
        }
        // The primary may be deposed already: whoever is in sync by now has it nevertheless.
        for (int disk : cluster.group(pg).getInSyncList()) {
            boolean takenIn = cluster.disk(disk).isEnded(pg);
            if (!takenIn && !cluster.disk(disk).isDurable(pg, entry.sequence(), identity)) {
                throw new AssertionError(
                        "%x: %s is committed and not durable on disk %d"
                                .formatted(pg, identity, disk));
            }
        }
    }

    // ---- judgement ----------------------------------------------------------------------------

    void check() {
        Map<String, Long> positions = new HashMap<>();
        Map<String, String> identities = new HashMap<>();
        committed.forEach((life, history) -> positionsOf(life, history, positions, identities));
        Map<String, List<Op>> registers = new HashMap<>();
        for (Op op : ops) {
            if (place(op, positions, identities)) {
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
            Life life,
            TreeMap<Long, PgLogEntry> history,
            Map<String, Long> positions,
            Map<String, String> identities) {
        long before = beginning(life);
        if (history.lastKey() != before + history.size()) {
            throw new AssertionError(
                    "%s: %d of %d operations are known to be committed"
                            .formatted(life, history.size(), history.lastKey() - before));
        }
        history.forEach((sequence, entry) -> {
            if (entry.op().session() != 0) {
                String name = name(entry);
                identities.put(name, SimDisk.identity(entry));
                @Nullable Long other = positions.put(name, position(life, sequence));
                if (other != null) {
                    throw new AssertionError(
                            name + " executed at " + other + " and again in " + life);
                }
            }
        });
    }

    /**
     * Orders what was done to a chunk, in whichever group it was: sequences go on in a group that
     * is made by a split, but not in one that takes another one in, behind whose end they are put.
     */
    private long position(Life life, long sequence) {
        return sequence + offsets(life).floorEntry(sequence).getValue();
    }

    private TreeMap<Long, Long> offsets(Life life) {
        @Nullable TreeMap<Long, Long> known = offsets.get(life);
        if (known == null) {
            known = new TreeMap<>();
            Life parent = parent(life);
            long begin = beginning(life);
            long offset = parent == null ? 0 : position(parent, begin) - begin;
            known.put(0L, offset);
            offsets.put(life, known); // groups that it took in begin in it
            for (PgLogEntry e : history(life).values()) {
                if (e.op().type() == DataOpType.MERGE) {
                    Life child = takenIn(e);
                    long end = position(child, history(child).lastKey());
                    offset = Math.max(offset, end - e.sequence());
                    known.put(e.sequence(), offset);
                }
            }
        }
        return known;
    }

    private Life takenIn(PgLogEntry merge) {
        Merge of = MergeFormat.decode(merge.payload());
        return life(of.child(), of.childEpoch());
    }

    /** The group of which it was made; null if it was there from the beginning. */
    private @Nullable Life parent(Life life) {
        int parent = parentOf(life.pg);
        return life.madeEpoch == 0 || parent < 0 ? null : life(parent, life.madeEpoch);
    }

    private int parentOf(int pg) {
        int index = PgHash.parent(PgHash.indexOf(pg), ClusterMap.baseOf(cluster.pool()));
        return index < 0 ? -1 : PgHash.pg(ClusterSim.POOL, index);
    }

    /** The sequence of the split that made the group; 0 if none did. */
    private long beginning(Life life) {
        @Nullable Life parent = parent(life);
        if (parent == null) {
            return 0;
        }
        for (PgLogEntry e : history(parent).values()) {
            if (e.op().type() == DataOpType.SPLIT) {
                Split split = SplitFormat.decode(e.payload());
                if (split.child() == life.pg && split.epoch() == life.madeEpoch) {
                    return e.sequence();
                }
            }
        }
        throw new AssertionError("%s was made by no split".formatted(life));
    }

    private TreeMap<Long, PgLogEntry> history(Life life) {
        return committed.getOrDefault(life, new TreeMap<>());
    }

    /** With that of the groups before the splits that made this one, and of those it took in. */
    private List<PgLogEntry> wholeHistory(Life life, long upTo) {
        @Nullable Life parent = parent(life);
        List<PgLogEntry> all =
                parent == null ? new ArrayList<>() : wholeHistory(parent, beginning(life));
        addOwn(life, upTo, all);
        return all;
    }

    private void addOwn(Life life, long upTo, List<PgLogEntry> all) {
        for (PgLogEntry e : history(life).headMap(upTo, true).values()) {
            if (e.op().type() == DataOpType.MERGE) {
                addOwn(takenIn(e), Long.MAX_VALUE, all);
            }
            all.add(e);
        }
    }

    private boolean isIn(int pg, long inode) {
        return cluster.raft.map().isIn(pg, inode, 0);
    }

    /** Every replica has what the history comes to. */
    private void checkContent(PlacementGroup group) {
        int pg = group.getPg();
        Map<String, PgLogEntry> expected = new TreeMap<>();
        for (PgLogEntry e : wholeHistory(life(pg, Long.MAX_VALUE), Long.MAX_VALUE)) {
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
    private boolean place(Op op, Map<String, Long> positions, Map<String, String> identities) {
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
        if (!op.writer.isEmpty()) {
            if (!op.value.equals(identities.get(op.writer))) {
                throw new AssertionError("read of a write that was lost: " + op);
            }
            op.position = positions.getOrDefault(op.writer, 0L);
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
