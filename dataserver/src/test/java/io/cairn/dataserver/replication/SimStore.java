package io.cairn.dataserver.replication;

import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

/** The log of one PG on one simulated disk; a crash loses what was not synced. */
final class SimStore {
    private final int pg;
    private final List<PgLogEntry> entries = new ArrayList<>();
    private int synced;
    private long committed;

    SimStore(int pg) {
        this.pg = pg;
    }

    void append(PgLogEntry entry) {
        if (entry.sequence() != entries.size() + 1L) {
            throw new AssertionError("append " + entry.sequence() + " after " + entries.size());
        }
        entries.add(entry);
    }

    /** Makes everything durable; returns what became so. */
    List<PgLogEntry> sync(int upTo) {
        int end = Math.min(upTo, entries.size());
        if (end <= synced) {
            return List.of();
        }
        List<PgLogEntry> newlySynced = List.copyOf(entries.subList(synced, end));
        synced = end;
        return newlySynced;
    }

    void commit(long sequence) {
        if (sequence > entries.size()) {
            throw new AssertionError("commit " + sequence + " of " + entries.size());
        }
        committed = sequence;
    }

    void dropTail(long kept) {
        if (kept < committed) {
            throw new AssertionError("drop after " + kept + ", committed " + committed);
        }
        while (entries.size() > kept) {
            entries.removeLast();
        }
        synced = Math.min(synced, entries.size());
    }

    /** Power loss: any prefix of the unsynced entries may have reached the disk. */
    void crash(Random random) {
        int survive = synced + random.nextInt(entries.size() - synced + 1);
        while (entries.size() > survive) {
            entries.removeLast();
        }
        synced = entries.size();
        committed = random.nextBoolean() ? committed : random.nextLong(committed + 1);
    }

    int size() {
        return entries.size();
    }

    int synced() {
        return synced;
    }

    long committed() {
        return committed;
    }

    PgLogEntry get(long sequence) {
        return entries.get((int) sequence - 1);
    }

    List<PgLogEntry> after(long sequence) {
        return List.copyOf(
                entries.subList((int) Math.min(sequence, entries.size()), entries.size()));
    }

    /** Sequence of the newest write to the chunk, 0 if none: the register's value. */
    long newestWrite(int chunk) {
        for (int i = entries.size() - 1; i >= 0; i--) {
            PgLogEntry e = entries.get(i);
            if (e.op().session() != 0 && e.op().chunk() == chunk) {
                return e.sequence();
            }
        }
        return 0;
    }

    PgLogState state() {
        List<EpochStart> starts = new ArrayList<>();
        Map<Long, TreeSet<Long>> numbers = new TreeMap<>();
        Map<Long, Long> marks = new TreeMap<>();
        long epoch = 0;
        for (PgLogEntry e : entries) {
            if (e.epoch() != epoch) {
                epoch = e.epoch();
                starts.add(new EpochStart(epoch, e.sequence()));
            }
            if (e.op().session() != 0) {
                long session = e.op().session();
                numbers.computeIfAbsent(session, s -> new TreeSet<>()).add(e.op().number());
                marks.merge(session, e.op().ackedBelow(), Math::max);
            }
        }
        List<Answered> answered = new ArrayList<>();
        numbers.forEach((session, set) -> {
            long mark = marks.getOrDefault(session, 0L);
            long[] open = set.tailSet(mark).stream().mapToLong(n -> n).toArray();
            answered.add(new Answered(session, mark, open));
        });
        return new PgLogState(pg, epoch, entries.size(), committed, 0, starts, answered);
    }
}
