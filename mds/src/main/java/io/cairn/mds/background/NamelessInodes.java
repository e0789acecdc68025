package io.cairn.mds.background;

import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.session.ReadOpens;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees files without a name that nobody has open: many with one entry of the log. Those that
 * somebody has open for reading are freed when they are closed. Nothing is freed while a session
 * may have files open that this leader has not been told of.
 *
 * <p>A file without a name gets none again, and no session can open it for reading that does not
 * have it open. So what was found unused stays so until the entry is applied, except where a
 * session opens it to write: such files the entry passes over.
 *
 * <p>The control thread only, except for what it hears.
 */
public final class NamelessInodes implements StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(NamelessInodes.class);

    /** Inodes that one entry frees: some milliseconds in which nothing else is applied. */
    static final int BATCH = 1000;

    private static final int PAGE = 4096;
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final EntryLog entries;
    private final ControlReader state;
    private final ReadOpens opens;
    private final Control control;

    /** To be looked at; may name one more than once. */
    private final Queue<Long> heard = new ConcurrentLinkedQueue<>();

    /** Those that somebody has open for reading. */
    private final Set<Long> read = ConcurrentHashMap.newKeySet();

    private @Nullable ScheduledFuture<?> ticks;
    private volatile boolean leads;
    private boolean freeing;

    /** Counts the times this member has begun and ended to lead. */
    private long tenure;

    public NamelessInodes(EntryLog entries, ControlReader state, ReadOpens opens, Control control) {
        this.entries = entries;
        this.state = state;
        this.opens = opens;
        this.control = control;
        opens.onClosed(this::closed);
    }

    /** On becoming leader: also those from before. */
    public void begin() {
        end();
        leads = true;
        List<Long> page = state.orphans(0, PAGE);
        while (!page.isEmpty()) {
            heard.addAll(page);
            page = state.orphans(page.getLast(), PAGE);
        }
        ticks = control.every(TICK_NANOS, this::tick);
    }

    public void end() {
        @Nullable ScheduledFuture<?> running = ticks;
        if (running != null) {
            running.cancel(false);
            ticks = null;
        }
        tenure++;
        leads = false;
        freeing = false;
        heard.clear();
        read.clear();
    }

    @Override
    public void nameless(long inode) {
        if (leads) {
            heard.add(inode);
        }
    }

    private void closed(long inode) {
        if (read.remove(inode)) {
            heard.add(inode);
        }
    }

    private void tick() {
        if (freeing || heard.isEmpty() || !opens.isComplete()) {
            return;
        }
        List<Long> unused = new ArrayList<>();
        while (unused.size() < BATCH) {
            @Nullable Long inode = heard.poll();
            if (inode == null) {
                break;
            }
            if (state.isUnused(inode) && isClosed(inode)) {
                unused.add(inode);
            }
        }
        if (!unused.isEmpty()) {
            free(unused);
        }
    }

    /** Else we are told when it is. */
    private boolean isClosed(long inode) {
        if (!opens.mayBeOpen(inode)) {
            return true;
        }
        read.add(inode);
        // It may have been closed before it was noted.
        return !opens.mayBeOpen(inode) && read.remove(inode);
    }

    private void free(List<Long> inodes) {
        freeing = true;
        long mine = tenure;
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setFreeInodes(
                                                FreeInodesEntry.newBuilder().addAllInodes(inodes)))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (mine != tenure) {
                                        return;
                                    }
                                    freeing = false;
                                    if (failure != null || reply.getErrno() != 0) {
                                        LOG.warn("files without a name are not freed yet", failure);
                                        heard.addAll(inodes);
                                    } else {
                                        tick();
                                    }
                                },
                                control);
    }
}
