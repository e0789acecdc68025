package io.cairn.sim;

import io.cairn.common.data.DataOpType;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.pg.Splits;
import io.cairn.dataserver.replication.ContentPage;
import io.cairn.dataserver.replication.RecoveryOutputs.Base;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.wal.Completeness;
import io.cairn.sim.ClusterSim.Fault;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One log for all placement groups of a disk, as the write-ahead log is: what is synced, is synced
 * for all of them, and a crash leaves any prefix of what was not. What a group has follows from its
 * records in their order. Flushed operations cannot be read from the log any more.
 */
class SimDisk implements AutoCloseable, Splits.OnDisk {
    static final int PAGE = 3;

    final int id;
    private final Fault fault;
    private final List<Logged> log = new ArrayList<>();
    private final Map<Integer, Group> groups = new HashMap<>();

    /** What was told as committed and flushed; the rest is in the log. */
    private final Map<Integer, Long> committed = new HashMap<>();

    private final Map<Integer, Long> flushed = new HashMap<>();

    /** Groups that are about to be taken in, and have no owner any more. */
    private final Set<Integer> released = new HashSet<>();

    private int synced;

    /** What stands before is durable, told or not. */
    private int divided;

    /** What a record does. */
    private sealed interface Change {}

    private record Op(PgLogEntry entry) implements Change {}

    private record Dropped(long kept) implements Change {}

    /** Of an operation that was dropped: its content has stayed, by a planted fault. */
    private record Applied(PgLogEntry entry) implements Change {}

    private record Begun(Reset reset) implements Change {}

    private record Copied(long after, Key key, CopyRead read) implements Change {}

    private record Completed(long after) implements Change {}

    /** What is up to the key was copied. */
    private record CopiedTo(long after, Key key) implements Change {}

    /** A split was carried out, which makes a group unless that is there already. */
    private record Divided(Pending split, boolean makes) implements Change {}

    /** A merge was carried out: the group has what the other one had, which has ended. */
    private record United(
            Merge merge, long sequence, boolean whole, Content content, List<Answered> answered)
            implements Change {}

    /** What was here of an inode of the group is gone. */
    private record Removed(long after, long inode) implements Change {}

    /** What was here of a group that was merged elsewhere is gone. */
    private record Ended() implements Change {}

    /** The group begins here, where one of its number has ended. */
    private record BegunAnew() implements Change {}

    /** A merge that is logged. */
    private record Uniting(Merge merge, long sequence) {}

    /** A split that is logged, and what the group begins with that it makes. */
    private record Pending(Split split, long sequence, Beginning made) {}

    private record Beginning(
            long epoch,
            long sequence,
            Completeness complete,
            Content content,
            List<Answered> answered) {}

    /** A record, and what is to happen once it is durable. */
    private record Logged(int pg, Change change, Runnable durable) {}

    /** What was read of a chunk, or of an inode, to be copied. */
    static class CopyRead {
        final @Nullable Chunk chunk;

        /** Whether it cannot be read. */
        boolean isDamaged() {
            return false;
        }

        /** Newest truncation of the inode as a whole. */
        final long truncated;

        /** Whether there is nothing at all of the inode. */
        final boolean removed;

        CopyRead(@Nullable Chunk chunk, long truncated, boolean removed) {
            this.chunk = chunk;
            this.truncated = truncated;
            this.removed = removed;
        }
    }

    /** The chunks that there are, and the newest truncations of inodes as a whole. */
    private record Content(TreeMap<Key, Chunk> chunks, Map<Long, Long> truncated) {
        Content() {
            this(new TreeMap<>(), new HashMap<>());
        }

        Content(Content of) {
            this(new TreeMap<>(of.chunks), new HashMap<>(of.truncated));
        }

        /** What the operation finds of its chunk. */
        Chunk chunk(Key key) {
            return chunks.getOrDefault(key, Chunk.NONE);
        }

        void put(Key key, Chunk chunk) {
            if (chunk.lengthBytes() > 0) {
                chunks.put(key, chunk);
            } else if (chunks.remove(key) != null) {
                truncated(key.inode(), chunk.truncated());
            }
        }

