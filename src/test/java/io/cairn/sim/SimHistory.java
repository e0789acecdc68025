package io.cairn.sim;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * What clients were told and what replicas promised, judged while it happens and at the end: what
 * is committed is durable on every in-sync member and the same for ever; who becomes one has all
 * that was committed before; nothing acknowledged is lost, nothing executed twice; each cell of a
 * file is a linearizable register, and a read shows its chunk as it was at one moment; a session
 * whose eviction is complete begins nothing any more.
 */
final class SimHistory {
    /** A write is behind all truncations that its sender knew, and before all others. */
    private static final long TRUNCATION = 1L << 40;

    private final ClusterSim cluster;
    private final List<Op> ops = new ArrayList<>();
    private final Map<Life, TreeMap<Long, PgLogEntry>> committed = new TreeMap<>();

    /** The map epochs that made groups, of which there may have been several of one number. */
    private final Map<Integer, TreeSet<Long>> made = new HashMap<>();

    private final Map<Life, TreeMap<Long, Long>> offsets = new HashMap<>();
    private final Set<Long> released = new HashSet<>();

    /** Newest epoch of a group in which a read was shown, or an operation of it committed. */
    private final Map<Integer, Long> servedIn = new HashMap<>();

    /** What was committed, as who asked for it names it. */
    private final Set<String> carriedOut = new HashSet<>();

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
        final long inode;
        final int chunk;
        final Cells cells;
        final long start;

        /** To which a truncation sets its file; below 0 of anything else. */
        final long size;

        /** When its answer arrived; never, if that is 0. */
        long end;

        /** What a read has found. */
        List<Piece> seen = List.of();

        /** Place of what is no read. */
        private long position;

        /** Places of what a read was shown of its cells; 0 for the initial value. */
        private long[] positions = {};

        /** Newest truncation that a read knew, or its chunk. */
        long known;

        /** Newest truncation that the chunk had seen when it was read. */
        long applied;

        private long[] shows = {};

        Op(long session, long number, long inode, int chunk, Cells cells, long start) {
            this(session, number, inode, chunk, cells, start, -1);
        }

        private Op(
                long session,
                long number,
                long inode,
                int chunk,
                Cells cells,
                long start,
                long size) {
            this.session = session;
            this.number = number;
            this.inode = inode;
            this.chunk = chunk;
            this.cells = cells;
            this.start = start;
            this.size = size;
        }

        static Op truncate(long session, long inode, long size, long start) {
            return new Op(session, 0, inode, 0, Cells.ALL, start, size);
        }

        boolean isTruncation() {
            return size >= 0;
        }

        boolean isWrite() {
            return number != 0;
        }

        boolean isRead() {
            return !isWrite() && !isTruncation();
        }

        Key key() {
            return new Key(inode, chunk);
        }

        /** All that it reads, writes or cuts. */
        Map<Key, Cells> touched() {
            if (!isTruncation()) {
                return Map.of(key(), cells);
            }
            Map<Key, Cells> cut = new HashMap<>();
            for (int c = 0; c < SimClient.CHUNKS; c++) {
                cut.put(new Key(inode, c), Cells.beyond(size, c));
            }
            return cut;
        }

        /** Place of the operation, or of what it was shown, in the order of the cell. */
        long position(int cell) {
            return isRead() ? positions[cell - cells.first()] : position;
        }

        /**
         * Where others may count on being behind it. Before its position, where a read is shown
         * nothing by a truncation that not everybody need know yet.
         */
        long shows(int cell) {
            return isRead() ? shows[cell - cells.first()] : position;
        }

        /** Place of the write, or of the newest one that a read was shown; 0 if it was none. */
        long newestWrite() {
            return isRead()
                    ? LongStream.of(positions).filter(p -> p % TRUNCATION != 0).max().orElse(0)
                    : position;
        }

        /** In words, with its place in the cell. */
        String at(int cell) {
            return this + ", " + place(position(cell));
        }

