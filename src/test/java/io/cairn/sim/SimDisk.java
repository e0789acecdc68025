package io.cairn.sim;

import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * One log for all placement groups of a disk, as the write-ahead log is: what is synced, is synced
 * for all of them, and a crash leaves any prefix of what was not.
 */
final class SimDisk {
    final int id;
    private final TreeMap<Long, Logged> log = new TreeMap<>();
    private final Map<Integer, List<PgLogEntry>> groups = new HashMap<>();
    private final Map<Integer, Long> committed = new HashMap<>();
    private long lastLsn;
    private long syncedLsn;

    /** An operation and its place in the log. */
    record Logged(long lsn, int pg, PgLogEntry entry) {}

    SimDisk(int id) {
        this.id = id;
    }

    void append(int pg, PgLogEntry entry) {
        List<PgLogEntry> group = group(pg);
        if (entry.sequence() != group.size() + 1L) {
            throw new AssertionError(
                    "disk %d: operation %d of placement group %x after %d"
                            .formatted(id, entry.sequence(), pg, group.size()));
        }
        group.add(entry);
        lastLsn++;
        log.put(lastLsn, new Logged(lastLsn, pg, entry));
    }

    long lastLsn() {
        return lastLsn;
    }

    /** Everything up to there is durable; returns what became so. */
    List<Logged> synced(long lsn) {
        if (lsn <= syncedLsn) {
            return List.of();
        }
        List<Logged> now = List.copyOf(log.subMap(syncedLsn, false, lsn, true).values());
        syncedLsn = lsn;
        return now;
    }

    void commit(int pg, long sequence) {
        if (sequence > last(pg)) {
            throw new AssertionError("commit of " + sequence + ", there are " + last(pg));
        }
        committed.merge(pg, sequence, Math::max);
    }

    /** Durable at once: the caller delays it. */
    void dropTail(int pg, long kept) {
        if (kept < committed(pg)) {
            throw new AssertionError(
                    "dropped after " + kept + ", though committed to " + committed(pg));
        }
        List<PgLogEntry> group = group(pg);
        while (group.size() > kept) {
            group.removeLast();
        }
        log.values().removeIf(l -> l.pg == pg && l.entry.sequence() > kept);
    }

    void crash(Random random) {
        long survives = syncedLsn + random.nextLong(lastLsn - syncedLsn + 1);
        for (Logged lost : List.copyOf(log.tailMap(survives, false).values())) {
            group(lost.pg).removeLast();
        }
        log.tailMap(survives, false).clear();
        lastLsn = survives;
        syncedLsn = survives;
        // What was committed is told by later records, so the last word of it may be missing.
        committed.replaceAll((pg, to) -> random.nextBoolean() ? to : random.nextLong(to + 1));
    }

    long last(int pg) {
        return group(pg).size();
    }

    long committed(int pg) {
        return committed.getOrDefault(pg, 0L);
    }

    PgLogEntry get(int pg, long sequence) {
        return group(pg).get((int) sequence - 1);
    }

    /** Whether the operation would be there after a crash now. */
    boolean isDurable(int pg, long sequence, String identity) {
        if (sequence > last(pg) || !identity(get(pg, sequence)).equals(identity)) {
            return false;
        }
        PgLogEntry entry = get(pg, sequence);
        return log.tailMap(syncedLsn, false).values().stream().noneMatch(l -> l.entry == entry);
    }

    List<PgLogEntry> after(int pg, long sequence) {
        List<PgLogEntry> group = group(pg);
        return List.copyOf(group.subList((int) Math.min(sequence, group.size()), group.size()));
    }

    /** Sequence of the newest write to the chunk, 0 if there is none: what a read shows. */
    long newestWrite(int pg, long inode) {
        List<PgLogEntry> group = group(pg);
        for (int i = group.size() - 1; i >= 0; i--) {
            PgLogEntry e = group.get(i);
            if (e.op().session() != 0 && e.op().inode() == inode) {
                return e.sequence();
            }
        }
        return 0;
    }

    PgLogState state(int pg) {
        List<EpochStart> starts = new ArrayList<>();
        Map<Long, TreeSet<Long>> numbers = new TreeMap<>();
        Map<Long, Long> marks = new TreeMap<>();
        long epoch = 0;
        for (PgLogEntry e : group(pg)) {
            if (e.epoch() != epoch) {
                epoch = e.epoch();
                starts.add(new EpochStart(epoch, e.sequence()));
            }
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
        return new PgLogState(pg, epoch, last(pg), committed(pg), 0, starts, answered);
    }

    /** Names an operation and its place, the same on every disk. */
    static String identity(PgLogEntry e) {
        return "(%d, %d) %s %d/%d"
                .formatted(
                        e.epoch(), e.sequence(), e.op().type(), e.op().session(), e.op().number());
    }

    private List<PgLogEntry> group(int pg) {
        return groups.computeIfAbsent(pg, g -> new ArrayList<>());
    }
}
