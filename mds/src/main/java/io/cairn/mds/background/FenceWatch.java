package io.cairn.mds.background;

import io.cairn.common.proto.Attr;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.MoveEndedEntry;
import io.cairn.mds.store.StateListener;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends moves of files whose chunks refuse clients for too long: who moves the file may have died,
 * or is slower than it thought, and clients wait. It begins anew if it is still there. The control
 * thread only, except for what it hears. Since when a fence stands is the leader's own knowledge: a
 * new one counts anew.
 */
public final class FenceWatch implements StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(FenceWatch.class);

    /** How long a program that reads or writes waits at most, with one tick and one commit. */
    static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(3);

    private static final int PAGE = 4096;

    private final EntryLog entries;
    private final ControlReader state;
    private final NanoClock clock;

    /** By inode. */
    private final Map<Long, Fence> fences = new HashMap<>();

    private final Queue<Long> heard = new ConcurrentLinkedQueue<>();
    private volatile boolean leads;
    private boolean searched;

    private record Fence(long sequence, long sinceNanos) {}

    public FenceWatch(EntryLog entries, ControlReader state, NanoClock clock) {
        this.entries = entries;
        this.state = state;
        this.clock = clock;
    }

    public void begin() {
        end();
        leads = true;
    }

    public void end() {
        leads = false;
        searched = false;
        fences.clear();
        heard.clear();
    }

    @Override
    public void fenced(long inode) {
        if (leads) {
            heard.add(inode);
        }
    }

    /** Looks at all fences; those from before this member led are searched once. */
    public void tick() {
        long now = clock.nanos();
        if (!searched) {
            searched = true;
            search();
        }
        for (Long inode = heard.poll(); inode != null; inode = heard.poll()) {
            fences.putIfAbsent(inode, new Fence(0, now));
        }
        for (long inode : List.copyOf(fences.keySet())) {
            @Nullable Attr file = state.attr(inode);
            if (file == null || !file.getFenced()) {
                fences.remove(inode);
            } else {
                fences.put(inode, look(file, now));
            }
        }
    }

    private void search() {
        List<Attr> page = state.moves(0, PAGE);
        while (!page.isEmpty()) {
            page.forEach(file -> heard.add(file.getInode()));
            page = state.moves(page.getLast().getInode(), PAGE);
        }
    }

    private Fence look(Attr file, long now) {
        @Nullable Fence known = fences.get(file.getInode());
        if (known == null || known.sequence != file.getTruncateSequence()) {
            return new Fence(file.getTruncateSequence(), now);
        }
        if (now - known.sinceNanos < LIMIT_NANOS) {
            return known;
        }
        LOG.info(
                "Inode {} is not moved to pool {} yet: its last changes were not copied in time,"
                        + " and clients wait",
                file.getInode(),
                file.getMovingPool());
        var _ =
                entries.submit(
                        LogEntry.newBuilder()
                                .setMoveEnded(
                                        MoveEndedEntry.newBuilder()
                                                .setInode(file.getInode())
                                                .setFence(known.sequence)));
        return new Fence(known.sequence, now); // should it not be logged
    }
}