        @Override
        public String toString() {
            String what = isWrite() ? "write" : isTruncation() ? "truncation to " + size : "read";
            return "%s %d/%d of cells %s of chunk %d of inode %d, %d..%d us"
                    .formatted(
                            what, session, number, cells, chunk, inode, start / 1000, end / 1000);
        }
    }

    /**
     * What a read has found.
     *
     * @param truncated newest truncation of the chunk
     */
    record Seen(List<Piece> pieces, long truncated) {
        static final Seen NOTHING = new Seen(List.of(), 0);
    }

    SimHistory(ClusterSim cluster) {
        this.cluster = cluster;
    }

    // ---- what happens -------------------------------------------------------------------------

    void begin(Op op) {
        ops.add(op);
    }

    /**
     * @param known newest truncation that the operation knew
     * @param seen by a read
     */
    void end(Op op, long now, long known, Seen seen) {
        op.end = now;
        op.known = Math.max(known, seen.truncated);
        op.applied = seen.truncated;
        op.seen = seen.pieces;
    }

    /** A place, in words. */
    static String place(long position) {
        return "position %d of truncation %d"
                .formatted(position % TRUNCATION, position / TRUNCATION);
    }

    private static String name(PgLogEntry write) {
        return name(write.op());
    }

    private static String name(DataOp op) {
        return op.session() != 0
                ? op.session() + "/" + op.number() % SimClient.RENUMBER
                : "%s %d of inode %d in %x"
                        .formatted(op.type(), op.truncateSequence(), op.inode(), op.pg());
    }

    /** The map has changed. */
    void mapChanged(ClusterMap before, ClusterMap map) {
        for (PlacementGroup group : map.splitting().values()) {
            made.computeIfAbsent(group.getPg(), g -> new TreeSet<>()).add(group.getSplitEpoch());
        }
        for (PlacementGroup group : map.pgs()) {
            @Nullable PlacementGroup was = before.pg(group.getPg());
            if (was != null && was != group) {
                group.getInSyncList().stream()
                        .filter(disk -> !was.getInSyncList().contains(disk))
                        .forEach(disk -> checkJoined(group.getPg(), disk));
            }
        }
    }

    /** What was committed while the group was another one, or was not, is judged at the end. */
    private void checkJoined(int pg, int disk) {
        Map<Key, BitSet> newer = new HashMap<>();
        for (PgLogEntry e : history(life(pg, Long.MAX_VALUE)).descendingMap().values()) {
            if (e.op().session() != 0
                    && isIn(pg, keyOf(e))
                    && !cluster.raft.isUnused(e.op().inode())) {
                Cells cells = Cells.of(e.op());
                BitSet known = newer.computeIfAbsent(keyOf(e), k -> new BitSet());
                BitSet newest = new BitSet();
                newest.set(cells.first(), cells.end());
                newest.andNot(known);
                known.or(newest);
                if (!newest.isEmpty() && !has(cluster.disk(disk), pg, e, newest)) {
                    throw new AssertionError(
                            "%x: disk %d is in sync now, and has not %s"
                                    .formatted(pg, disk, SimDisk.identity(e)));
                }
            }
        }
    }

    /** Whether it has the write, or a newer one, in the cells. */
    private boolean has(SimDisk disk, int pg, PgLogEntry write, BitSet cells) {
        if (disk.isLogged(pg, write.sequence())) {
            return disk.isDurable(pg, write.sequence(), SimDisk.identity(write));
        }
        Key key = keyOf(write);
        @Nullable PgLogEntry[] found = Piece.byCell(disk.read(pg, key, Cells.of(write.op())));
        long[] cuts = cluster.raft.files().cuts(key, Long.MAX_VALUE);
        return cells.stream()
                .allMatch(c -> cuts[c] > write.op().truncateSequence() || isAsNew(found[c], write));
    }

    private static boolean isAsNew(@Nullable PgLogEntry found, PgLogEntry write) {
        return found != null
                && (found.epoch() > write.epoch()
                        || (found.epoch() == write.epoch()
                                && found.sequence() >= write.sequence()));
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

    /** A primary shows a read: none that was deposed does, once another one serves. */
    void shown(int pg, long epoch, String server) {
        checkNewest(pg, epoch, server + " shows a read");
        servedIn.put(pg, epoch);
    }

    /**
     * A primary says that an operation was carried out, which is committed then. One that was
     * deposed may say so, and late: all members in sync had the operation, so whoever serves after
     * it has it too. It only may not commit anything more by then, which {@link #committed} judges.
     */
    void acknowledged(DataOp op, String server) {
        if (!carriedOut.contains(name(op))) {
            throw new AssertionError(
                    "%s acknowledges %s, which is not committed".formatted(server, name(op)));
        }
    }

    /**
     * A member takes an operation for committed. Before a primary serves it commits all that was
     * logged in older epochs and ever will be committed; so once an operation of its own epoch is
     * committed, or a read is shown in it, nobody of an older one is the first to commit anything.
     *
     * @param epoch of the member, which may be newer than the operation
     */
    void committed(int pg, long epoch, PgLogEntry entry) {
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
        if (before == null) {
            carriedOut.add(name(entry));
            checkNewest(pg, epoch, "a member commits " + identity);
            servedIn.merge(pg, entry.epoch(), Math::max);
            if (isNow(life(pg, entry.epoch()))) {
                checkDurable(pg, entry);
            }
        }
    }

    private void checkNewest(int pg, long epoch, String what) {
        long newest = servedIn.getOrDefault(pg, 0L);
        if (epoch < newest) {
            throw new AssertionError(
                    "%x: %s in epoch %d, and epoch %d serves".formatted(pg, what, epoch, newest));
        }
    }

    /**
     * The primary that commits may be deposed already: whoever is in sync by now has it
     * nevertheless.
     */
    private void checkDurable(int pg, PgLogEntry entry) {
        String identity = SimDisk.identity(entry);
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

    /**
     * What was carried out for a client.
     *
     * @param position in the order of its cells
     */
    private record Write(String identity, long position) {}

    void check() {
        Map<String, Write> writes = new HashMap<>();
        committed.forEach((life, history) -> writesOf(life, history, writes));
        Registers.check(ops.stream().filter(op -> place(op, writes)).toList());
        cluster.raft.map().pgs().forEach(this::checkContent);
    }

    private void writesOf(Life life, TreeMap<Long, PgLogEntry> history, Map<String, Write> writes) {
        long before = beginning(life);
        if (history.lastKey() != before + history.size()) {
            throw new AssertionError(
                    "%s: %d of %d operations are known to be committed"
                            .formatted(life, history.size(), history.lastKey() - before));
        }
        history.forEach((sequence, entry) -> {
            if (entry.op().session() != 0) {
                String name = name(entry);
                long place = entry.op().truncateSequence() * TRUNCATION + position(life, sequence);
                @Nullable Write other = writes.put(name, new Write(SimDisk.identity(entry), place));
                if (other != null) {
                    throw new AssertionError(
                            "%s executed at %s and again in %s"
                                    .formatted(name, place(other.position), life));
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

    private boolean isIn(int pg, Key key) {
        return cluster.raft.map().isIn(pg, key.inode(), key.chunk());
    }

    /** Every replica has what the history comes to. */
    private void checkContent(PlacementGroup group) {
        int pg = group.getPg();
        Map<Key, @Nullable PgLogEntry[]> expected = new TreeMap<>();
        Map<Key, Long> truncated = new HashMap<>();
        for (PgLogEntry e : wholeHistory(life(pg, Long.MAX_VALUE), Long.MAX_VALUE)) {
            if (e.op().type() == DataOpType.DELETE_INODES) {
                for (long inode : DeleteInodesFormat.decode(e.payload())) {
                    expected.keySet().removeIf(k -> k.inode() == inode);
                    if (isIn(pg, new Key(inode, 0))) {
                        checkDeleted(group, inode);
                    }
                }
            } else if (e.op().session() != 0 && isIn(pg, keyOf(e))) {
                long before = truncated.getOrDefault(keyOf(e), 0L);
                if (e.op().truncateSequence() < before) {
                    throw new AssertionError(
                            "%x: %s is older than truncation %d, which the chunk had seen"
                                    .formatted(pg, SimDisk.identity(e), before));
                }
                truncated.put(keyOf(e), e.op().truncateSequence());
                Cells cells = Cells.of(e.op());
                Arrays.fill(
                        expected.computeIfAbsent(keyOf(e), k -> Piece.byCell(List.of())),
                        cells.first(),
                        cells.end(),
                        e);
            }
        }
        expected.forEach((key, writes) -> {
            takeCut(key, writes);
            group.getReplicasList().forEach(disk -> checkCells(pg, disk, key, writes));
        });
        checkTruncations(group, truncated.keySet());
        checkSame(group);
    }

    /** Where a truncation came behind the write there is nothing. */
    private void takeCut(Key key, @Nullable PgLogEntry[] writes) {
        long[] cuts = cluster.raft.files().cuts(key, Long.MAX_VALUE);
        for (int cell = 0; cell < cuts.length; cell++) {
            @Nullable PgLogEntry write = writes[cell];
            if (write != null && cuts[cell] > write.op().truncateSequence()) {
                writes[cell] = null;
            }
        }
    }

    private void checkCells(int pg, int disk, Key key, @Nullable PgLogEntry[] wanted) {
        @Nullable PgLogEntry[] found = Piece.byCell(cluster.disk(disk).read(pg, key, Cells.ALL));
        for (int cell = 0; cell < wanted.length; cell++) {
            if (found[cell] != wanted[cell] && !says(found[cell]).equals(says(wanted[cell]))) {
                throw new AssertionError(
                        "%x: disk %d has %s in cell %d of %s, not %s"
                                .formatted(
                                        pg,
                                        disk,
                                        says(found[cell]),
                                        cell,
                                        key,
                                        says(wanted[cell])));
            }
        }
    }

    private static String says(@Nullable PgLogEntry write) {
        return write == null ? "nothing" : SimDisk.identity(write);
    }

    /** Replicas have the same, also of what no operation explains. */
    private void checkSame(PlacementGroup group) {
        int pg = group.getPg();
        int primary = group.getInSync(0);
        Map<Key, String> wanted = cluster.disk(primary).content(pg);
        for (int disk : group.getInSyncList()) {
            Map<Key, String> found = cluster.disk(disk).content(pg);
            TreeSet<Key> others = new TreeSet<>(wanted.keySet());
            others.addAll(found.keySet());
            others.removeIf(key -> Objects.equals(wanted.get(key), found.get(key)));
            if (!others.isEmpty()) {
                Key key = others.first();
                throw new AssertionError(
                        "%x: of %s disk %d has %s, and disk %d %s"
                                .formatted(
                                        pg, key, primary, wanted.get(key), disk, found.get(key)));
            }
        }
    }

    private static Key keyOf(PgLogEntry e) {
        return new Key(e.op().inode(), e.op().chunk());
    }

    /** What replicas know of truncations decides what the next ones do, so it is the same. */
    private void checkTruncations(PlacementGroup group, Set<Key> chunks) {
        for (Key key : chunks) {
            Set<Long> known = new TreeSet<>();
            for (int disk : group.getReplicasList()) {
                @Nullable Chunk chunk = cluster.disk(disk).chunk(group.getPg(), key);
                if (chunk != null) {
                    known.add(cluster.disk(disk).truncateSequence(group.getPg(), key));
                }
            }
            if (known.size() > 1) {
                throw new AssertionError(
                        "%x: disks know truncations %s of %s".formatted(group.getPg(), known, key));
            }
        }
    }

    private void checkDeleted(PlacementGroup group, long inode) {
        for (int disk : group.getReplicasList()) {
            if (cluster.disk(disk).chunk(group.getPg(), new Key(inode, 0)) != null) {
                throw new AssertionError(
                        "%x: disk %d still has the deleted inode %d"
                                .formatted(group.getPg(), disk, inode));
            }
        }
    }

    /** False for what left no trace: neither answered nor executed. */
    private boolean place(Op op, Map<String, Write> writes) {
        if (op.isRead()) {
            if (op.end != 0) {
                placeRead(op, writes);
            }
            return op.end != 0;
        }
        @Nullable Long position = op.isWrite() ? positionOf(op, writes) : cutBy(op);
        if (position == null && op.end != 0) {
            throw new AssertionError("acknowledged and lost: " + op);
        }
        op.position = position == null ? 0 : position;
        return position != null;
    }

    private static @Nullable Long positionOf(Op op, Map<String, Write> writes) {
        @Nullable Write write = writes.get(op.session + "/" + op.number);
        return write == null ? null : write.position;
    }

    private @Nullable Long cutBy(Op op) {
        @Nullable Long sequence = cluster.raft.files().sequence(op);
        return sequence == null ? null : sequence * TRUNCATION;
    }

    private void placeRead(Op op, Map<String, Write> writes) {
        op.positions = placesOfCuts(op, op.known);
        op.shows = placesOfCuts(op, op.applied);
        for (Piece piece : op.seen) {
            @Nullable Write write = writes.get(name(piece.write()));
            if (write == null || !write.identity.equals(SimDisk.identity(piece.write()))) {
                throw new AssertionError("read of " + piece + ", which was lost: " + op);
            }
            for (int cell = piece.cells().first(); cell < piece.cells().end(); cell++) {
                int i = cell - op.cells.first();
                if (write.position < op.positions[i]) {
                    throw new AssertionError(
                            "read of %s in cell %d, which was cut: %s"
                                    .formatted(piece, cell, op.at(cell)));
                }
                op.positions[i] = write.position;
                op.shows[i] = write.position;
            }
        }
    }

    /** Where a read stands that is shown nothing, if it knows truncations up to this one. */
    private long[] placesOfCuts(Op op, long upTo) {
        long[] cuts = cluster.raft.files().cuts(op.key(), upTo);
        return Arrays.stream(cuts, op.cells.first(), op.cells.end())
                .map(sequence -> sequence * TRUNCATION)
                .toArray();
    }
}
