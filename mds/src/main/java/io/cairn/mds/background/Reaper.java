package io.cairn.mds.background;

import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.Method;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes the data of the inodes in the deletion queue: takes them in order, tells the primaries of
 * their PGs, many inodes in one message, and takes them off the queue when all PGs of an inode have
 * answered. Begins at the head of the queue whenever this member becomes leader: deleting twice
 * does no harm.
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

    private final Map<Long, Open> open = new HashMap<>();

    /** Inodes of which all PGs have answered, not yet in a log entry. */
    private final List<Long> finished = new ArrayList<>();

    /** An inode in flight. */
    private static final class Open {
        final DeletionRecord record;

        /** How many PGs its pool had when they were asked. */
        final int pgCount;

        /** How many PGs are still to answer. */
        int left;

        Open(DeletionRecord record, int pgCount, int left) {
            this.record = record;
            this.pgCount = pgCount;
            this.left = left;
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
        if (take <= 0 || map.get().pgs().isEmpty()) {
            return;
        }
        List<DeletionRecord> records = state.deletions(cursor, take);
        if (records.isEmpty()) {
            return;
        }
        cursor = records.getLast().getSequence();
        pace.took(records.size());
        send(records);
        remove();
        if (records.size() == BATCH && inodesPerSecond == 0) {
            control.execute(this::again);
        }
    }

    private void again() {
        if (ticks != null) {
            tick();
        }
    }

    private void send(List<DeletionRecord> records) {
        Map<Integer, List<Long>> byPg = new HashMap<>();
        for (DeletionRecord record : records) {
            int pgCount = calls.pgCount(record.getLayout());
            int[] pgs = pgs(record, pgCount).toArray();
            if (pgs.length == 0) {
                finished.add(record.getInode());
                continue;
            }
            open.put(record.getInode(), new Open(record, pgCount, pgs.length));
            for (int pg : pgs) {
                byPg.computeIfAbsent(pg, p -> new ArrayList<>()).add(record.getInode());
            }
        }
        send(byPg);
    }

    private IntStream pgs(DeletionRecord record, int pgCount) {
        return calls.pgs(
                record.getInode(), record.getLayout(), 0, record.getSizeCeiling(), pgCount);
    }

    private void send(Map<Integer, List<Long>> byPg) {
        long mine = tenure;
        long epoch = map.get().epoch();
        byPg.forEach((pg, inodes) ->
                calls.call(
                        pg,
                        Method.DELETE_INODES,
                        DeleteInodesRequest.newBuilder()
                                .setPg(pg)
                                .setMapEpoch(epoch)
                                .addAllInodes(inodes)
                                .setNumber(nextNumber())
                                .build(),
                        () -> tenure == mine,
                        reply -> answered(mine, inodes)));
    }

    /** Larger than any of an earlier leader, so that no PG takes it for a repetition. */
    private long nextNumber() {
        return (termNumber << 32) + ++number;
    }

    private void answered(long when, List<Long> inodes) {
        if (when != tenure) {
            return;
        }
        Map<Integer, List<Long>> more = new HashMap<>();
        for (long inode : inodes) {
            @Nullable Open of = open.get(inode);
            if (of != null && --of.left == 0) {
                open.remove(inode);
                again(of, more);
            }
        }
        send(more);
        if (finished.size() >= BATCH || open.isEmpty()) {
            remove();
        }
    }

    /**
     * All PGs have answered that there were. Those that were made of one of them meanwhile, perhaps
     * before it had answered, are asked too.
     */
    private void again(Open done, Map<Integer, List<Long>> more) {
        long inode = done.record.getInode();
        int pgCount = calls.pgCount(done.record.getLayout());
        int[] pgs = {};
        if (pgCount != done.pgCount) {
            Set<Integer> asked = new HashSet<>();
            pgs(done.record, done.pgCount).forEach(asked::add);
            pgs = pgs(done.record, pgCount).filter(pg -> !asked.contains(pg)).toArray();
        }
        if (pgs.length == 0) {
            finished.add(inode);
            return;
        }
        open.put(inode, new Open(done.record, pgCount, pgs.length));
        for (int pg : pgs) {
            more.computeIfAbsent(pg, p -> new ArrayList<>()).add(inode);
        }
    }

    /** Takes what is finished off the queue, one entry at a time. */
    private void remove() {
        if (removing || finished.isEmpty()) {
            return;
        }
        removing = true;
        List<Long> inodes = new ArrayList<>(finished.subList(0, Math.min(BATCH, finished.size())));
        long mine = tenure;
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setReaped(ReapedEntry.newBuilder().addAllInodes(inodes)))
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
                                    finished.subList(0, inodes.size()).clear();
                                    metrics.deleted(inodes.size());
                                    windowCount += inodes.size();
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
