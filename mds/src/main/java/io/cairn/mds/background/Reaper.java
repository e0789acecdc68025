package io.cairn.mds.background;

import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.TruncateInodeRequest;
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
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
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

    /** By their places in the queue, records in flight: how many PGs are still to answer. */
    private final Map<Long, Integer> open = new HashMap<>();

    /** Records of which all PGs have answered, not yet in a log entry. */
    private final List<DeletionRecord> finished = new ArrayList<>();

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
        Map<Integer, List<DeletionRecord>> byPg = new HashMap<>();
        for (DeletionRecord record : records) {
            int[] pgs =
                    calls.pgs(record.getInode(), record.getLayout(), 0, record.getSizeCeiling())
                            .toArray();
            if (pgs.length == 0) {
                finished.add(record);
                continue;
            }
            open.put(record.getSequence(), pgs.length);
            for (int pg : pgs) {
                if (record.getCutSequence() != 0) {
                    cut(pg, record);
                } else {
                    byPg.computeIfAbsent(pg, p -> new ArrayList<>()).add(record);
                }
            }
        }
        byPg.forEach(this::delete);
    }

    private void delete(int pg, List<DeletionRecord> records) {
        long mine = tenure;
        calls.call(
                pg,
                Method.DELETE_INODES,
                DeleteInodesRequest.newBuilder()
                        .setPg(pg)
                        .setMapEpoch(map.get().epoch())
                        .addAllInodes(records.stream().map(DeletionRecord::getInode).toList())
                        .setNumber(nextNumber())
                        .build(),
                () -> tenure == mine,
                reply -> answered(mine, records));
    }

    /** The inode lives in another pool: here the sequence stays, and nothing else. */
    private void cut(int pg, DeletionRecord record) {
        long mine = tenure;
        FileLayout layout = record.getLayout();
        calls.call(
                pg,
                Method.TRUNCATE_INODE,
                TruncateInodeRequest.newBuilder()
                        .setPg(pg)
                        .setMapEpoch(map.get().epoch())
                        .setInode(record.getInode())
                        .setSequence(record.getCutSequence())
                        .setStripeUnit(layout.getStripeUnit())
                        .setStripeCount(layout.getStripeCount())
                        .setChunkSize(layout.getChunkSize())
                        .build(),
                () -> tenure == mine,
                reply -> answered(mine, List.of(record)));
    }

    /** Larger than any of an earlier leader, so that no PG takes it for a repetition. */
    private long nextNumber() {
        return (termNumber << 32) + ++number;
    }

    private void answered(long when, List<DeletionRecord> records) {
        if (when != tenure) {
            return;
        }
        for (DeletionRecord record : records) {
            @Nullable Integer left = open.computeIfPresent(record.getSequence(), (i, n) -> n - 1);
            if (left != null && left == 0) {
                open.remove(record.getSequence());
                finished.add(record);
            }
        }
        if (finished.size() >= BATCH || open.isEmpty()) {
            remove();
        }
    }

    /** Takes what is finished off the queue, one entry at a time. */
    private void remove() {
        if (removing || finished.isEmpty()) {
            return;
        }
        removing = true;
        int count = Math.min(BATCH, finished.size());
        ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
        for (DeletionRecord record : finished.subList(0, count)) {
            if (record.getLeft()) {
                reaped.addLeft(record.getSequence());
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
                                    finished.subList(0, count).clear();
                                    metrics.deleted(count);
                                    windowCount += count;
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