        void truncated(long inode, long sequence) {
            if (sequence > 0) {
                truncated.merge(inode, sequence, Math::max);
            }
        }

        /** Does what the operation does to whole inodes. */
        void changeInodes(PgLogEntry e) {
            if (e.op().type() == DataOpType.DELETE_INODES) {
                for (long inode : DeleteInodesFormat.decode(e.payload())) {
                    remove(inode);
                }
            } else if (e.op().type() == DataOpType.TRUNCATE_INODE) {
                truncate(SimClient.cut(e), e.sequence());
            }
        }

        private void truncate(InodeChange.Truncate cut, long sequence) {
            for (Key key : ofInode(cut.inode())) {
                put(key, chunk(key).truncate(cut, key.chunk(), sequence));
            }
            truncated(cut.inode(), cut.sequence());
        }

        void remove(long inode) {
            chunks.keySet().removeAll(ofInode(inode));
            truncated.remove(inode);
        }

        private List<Key> ofInode(long inode) {
            return chunks.keySet().stream().filter(k -> k.inode() == inode).toList();
        }

        /** Of a chunk that there is it says itself what it was truncated to. */
        long truncateSequence(Key key) {
            @Nullable Chunk chunk = chunks.get(key);
            return chunk == null ? truncated.getOrDefault(key.inode(), 0L) : chunk.truncated();
        }

        boolean isEmpty() {
            return chunks.isEmpty() && truncated.isEmpty();
        }

        Set<Long> inodes() {
            Set<Long> inodes = new TreeSet<>(truncated.keySet());
            chunks.keySet().forEach(key -> inodes.add(key.inode()));
            return inodes;
        }

        boolean has(long inode) {
            return truncated.containsKey(inode) || !ofInode(inode).isEmpty();
        }
    }

    /** What the records of a placement group come to. */
    private static final class Group {
        final List<PgLogEntry> entries = new ArrayList<>();
        final List<EpochStart> starts = new ArrayList<>();
        final Content content = new Content();
        final List<Pending> splits = new ArrayList<>();
        final List<Uniting> merges = new ArrayList<>();

        /** Epoch from which on a group of this number may begin; 0 if none has ended. */
        long floor;

        boolean ended;

        /** By a planted fault, while it is built from its records. */
        boolean keepsOlder;

        List<Answered> answered = List.of();
        long begin;
        Completeness complete = Completeness.ALL;

        long last() {
            return begin + entries.size();
        }

        long lastEpoch() {
            return starts.isEmpty() ? floor : starts.getLast().epoch();
        }

        void add(Change change) {
            switch (change) {
                case Op op -> add(op.entry);
                case Dropped dropped -> throw new IllegalStateException("not by replay " + dropped);
                case Applied applied -> write(applied.entry);
                case Begun begun -> begin(begun.reset);
                case Copied copied -> copy(copied);
                case Completed completed -> complete = Completeness.ALL;
                case CopiedTo to -> complete = complete.copiedTo(to.key.inode(), to.key.chunk());
                case Removed removed -> content.remove(removed.inode);
                case Divided divided -> {}
                case United united -> unite(united);
                case Ended e -> {}
                case BegunAnew b -> ended = false;
            }
        }

        private void unite(United united) {
            if (!united.whole) {
                complete = Completeness.upTo(Math.min(complete.sequence(), united.sequence - 1));
            }
            Content taken = new Content(united.content);
            taken.chunks.replaceAll((key, chunk) -> chunk.as(united.sequence));
            for (PgLogEntry e : entries) {
                if (e.sequence() > united.sequence) {
                    taken.changeInodes(e); // it was logged before the merge was carried out
                }
            }
            taken.chunks.forEach(content::put);
            taken.truncated.forEach(content::truncated);
            answered = SimDisk.answered(List.of(answered, united.answered), List.of());
        }

        /** Nothing is here, and a group of this number may begin. */
        static Group ended(long lastEpoch) {
            Group group = new Group();
            group.floor = lastEpoch + 1;
            group.complete = Completeness.NOTHING;
            group.ended = true;
            return group;
        }

