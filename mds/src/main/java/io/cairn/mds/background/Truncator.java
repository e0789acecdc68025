package io.cairn.mds.background;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.PgCalls;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.metrics.MdsMetrics;
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
import org.jspecify.annotations.Nullable;

/**
 * Carries shrinks of files to all chunks they cut: sends each to the PGs of the chunks from the cut
 * to the ceiling, oldest first, and forgets it when all have answered. Hears of them one by one;
 * only what was there before its time in office, or is too much to be kept in mind, is looked for,
 * because the search walks over all that were carried out lately. The control thread only, except
 * for what it hears.
 */
public final class Truncator implements StateListener {
    /** Files kept in mind. */
    public static final int MAX_HEARD = 4096;

    /** Files worked on at a time. */
    private static final int MAX_UNDER_WAY = 256;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final EntryLog entries;
    private final ControlReader state;
    private final PgCalls calls;
    private final CurrentMap map;
    private final Control control;
    private final MdsMetrics metrics;
    private final Set<Long> underWay = new HashSet<>();
    private final Queue<Long> heard = new ArrayBlockingQueue<>(MAX_HEARD);

    /** Some were not heard of: all files are to be searched. */
    private volatile boolean missed;

    private boolean searching;
    private @Nullable ScheduledFuture<?> ticks;
    private long inOffice;
    private long cursor;

    public Truncator(
            EntryLog entries,
            ControlReader state,
            PgCalls calls,
            CurrentMap map,
            Control control,
            MdsMetrics metrics) {
        this.entries = entries;
        this.state = state;
        this.calls = calls;
        this.map = map;
        this.control = control;
        this.metrics = metrics;
    }

    public void begin() {
        end();
        inOffice++;
        missed = true;
        ticks = control.every(TICK_NANOS, this::tick);
    }

    public void end() {
        @Nullable ScheduledFuture<?> running = ticks;
        if (running != null) {
            running.cancel(false);
            ticks = null;
        }
        inOffice++;
        underWay.clear();
    }

    @Override
    public void truncationPending(long inode) {
        if (!heard.offer(inode)) {
            missed = true;
        }
    }

    private void tick() {
        int room = MAX_UNDER_WAY - underWay.size();
        if (room <= 0 || map.get().pgs().isEmpty()) {
            return;
        }
        if (missed) {
            missed = false;
            heard.clear();
            searching = true;
            cursor = 0;
        }
        if (searching) {
            List<Attr> found = state.pendingTruncations(cursor, room);
            searching = found.size() == room;
            cursor = found.isEmpty() ? 0 : found.getLast().getInode();
            found.forEach(this::takeUp);
            return;
        }
        for (int i = 0; i < room && !heard.isEmpty(); i++) {
            takeUp(heard.remove());
        }
    }

    private void takeUp(long inode) {
        @Nullable Attr file = state.attr(inode);
        if (file != null) {
            takeUp(file);
        }
    }

    private void takeUp(Attr file) {
        if (file.getPendingTruncationsCount() > 0 && underWay.add(file.getInode())) {
            truncate(file, file.getPendingTruncations(0));
        }
    }

    private void truncate(Attr file, Truncation cut) {
        FileLayout layout = file.getLayout();
        int[] pgs =
                calls.pgs(file.getInode(), layout, cut.getSize(), file.getSizeCeiling()).toArray();
        long mine = inOffice;
        if (pgs.length == 0) {
            applied(mine, file.getInode(), cut.getSequence());
            return;
        }
        Set<Integer> left = new HashSet<>();
        for (int pg : pgs) {
            left.add(pg);
        }
        for (int pg : pgs) {
            calls.call(
                    pg,
                    Method.TRUNCATE_INODE,
                    TruncateInodeRequest.newBuilder()
                            .setPg(pg)
                            .setMapEpoch(map.get().epoch())
                            .setInode(file.getInode())
                            .setSequence(cut.getSequence())
                            .setSize(cut.getSize())
                            .setStripeUnit(layout.getStripeUnit())
                            .setStripeCount(layout.getStripeCount())
                            .setChunkSize(layout.getChunkSize())
                            .build(),
                    () -> inOffice == mine,
                    reply -> {
                        left.remove(pg);
                        if (left.isEmpty()) {
                            applied(mine, file.getInode(), cut.getSequence());
                        }
                    });
        }
    }

    private void applied(long when, long inode, long sequence) {
        if (when != inOffice) {
            return;
        }
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setTruncated(
                                                TruncatedEntry.newBuilder()
                                                        .setInode(inode)
                                                        .setSequence(sequence)))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (when != inOffice) {
                                        return;
                                    }
                                    underWay.remove(inode);
                                    if (failure != null || reply.getErrno() != 0) {
                                        truncationPending(inode); // still
                                    } else {
                                        metrics.truncations().increment();
                                        takeUp(inode); // there may be another
                                    }
                                },
                                control);
    }
}
