package io.cairn.mds.background;

import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Truncation;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.PgCalls;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.NamespaceReader;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.ReapedEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the data of the inodes in the deletion queue: takes them in order, tells the primaries of
 * their PGs, many inodes in one message, and takes them off the queue when all PGs of an inode have
 * answered. What a file has left in another pool, out of which it was moved, is cut to nothing
 * there. Begins at the head of the queue whenever this member becomes leader: deleting twice does
 * no harm.
 *
 * <p>A PG that does not answer holds up its own inodes only, until as many of them as {@link
 * #MAX_IN_FLIGHT} have gathered. The control thread only, except for the figures.
 */
public final class Reaper {
    private static final Logger LOG = LoggerFactory.getLogger(Reaper.class);

    /** Inodes in one message, as the protocol allows; also read from the queue at a time. */
    static final int BATCH = 4096;

    /** Inodes that may wait for answers. */
    static final int MAX_IN_FLIGHT = 4 * BATCH;

    /**
     * Answers that may be waited for: the data of a large file, and what is orphaned, is in all PGs
     * of a pool.
     */
    static final long MAX_ANSWERS_DUE = 1 << 19;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long RATE_WINDOW_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final EntryLog entries;
    private final ControlReader state;
    private final NamespaceReader namespace;
    private final PgCalls calls;
    private final CurrentMap map;
    private final Control control;
    private final NanoClock clock;
    private final MdsMeters metrics;
    private final LongSupplier limit;
    private final Pace pace = new Pace();

    /** Records in flight by their places in the queue: how many PGs are still to answer. */
    private final Map<Long, Deletion> open = new HashMap<>();

    /** Those of which all PGs have answered, not yet in a log entry. */
    private final List<DeletionRecord> finished = new ArrayList<>();

    /** Answers that are still to come, of all records in flight. */
    private long answersDue;

    /** Of a record, in flight. */
    private static final class Deletion {
        final DeletionRecord record;

        /** How many PGs its pool had when they were asked, and when some were merged last. */
        final int pgCount;

        final long mergedEpoch;

        /** How many PGs are still to answer. */
        int pgsLeft;

        Deletion(DeletionRecord record, int pgCount, long mergedEpoch, int pgs) {
            this.record = record;
            this.pgCount = pgCount;
            this.mergedEpoch = mergedEpoch;
            this.pgsLeft = pgs;
        }
    }

    private @Nullable ScheduledFuture<?> ticks;

    /**
     * Counts the times this member has begun and ended to lead: answers of an earlier one are late.
     */
    private long tenure;

    private long termNumber;
    private long cursor;
    private long number;
    private boolean removing;
    private long windowNanos;
    private long windowCount;
    private volatile double rate;

    /**
     * @param limit inodes per second, asked at each step; 0: as fast as the data servers are
     */
    public Reaper(
            EntryLog entries,
            ControlReader state,
            NamespaceReader namespace,
            PgCalls calls,
            CurrentMap map,
            Control control,
            NanoClock clock,
            MdsMeters metrics,
            LongSupplier limit) {
        this.entries = entries;
        this.state = state;
        this.namespace = namespace;
        this.calls = calls;
        this.map = map;
        this.control = control;
        this.clock = clock;
        this.metrics = metrics;
        this.limit = limit;
    }

    public void begin(Leadership.Term term) {
        end();
        tenure++;
        termNumber = term.number();
        cursor = 0;
        number = 0;
        removing = false;
        windowNanos = clock.nanos();
        pace.begin(windowNanos);
        windowCount = 0;
        ticks = control.every(TICK_NANOS, this::tick);
    }

    public void end() {
        @Nullable ScheduledFuture<?> running = ticks;
        if (running != null) {
            running.cancel(false);
            ticks = null;
        }
        tenure++;
        open.clear();
        finished.clear();
        answersDue = 0;
        rate = 0;
    }

    /** Inodes deleted per second, lately. Any thread. */
    public double rate() {
        return rate;
    }

    /** Inodes per second at most; 0: no limit. Any thread. */
    public long limit() {
        return limit.getAsLong();
    }

    /** Seconds until the backlog is gone at that rate, -1 if that cannot be said. Any thread. */
    public double etaSeconds() {
        long backlog = namespace.counters().deletionInodes();
        return backlog == 0 ? 0 : rate <= 0 ? -1 : backlog / rate;
    }

    private void tick() {
        measure();
        remove();
        int room = MAX_IN_FLIGHT - open.size() - finished.size();
        long inodesPerSecond = limit.getAsLong();
        int take = Math.min(Math.min(BATCH, room), pace.allowed(inodesPerSecond, clock.nanos()));
        if (take <= 0 || answersDue >= MAX_ANSWERS_DUE || map.get().pgs().isEmpty()) {
            return;
        }
        List<DeletionRecord> records = state.deletions(cursor, take);
        int sent = send(records);
        if (sent == 0) {
            return;
        }
        pace.took(sent);
        remove();
        if ((sent == BATCH || sent < records.size()) && inodesPerSecond == 0) {
            control.execute(this::again);
        }
    }

    private void again() {
        if (ticks != null) {
            tick();
        }
    }

    /**
     * The first of them, and the others if not too many answers are to be waited for then, and if
     * one message can name all.
     */
    private int send(List<DeletionRecord> records) {
        Map<Integer, List<DeletionRecord>> byPg = new HashMap<>();
        int sent = 0;
        long named = 0;
        for (DeletionRecord record : records) {
            named += ids(record).count();
            if (answersDue >= MAX_ANSWERS_DUE || (sent > 0 && named > BATCH)) {
                break;
            }
            sent++;
            cursor = record.getSequence();
            long merged = calls.mergedEpoch(record.getLayout());
            int pgCount = calls.pgCount(record.getLayout());
            ask(record, pgCount, merged, pgs(record, pgCount).toArray(), byPg);
        }
        send(byPg);
        return sent;
    }

    private void ask(
            DeletionRecord record,
            int pgCount,
            long mergedEpoch,
            int[] pgs,
            Map<Integer, List<DeletionRecord>> byPg) {
        if (pgs.length == 0) {
            finished.add(record);
            return;
        }
        open.put(record.getSequence(), new Deletion(record, pgCount, mergedEpoch, pgs.length));
        answersDue += pgs.length;
        for (int pg : pgs) {
            byPg.computeIfAbsent(pg, p -> new ArrayList<>()).add(record);
        }
    }

    private IntStream pgs(DeletionRecord record, int pgCount) {
        return calls.pgs(
                record.getInode(), record.getLayout(), 0, record.getSizeCeiling(), pgCount);
    }

    private void send(Map<Integer, List<DeletionRecord>> byPg) {
        byPg.forEach((pg, records) -> {
            records.stream().filter(r -> r.getCutSequence() != 0).forEach(r -> cut(pg, r));
            List<DeletionRecord> gone =
                    records.stream().filter(r -> r.getCutSequence() == 0).toList();
            if (!gone.isEmpty()) {
                delete(pg, gone);
            }
        });
    }

    private void delete(int pg, List<DeletionRecord> records) {
        long mine = tenure;
        calls.call(
                pg,
                Method.DELETE_INODES,
                DeleteInodesRequest.newBuilder()
                        .setPg(pg)
                        .setMapEpoch(map.get().epoch())
                        .addAllInodes(inodes(records))
                        .setNumber(nextNumber())
                        .build(),
                () -> tenure == mine,
                reply -> answered(mine, records));
    }

    /** Of a file that is queued, and orphaned besides in the same pool: once. */
    private static List<Long> inodes(List<DeletionRecord> records) {
        return records.stream().flatMapToLong(Reaper::ids).distinct().boxed().toList();
    }

    private static LongStream ids(DeletionRecord record) {
        return record.getLastInode() == 0
                ? LongStream.of(record.getInode())
                : LongStream.rangeClosed(record.getInode(), record.getLastInode());
    }

    /** The inode lives in another pool: here the sequence stays, and nothing else. */
    private void cut(int pg, DeletionRecord record) {
        long mine = tenure;
        Truncation toNothing = Truncation.newBuilder().setSequence(record.getCutSequence()).build();
        calls.truncate(
                pg,
                record.getInode(),
                record.getLayout(),
                toNothing,
                () -> tenure == mine,
                () -> answered(mine, List.of(record)));
    }

    /** Larger than any of an earlier leader, so that no PG takes it for a repetition. */
    private long nextNumber() {
        return (termNumber << 32) + ++number;
    }

    private void answered(long when, List<DeletionRecord> deleted) {
        if (when != tenure) {
            return;
        }
        Map<Integer, List<DeletionRecord>> more = new HashMap<>();
        for (DeletionRecord record : deleted) {
            @Nullable Deletion deletion = open.get(record.getSequence());
            if (deletion != null) {
                answersDue--;
                if (--deletion.pgsLeft == 0) {
                    open.remove(record.getSequence());
                    again(deletion, more);
                }
            }
        }
        send(more);
        if (finished.size() >= BATCH || open.isEmpty()) {
            remove();
        }
    }

    /**
     * All PGs have answered that there were. Those that were made of one of them meanwhile, perhaps
     * before it had answered, are asked too. Where some were merged, all are asked again: chunks
     * may have come to one after it had answered.
     */
    private void again(Deletion done, Map<Integer, List<DeletionRecord>> more) {
        long merged = calls.mergedEpoch(done.record.getLayout());
        int pgCount = calls.pgCount(done.record.getLayout());
        int[] pgs = {};
        if (merged != done.mergedEpoch) {
            pgs = pgs(done.record, pgCount).toArray();
        } else if (pgCount != done.pgCount) {
            Set<Integer> asked = new HashSet<>();
            pgs(done.record, done.pgCount).forEach(asked::add);
            pgs = pgs(done.record, pgCount).filter(pg -> !asked.contains(pg)).toArray();
        }
        ask(done.record, pgCount, merged, pgs, more);
    }

    /** Takes what is finished off the queue, one entry at a time. */
    private void remove() {
        if (removing || finished.isEmpty()) {
            return;
        }
        removing = true;
        int number = Math.min(BATCH, finished.size());
        ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
        for (DeletionRecord record : finished.subList(0, number)) {
            if (record.getOrphan()) {
                reaped.addOrphans(record.getSequence());
            } else if (record.getLeft()) {
                reaped.addLeft(record.getSequence());
            } else if (record.getLastInode() != 0) {
                reaped.addUnusedIds(record.getSequence());
            } else {
                reaped.addInodes(record.getInode());
            }
        }
        long mine = tenure;
        var _ =
                entries.submit(LogEntry.newBuilder().setReaped(reaped))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (mine != tenure) {
                                        return;
                                    }
                                    removing = false;
                                    if (failure != null || reply.getErrno() != 0) {
                                        LOG.warn("deleted inodes are still in the queue", failure);
                                        return;
                                    }
                                    finished.subList(0, number).clear();
                                    metrics.deleted(number);
                                    windowCount += number;
                                    remove();
                                },
                                control);
    }

    private void measure() {
        long now = clock.nanos();
        if (now - windowNanos >= RATE_WINDOW_NANOS) {
            rate = windowCount * 1e9 / (now - windowNanos);
            windowNanos = now;
            windowCount = 0;
        } else if (rate == 0 && now > windowNanos) {
            rate = windowCount * 1e9 / (now - windowNanos);
        }
    }
}