        /** From now on what it takes is not the group's any more, wherever it lies. */
        private Pending divide(Split split, long sequence) {
            Content taken = new Content(content);
            taken.chunks.keySet().removeIf(k -> !split.takes(k.inode(), k.chunk()));
            content.chunks.keySet().removeAll(taken.chunks.keySet());
            Completeness known = complete.isAll() ? complete : Completeness.NOTHING;
            List<Answered> before = SimDisk.answered(this);
            return new Pending(
                    split, sequence, new Beginning(split.epoch(), sequence, known, taken, before));
        }

        private void begin(Beginning made) {
            ended = false;
            begin = made.sequence;
            starts.add(new EpochStart(made.epoch, made.sequence));
            complete = made.complete;
            made.content.chunks.forEach(content::put);
            made.content.truncated.forEach(content::truncated);
            answered = made.answered;
        }

        private void add(PgLogEntry e) {
            entries.add(e);
            if (e.epoch() != lastEpoch()) {
                starts.add(new EpochStart(e.epoch(), e.sequence()));
            }
            content.changeInodes(e);
            if (e.op().type() == DataOpType.SPLIT) {
                splits.add(divide(SplitFormat.decode(e.payload()), e.sequence()));
            } else if (e.op().type() == DataOpType.MERGE) {
                merges.add(new Uniting(MergeFormat.decode(e.payload()), e.sequence()));
            } else {
                write(e);
            }
        }

        private void write(PgLogEntry e) {
            if (e.op().session() != 0) {
                Key key = new Key(e.op().inode(), e.op().chunk());
                Chunk before = content.chunk(key);
                content.put(key, keepsOlder ? before.writeUnder(e) : before.write(e));
            }
        }

        private void begin(Reset reset) {
            complete = reset.distrusted() ? Completeness.NOTHING : complete.lackingAfter(last());
            begin = reset.sequence();
            entries.clear();
            starts.clear();
            starts.add(new EpochStart(reset.epoch(), reset.sequence()));
            answered = reset.answered();
        }

        private void copy(Copied copied) {
            Key key = copied.key;
            CopyRead read = copied.read;
            if (key.chunk() != Key.INODE) {
                content.put(key, read.chunk == null ? Chunk.NONE : read.chunk);
            } else if (read.removed) {
                content.remove(key.inode());
            } else {
                content.truncated.remove(key.inode());
                content.truncated(key.inode(), read.truncated);
            }
        }
    }

    SimDisk(int id, Fault fault) {
        this.id = id;
        this.fault = fault;
    }

    private Group group(int pg) {
        return groups.computeIfAbsent(pg, g -> new Group());
    }

    /** One that is not here has nothing, and is not made by being asked. */
    private Group look(int pg) {
        @Nullable Group group = groups.get(pg);
        return group == null ? new Group() : group;
    }

    // ---- logging ------------------------------------------------------------------------------

    void append(int pg, PgLogEntry entry, Runnable durable) {
        if (entry.sequence() != last(pg) + 1) {
            throw new AssertionError(
                    "disk %d: operation %d of placement group %x after %d"
                            .formatted(id, entry.sequence(), pg, last(pg)));
        }
        log(pg, new Op(entry), durable);
    }

    void begin(int pg, Reset reset, Runnable durable) {
        if (reset.sequence() < last(pg) || last(pg) != committed(pg)) {
            throw new AssertionError(
                    "disk %d, which has %d of %x and %d committed, begins anew at %s"
                            .formatted(id, last(pg), pg, committed(pg), reset));
        }
        log(pg, new Begun(reset), durable);
        committed.put(pg, reset.sequence());
    }

    void copied(int pg, Copy copy, CopyRead read, Runnable durable) {
        log(pg, new Copied(last(pg), new Key(copy.inode(), copy.chunk()), read), durable);
    }

    void copiedTo(int pg, Key key) {
        log(pg, new CopiedTo(last(pg), key), () -> {});
    }

    void completed(int pg, Runnable durable) {
        log(pg, new Completed(last(pg)), durable);
    }

