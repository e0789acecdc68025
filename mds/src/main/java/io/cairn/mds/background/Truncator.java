package io.cairn.mds.background;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.PgCalls;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.TruncatedEntry;
import io.cairn.mds.store.StateListener;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Carries shrinks of files to all chunks they cut: sends each to the PGs of the chunks from the cut
 * to the ceiling, oldest first, and forgets it when all have answered. Of a file that is moved into
 * another pool the chunks there are cut too, and a fence goes to all chunks of the pool it is in.
 * Hears of them one by one and begins at once; only what was there before this member led, or is
 * too much to be kept in mind, is looked for, tick by tick, because the search walks over all that
 * were carried out lately. The control thread only, except for what it hears.
 */
public final class Truncator implements StateListener {
    /** Files kept in mind. */
    public static final int MAX_HEARD = 4096;

    /** Files worked on at a time, besides those that somebody waits for. */
    private static final int MAX_IN_FLIGHT = 256;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** Told on the control thread. */
    @FunctionalInterface
    interface CutListener {
        /** The cuts of the inode up to this one are on all chunks, or it is gone. */
        void cutsApplied(long inode, long sequence);
    }

    private final EntryLog entries;
    private final ControlReader state;
    private final PgCalls calls;
    private final CurrentMap map;
    private final Control control;
    private final MdsMeters metrics;
    private final Set<Long> inFlight = new HashSet<>();
    private final Queue<Long> heard = new ArrayBlockingQueue<>(MAX_HEARD);
    private final AtomicBoolean waking = new AtomicBoolean();
    private CutListener listener = (inode, sequence) -> {};

    /** Some were not heard of: all files are to be searched. */
    private volatile boolean missed;

    private boolean searching;
    private volatile @Nullable ScheduledFuture<?> ticks;

    /**
     * Counts the times this member has begun and ended to lead: answers of an earlier one are late.
     */
    private long tenure;

    private long cursor;

    public Truncator(
            EntryLog entries,
            ControlReader state,
            PgCalls calls,
            CurrentMap map,
            Control control,
            MdsMeters metrics) {
        this.entries = entries;
        this.state = state;
        this.calls = calls;
        this.map = map;
        this.control = control;
        this.metrics = metrics;
    }

    public void begin() {
        end();
        tenure++;
        missed = true;
        ticks = control.every(TICK_NANOS, this::tick);
    }

    public void end() {
        @Nullable ScheduledFuture<?> running = ticks;
        if (running != null) {
            running.cancel(false);
            ticks = null;
        }
        tenure++;
        inFlight.clear();
    }

    /** Once, before this member leads. */
    void attach(CutListener waiting) {
        listener = waiting;
    }

    /** Queues one task, however many truncations come before it runs. */
    @Override
    public void truncationPending(long inode) {
        remember(inode);
        if (ticks != null && waking.compareAndSet(false, true)) {
            control.execute(() -> {
                waking.set(false);
                takeHeard();
            });
        }
    }

    private void remember(long inode) {
        if (!heard.offer(inode)) {
            missed = true;
        }
    }

    /** A client waits for the cuts of this file: they begin even if there is no room for more. */
    void hurry(long inode) {
        if (ticks != null) {
            takeUp(inode);
        }
    }

    private void tick() {
        if (missed) {
            missed = false;
            heard.clear();
            searching = true;
            cursor = 0;
        }
        if (searching) {
            search();
        }
        takeHeard();
    }

    private void search() {
        int room = room();
        if (room > 0) {
            List<Attr> found = state.pendingTruncations(cursor, room);
            searching = found.size() == room;
            cursor = found.isEmpty() ? 0 : found.getLast().getInode();
            found.forEach(this::takeUp);
        }
    }

    private void takeHeard() {
        for (int room = room(); room > 0; room = room()) {
            @Nullable Long next = heard.poll();
            if (next == null) {
                return;
            }
            takeUp(next);
        }
    }

    private int room() {
        return ticks == null || map.get().pgs().isEmpty() ? 0 : MAX_IN_FLIGHT - inFlight.size();
    }

    private void takeUp(long inode) {
        @Nullable Attr file = state.attr(inode);
        if (file == null) {
            listener.cutsApplied(inode, Long.MAX_VALUE);
        } else {
            takeUp(file);
        }
    }

    private void takeUp(Attr file) {
        if (file.getPendingTruncationsCount() > 0
                && !map.get().pgs().isEmpty()
                && inFlight.add(file.getInode())) {
            truncate(file, file.getPendingTruncations(0));
        }
    }

    private void truncate(Attr file, Truncation cut) {
        truncate(file, cut, new HashSet<>(), mergedEpochs(file));
    }

    /** Changes with each merge in a pool of the file. */
    private long mergedEpochs(Attr file) {
        return calls.mergedEpoch(file.getLayout())
                + (file.getMovingPool() == 0 ? 0 : calls.mergedEpoch(file.getMovingPool()));
    }

    /**
     * @param asked PGs that have done it
     * @param mergedBefore as of when the first of them were asked
     */
    private void truncate(Attr file, Truncation cut, Set<Integer> asked, long mergedBefore) {
        long merged = mergedEpochs(file);
        if (merged != mergedBefore) {
            asked.clear(); // chunks may have come to them since
        }
        Set<Integer> left = new HashSet<>();
        pgs(file, cut).filter(asked::add).forEach(left::add);
        long mine = tenure;
        if (left.isEmpty()) {
            applied(mine, file.getInode(), cut.getSequence());
            return;
        }
        for (int pg : List.copyOf(left)) {
            calls.truncate(
                    pg,
                    file.getInode(),
                    file.getLayout(),
                    cut,
                    () -> tenure == mine,
                    () -> {
                        left.remove(pg);
                        if (left.isEmpty() && mine == tenure) {
                            // More, if a PG was split meanwhile; all, if two were merged.
                            truncate(file, cut, asked, merged);
                        }
                    });
        }
    }

    /** A fence goes to all chunks; a cut also to those that are being copied into another pool. */
    private IntStream pgs(Attr file, Truncation cut) {
        long inode = file.getInode();
        long ceiling = file.getSizeCeiling();
        FileLayout layout = file.getLayout();
        long from = cut.getFence() ? 0 : cut.getSize();
        IntStream pgs = calls.pgs(inode, layout, from, ceiling);
        if (file.getMovingPool() != 0 && !cut.getFence()) {
            FileLayout copy = layout.toBuilder().setPool(file.getMovingPool()).build();
            pgs = IntStream.concat(pgs, calls.pgs(inode, copy, from, ceiling));
        }
        return pgs;
    }

    private void applied(long when, long inode, long sequence) {
        if (when != tenure) {
            return;
        }
        listener.cutsApplied(inode, sequence); // true before the log says so
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setTruncated(
                                                TruncatedEntry.newBuilder()
                                                        .setInode(inode)
                                                        .setSequence(sequence)))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (when != tenure) {
                                        return;
                                    }
                                    inFlight.remove(inode);
                                    if (failure != null || reply.getErrno() != 0) {
                                        remember(inode); // with the next tick
                                        return;
                                    }
                                    metrics.truncated();
                                    listener.cutsApplied(inode, sequence); // to who asked since
                                    takeUp(inode); // there may be another
                                    takeHeard();
                                },
                                control);
    }
}