    private void log(int pg, Change change, Runnable durable) {
        Group group = group(pg);
        if (group.ended && !(change instanceof BegunAnew)) {
            throw new AssertionError(
                    "disk %d: %x has ended, and logs %s".formatted(id, pg, change));
        }
        log.add(new Logged(pg, change, durable));
        group.add(change);
    }

    // ---- splits -------------------------------------------------------------------------------

    @Override
    public boolean has(int pg) {
        @Nullable Group group = groups.get(pg);
        return group != null && !group.ended;
    }

    @Override
    public long lastEpoch(int pg) {
        return has(pg) ? look(pg).lastEpoch() : 0;
    }

    @Override
    public boolean begin(int pg, int parent, boolean parentIsHere) {
        @Nullable Pending split = splitOf(parent, pg);
        boolean comes = split != null && (parentIsHere || split.sequence <= committed(parent));
        if (comes && !has(pg)) {
            return false;
        }
        if (group(pg).ended) {
            log(pg, new BegunAnew(), () -> {});
        }
        return true;
    }

    boolean hasSplit(int parent, Split split) {
        return lastEpoch(split.child()) >= split.epoch()
                || look(parent).splits.stream().anyMatch(p -> p.split.equals(split));
    }

    /** The split that makes the child, and is not carried out. */
    private @Nullable Pending splitOf(int parent, int child) {
        return look(parent).splits.stream()
                .filter(p -> p.split.child() == child)
                .filter(p -> log.stream().noneMatch(l -> isOf(l.change, p)))
                .reduce((earlier, later) -> later)
                .orElse(null);
    }

    /** Whether the chunk was the group's, and a split has given it away. */
    final boolean isTaken(int pg, Key key) {
        return look(pg).splits.stream().anyMatch(p -> p.split.takes(key.inode(), key.chunk()));
    }

    /** Splits that are committed and not carried out, oldest first. */
    final List<Integer> splitsDue(int pg) {
        return look(pg).splits.stream()
                .filter(p -> p.sequence <= committed(pg) || fault == Fault.SPLIT_UNCOMMITTED)
                .filter(p -> log.stream().noneMatch(l -> isOf(l.change, p)))
                .filter(p -> firstMerge(pg) == 0 || p.sequence < firstMerge(pg))
                .filter(p ->
                        lastEpoch(p.split.child()) == 0
                                || lastEpoch(p.split.child()) >= p.split.epoch())
                .map(p -> p.split.child())
                .toList();
    }

    private static boolean isOf(Change change, Pending split) {
        return change instanceof Divided d && d.split.split.equals(split.split);
    }

    /** The split is carried out, which is durable at once, and all before it with it. */
    final void divide(int pg, int child) {
        Pending split = Objects.requireNonNull(splitOf(pg, child));
        boolean makes = !has(child);
        log(pg, new Divided(split, makes), () -> {});
        divided = log.size();
        if (makes) {
            group(child).begin(beginning(split));
            committed.put(child, split.sequence);
            flushed.put(child, split.sequence);
        }
        flushed.merge(pg, split.sequence, Math::max);
    }

    private Beginning beginning(Pending split) {
        Beginning made = split.made;
        return fault == Fault.SPLIT_FORGETS_ANSWERS
                ? new Beginning(made.epoch, made.sequence, made.complete, made.content, List.of())
                : made;
    }

    // ---- merges

    boolean hasMerge(int parent, int child, long epoch) {
        return look(parent).merges.stream()
                        .anyMatch(m -> m.merge.child() == child && m.merge.epoch() == epoch)
                || isMerged(child, epoch);
    }

    boolean isMerged(int child, long epoch) {
        Group group = look(child);
        return group.ended && group.floor > epoch;
    }

    /** Whether no group of the number is here, though there was one. */
    boolean isEnded(int pg) {
        return look(pg).ended;
    }

    private boolean isCarriedOut(Uniting merge) {
        return log.stream()
                .anyMatch(l -> l.change instanceof United u && u.merge.equals(merge.merge));
    }

    /** Sequence of the oldest merge that is not carried out; 0 if there is none. */
    final long firstMerge(int pg) {
        return look(pg).merges.stream()
                .filter(m -> !isCarriedOut(m))
                .mapToLong(Uniting::sequence)
                .findFirst()
                .orElse(0);
    }

    private List<Uniting> mergesDue(int pg) {
        return look(pg).merges.stream()
                .filter(m -> m.sequence <= committed(pg) || fault == Fault.MERGE_UNCOMMITTED)
                .filter(m -> !isCarriedOut(m))
                .toList();
    }

    boolean mayBeTakenIn(int child) {
        return groups().stream()
                .flatMap(pg -> look(pg).merges.stream())
                .anyMatch(m -> m.merge.child() == child && !isCarriedOut(m));
    }

    List<Integer> toRelease() {
        return groups().stream()
                .flatMap(pg -> mergesDue(pg).stream())
                .map(m -> m.merge.child())
                .filter(child -> !released.contains(child))
                .toList();
    }

    boolean isTakenIn(int child) {
        return released.contains(child) || toRelease().contains(child);
    }

    void release(int child) {
        released.add(child);
    }

    boolean isFlushedWhole(int pg, long epoch) {
        Group group = look(pg);
        return !group.ended
                && group.last() > 0
                && committed(pg) == group.last()
                && group.lastEpoch() >= epoch
                && group.complete.isAll();
    }

    /** Carries out what is due of the group, and released. */
    final void mergeSome(int pg) {
        for (Uniting m : mergesDue(pg)) {
            if (released.contains(m.merge.child()) && mayUnite(pg, m.sequence)) {
                unite(pg, m);
            }
        }
    }

    /** Whether nothing that the merge of that sequence needs is damaged. */
    boolean mayUnite(int pg, long sequence) {
        return true;
    }

    /** Durable at once, and all before it with it. */
    private void unite(int pg, Uniting m) {
        int child = m.merge.child();
        Group from = look(child);
        boolean early = fault == Fault.MERGE_BEFORE_THE_END;
        if (!early && (from.ended || from.last() < m.merge.childSequence())) {
            throw new AssertionError(
                    "disk %d: %x ends at %d, which it has not: %d"
                            .formatted(id, child, m.merge.childSequence(), from.last()));
        }
        boolean whole = from.complete.isAll();
        if (!whole && !early) {
            throw new AssertionError("disk %d: %x ends, and lacks content".formatted(id, child));
        }
        List<Answered> answers = fault == Fault.MERGE_FORGETS_ANSWERS ? List.of() : answered(from);
        flushed.merge(pg, m.sequence, Math::max);
        log(
                pg,
                new United(
                        m.merge, m.sequence, whole, whole ? from.content : new Content(), answers),
                () -> {});
        divided = log.size();
        end(child, from);
        released.remove(child);
    }

    private void end(int pg, Group before) {
        groups.put(pg, Group.ended(before.lastEpoch()));
        committed.remove(pg);
        flushed.remove(pg);
    }

    /** What is here of a group that was merged elsewhere is removed, durably. */
    void end(int pg) {
        Group before = look(pg);
        log(pg, new Ended(), () -> {});
        divided = log.size();
        end(pg, before);
    }

    /** Nothing that is here of the group's content counts from now on. */
    void discard(int pg) {
        if (last(pg) > committed(pg)) {
            dropTail(pg, committed(pg));
        }
        Group group = look(pg);
        if (!group.complete.isNothing()) {
            log(
                    pg,
                    new Begun(new Reset(0, group.lastEpoch(), last(pg), List.of(), true)),
                    () -> {});
        }
    }

    /** What there is of it in a group whose content was discarded. */
    Set<Long> inodes(int pg) {
        return look(pg).content.inodes();
    }

    /** What was discarded of the inode is removed. */
    void removeInode(int pg, long inode) {
        log(pg, new Removed(last(pg), inode), () -> {});
    }

    /** Whether there is something of the group's content, even if it does not count. */
    boolean hasContent(int pg) {
        return !look(pg).complete.isNothing() || !look(pg).content.isEmpty();
    }

    int end() {
        return log.size();
    }

    /** Everything up to there is durable; returns what became so. */
    List<Runnable> synced(int end) {
        if (end <= synced || end > log.size()) {
            return List.of();
        }
        List<Runnable> now = log.subList(synced, end).stream().map(Logged::durable).toList();
        synced = end;
        return now;
    }

    void commit(int pg, long sequence) {
        if (sequence > last(pg)) {
            throw new AssertionError("commit of " + sequence + ", there are " + last(pg));
        }
        committed.merge(pg, sequence, Math::max);
    }

    /** What is committed leaves the log. */
    void flush(int pg, Random random) {
        splitsDue(pg).forEach(split -> divide(pg, split));
        long merge = firstMerge(pg);
        long to = merge == 0 ? committed(pg) : Math.min(committed(pg), merge - 1);
        flushed.merge(pg, to, Math::max);
    }

    /** Durable at once: the caller delays it. */
    void dropTail(int pg, long kept) {
        if (kept < committed(pg)) {
            throw new AssertionError(
                    "dropped after " + kept + ", though committed to " + committed(pg));
        }
        for (Logged l : log) {
            boolean united = l.change instanceof United u && u.sequence > kept;
            boolean split = l.change instanceof Divided d && d.split.sequence > kept;
            if (l.pg == pg && (united || split)) {
                throw new AssertionError(
                        "dropped after %d, and with it %s, which was carried out"
                                .formatted(kept, l.change));
            }
        }
        log.add(new Logged(pg, new Dropped(kept), () -> {}));
        rebuild(pg);
    }

    void crash(Random random) {
        int least = Math.max(synced, divided);
        keep(least + random.nextInt(log.size() - least + 1));
        // What was committed is told by later records, so the last word of it may be missing.
        for (int pg : groups()) {
            long told = Math.min(committed(pg), last(pg));
            long lowest = leastCommitted(pg);
            found(pg, random.nextBoolean() ? told : random.nextLong(lowest, told + 1));
        }
    }

    /** Only so many records have survived. */
    final void keep(int survives) {
        log.subList(survives, log.size()).clear();
        synced = survives;
        divided = Math.min(divided, survives);
        groups.keySet().removeIf(pg -> log.stream().noneMatch(l -> concerns(l, pg)));
        released.clear();
        committed.keySet().retainAll(groups.keySet());
        flushed.keySet().retainAll(groups.keySet());
        groups().forEach(this::rebuild);
    }

    private static boolean concerns(Logged logged, int pg) {
        return logged.pg == pg
                || (logged.change instanceof Divided d && d.split.split.child() == pg && d.makes)
                || (logged.change instanceof United u && u.merge.child() == pg);
    }

    /** What is known as committed after a crash. */
    final void found(int pg, long sequence) {
        committed.put(pg, sequence);
    }

    final long leastCommitted(int pg) {
        long told = Math.min(committed(pg), last(pg));
        return Math.min(told, Math.max(look(pg).begin, flushed.getOrDefault(pg, 0L)));
    }

    final List<Integer> groups() {
        return List.copyOf(groups.keySet());
    }

    final int synced() {
        return synced;
    }

    @Override
    public void close() {}

    /** A drop makes operations void, and what a learner did after them. */
    private void rebuild(int pg) {
        List<Logged> records = new ArrayList<>();
        Group group = new Group();
        for (Logged logged : log) {
            if (logged.change instanceof Divided d && d.makes && d.split.split.child() == pg) {
                records.clear();
                group = new Group();
                group.begin(beginning(d.split));
            }
            boolean ends =
                    (logged.change instanceof United u && u.merge.child() == pg)
                            || (logged.change instanceof Ended && logged.pg == pg);
            if (ends) {
                Group before = group;
                records.forEach(r -> before.add(r.change));
                records.clear();
                group = Group.ended(before.lastEpoch());
            } else if (logged.pg == pg) {
                if (logged.change instanceof Dropped dropped) {
                    drop(records, dropped.kept);
                } else {
                    records.add(logged);
                }
            }
        }
        Group last = group;
        last.keepsOlder = fault == Fault.OLDER_WRITE_REPLAYED_OVER;
        records.forEach(r -> last.add(r.change));
        last.keepsOlder = false;
        groups.put(pg, last);
    }

    private void drop(List<Logged> records, long kept) {
        if (fault == Fault.UNCOMMITTED_APPLIED) {
            records.replaceAll(r ->
                    r.change instanceof Op op && op.entry.sequence() > kept
                            ? new Logged(r.pg, new Applied(op.entry), r.durable)
                            : r);
        }
        records.removeIf(r -> place(r.change) > kept);
    }

    private static long place(Change change) {
        return switch (change) {
            case Op op -> op.entry.sequence();
            case Dropped dropped -> dropped.kept;
            case Applied applied -> 0;
            case Begun begun -> begun.reset.sequence();
            case Copied copied -> copied.after;
            case Completed completed -> completed.after;
            case CopiedTo to -> to.after;
            case Removed removed -> removed.after;
            case Divided divided -> divided.split.sequence;
            case United united -> united.sequence;
            case Ended ended -> 0;
            case BegunAnew begun -> 0;
        };
    }

    // ---- damage -------------------------------------------------------------------------------

    /** A block of a chunk that cannot be read here. */
    record BadBlock(int pg, Key key, int block) {}

    /** Whether it stores bits: a model has none. */
    boolean hasBits() {
        return false;
    }

    /** One bit of what was stored changes. */
    void flip(Random chance) {}

    /** Whether a bit has changed, and what it was in may not have been repaired. */
    boolean hasFlipped() {
        return false;
    }

    /** Reads all there is, and gives what is damaged. */
    List<BadBlock> scrub() {
        return List.of();
    }

    /** What was damaged when it was read last, and is now. */
    List<BadBlock> damaged() {
        return List.of();
    }

    /** Whether a block of the cells was damaged when it was read last. */
    boolean isDamaged(int pg, Key key, Cells cells) {
        return false;
    }

    /** For another replica; null if it is damaged here too. */
    @Nullable VersionedBlock readBlock(BadBlock block) {
        throw new UnsupportedOperationException();
    }

    /** The same, as if it were of the version that the chunk has here. */
    VersionedBlock asOwn(BadBlock block, VersionedBlock other) {
        throw new UnsupportedOperationException();
    }

    void repair(BadBlock block, VersionedBlock right) {
        throw new UnsupportedOperationException();
    }

    /** The bit is what it was again, if nothing else was written over it. */
    void flipBack() {}

    // ---- questions ----------------------------------------------------------------------------

    long last(int pg) {
        return look(pg).last();
    }

    long committed(int pg) {
        return committed.getOrDefault(pg, 0L);
    }

    boolean isComplete(int pg) {
        return look(pg).complete.isAll();
    }

    /** Of an operation that was not overtaken by a new beginning. */
    PgLogEntry get(int pg, long sequence) {
        Group group = look(pg);
        return group.entries.get((int) (sequence - group.begin) - 1);
    }

    /**
     * Whether the operation would be there after a crash now. Where the history was begun anew
     * behind it, its content tells.
     */
    boolean isDurable(int pg, long sequence, String identity) {
        if (sequence <= look(pg).begin) {
            return isComplete(pg);
        }
        if (sequence > last(pg) || !identity(get(pg, sequence)).equals(identity)) {
            return false;
        }
        PgLogEntry entry = get(pg, sequence);
        return log.subList(synced, log.size()).stream()
                .noneMatch(l -> l.change instanceof Op op && op.entry == entry);
    }

    /** Whether the log has it: else, if it was carried out, it is in the content only. */
    boolean isLogged(int pg, long sequence) {
        return sequence > look(pg).begin && sequence <= last(pg);
    }

    /** Operations after the sequence; null if the log begins later. */
    @Nullable List<PgLogEntry> after(int pg, long sequence) {
        Group group = look(pg);
        if (sequence < Math.max(group.begin, flushed.getOrDefault(pg, 0L))) {
            return null;
        }
        int from = (int) Math.min(sequence - group.begin, group.entries.size());
        return List.copyOf(group.entries.subList(from, group.entries.size()));
    }

    /** What there is of a chunk; null if there is none. */
    @Nullable Chunk chunk(int pg, Key key) {
        return look(pg).content.chunks.get(key);
    }

    /** All that there is of the group, as it has to be on each replica that has everything. */
    Map<Key, String> content(int pg) {
        Content content = look(pg).content;
        Map<Key, String> all = new TreeMap<>();
        content.chunks.forEach((key, chunk) -> {
            all.put(key, chunk.head(key) + " of " + chunk.pieces());
        });
        content.truncated.forEach(
                (inode, sequence) -> all.put(new Key(inode, Key.INODE), "truncation " + sequence));
        return all;
    }

    boolean has(int pg, long inode) {
        return look(pg).content.has(inode);
    }

    /** The newest truncation of the chunk. */
    long truncateSequence(int pg, Key key) {
        return look(pg).content.truncateSequence(key);
    }

    CopyRead readCopy(int pg, Copy copy, Base base) {
        Content content = look(pg).content;
        return new CopyRead(
                content.chunks.get(new Key(copy.inode(), copy.chunk())),
                content.truncated.getOrDefault(copy.inode(), 0L),
                !content.has(copy.inode()));
    }

    /** What there is of the cells. */
    List<Piece> read(int pg, Key key, Cells cells) {
        @Nullable Chunk chunk = chunk(pg, key);
        return chunk == null ? List.of() : Piece.within(chunk.pieces(), cells);
    }

    ContentPage list(int pg, long number, Key after) {
        Content content = look(pg).content;
        TreeMap<Key, ContentHead> heads = new TreeMap<>();
        content.chunks.forEach((key, chunk) -> heads.put(key, chunk.head(key)));
        content.truncated.forEach((inode, sequence) -> {
            Key key = new Key(inode, Key.INODE);
            heads.put(key, new ContentHead(key, ChunkVersion.NONE, sequence, 0));
        });
        List<ContentHead> page = heads.tailMap(after, false).values().stream().limit(PAGE).toList();
        return new ContentPage(number, page, page.size() == heads.tailMap(after, false).size());
    }

    PgLogState state(int pg) {
        Group group = look(pg);
        return new PgLogState(
                pg,
                group.lastEpoch(),
                last(pg),
                committed(pg),
                0,
                group.starts,
                answeredWithMerges(group),
                List.of(),
                fault == Fault.INCOMPLETE_FORGOTTEN ? Completeness.ALL : group.complete,
                0);
    }

    /** What a merge brings that is logged counts already. */
    private List<Answered> answeredWithMerges(Group group) {
        List<List<Answered>> tables = new ArrayList<>(List.of(answered(group)));
        for (Uniting u : group.merges) {
            if (fault != Fault.MERGE_FORGETS_ANSWERS && !isCarriedOut(u)) {
                tables.add(answered(look(u.merge.child())));
            }
        }
        return answered(tables, List.of());
    }

    private static List<Answered> answered(Group group) {
        return answered(List.of(group.answered), group.entries);
    }

    private static List<Answered> answered(List<List<Answered>> tables, List<PgLogEntry> entries) {
        Map<Long, TreeSet<Long>> numbers = new TreeMap<>();
        Map<Long, Long> marks = new TreeMap<>();
        for (Answered a : tables.stream().flatMap(List::stream).toList()) {
            TreeSet<Long> known = numbers.computeIfAbsent(a.session(), s -> new TreeSet<>());
            for (long number : a.numbers()) {
                known.add(number);
            }
            marks.merge(a.session(), a.ackedBelow(), Math::max);
        }
        for (PgLogEntry e : entries) {
            long session = e.op().session();
            if (session != 0) {
                numbers.computeIfAbsent(session, s -> new TreeSet<>()).add(e.op().number());
                marks.merge(session, e.op().ackedBelow(), Math::max);
            }
        }
        List<Answered> answered = new ArrayList<>();
        numbers.forEach((session, all) -> {
            long mark = marks.getOrDefault(session, 0L);
            long[] open = all.tailSet(mark).stream().mapToLong(n -> n).toArray();
            answered.add(new Answered(session, mark, open));
        });
        return answered;
    }

    /** Names an operation and its place, the same on every disk. */
    static String identity(PgLogEntry e) {
        return "(%d, %d) %s %d/%d"
                .formatted(
                        e.epoch(), e.sequence(), e.op().type(), e.op().session(), e.op().number());
    }
}
