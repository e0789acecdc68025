package io.cairn.dataserver.chunk;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The logged operations of one PG by the chunks they change. Used under the lock of its owner.
 * Operations on whole inodes also concern chunks that only the index knows.
 */
public final class PgOverlay {
    /** Asks the index; only when truncations or repairs are at work. */
    @FunctionalInterface
    public interface Base {
        /** Null if the chunk does not exist. */
        @Nullable ChunkHead head(long inode, int chunk);
    }

    private final Base base;
    private final Map<Long, InodeOverlay> inodes = new HashMap<>();

    public PgOverlay(Base base) {
        this.base = base;
    }

    /** Operations on an inode as a whole, and its chunks that are in the WAL. */
    private static final class InodeOverlay {
        private final List<LoggedOp> whole = new ArrayList<>(0);
        private final Map<Integer, ChunkOverlay> chunks = new HashMap<>(4);

        boolean isEmpty() {
            return whole.isEmpty() && chunks.isEmpty();
        }
    }

    /** A repair of a chunk that is not here is void, and passed over. */
    public void add(LoggedOp op) {
        if (op.isRepair() && !hasChunk(op.op().inode(), op.op().chunk())) {
            return;
        }
        InodeChange change = op.change();
        switch (op.op().type()) {
            case WRITE -> chunk(op.op().inode(), op.op().chunk()).add(op);
            case TRUNCATE_INODE, DELETE_INODES -> {
                if (change != null) {
                    for (long inode : change.inodes()) {
                        InodeOverlay o = inode(inode);
                        o.whole.add(op);
                        o.chunks.values().forEach(c -> c.add(op));
                    }
                }
            }
            case NOOP, SPLIT, MERGE, READ -> {}
        }
    }

    /** The operations are in the index now: forgets them. */
    public void removeFlushed(List<LoggedOp> ops) {
        if (!ops.isEmpty()) {
            long last = ops.getLast().order();
            remove(ops, c -> c.removeUpTo(last), o -> o.order() <= last);
        }
    }

    /** The operations were dropped: forgets them. */
    public void removeDropped(List<LoggedOp> ops) {
        if (!ops.isEmpty()) {
            long first = ops.getFirst().order();
            remove(ops, c -> c.removeFrom(first), o -> o.order() >= first);
        }
    }

    /** These operations, each on a single chunk, are void: forgets them. */
    public void removeVoid(List<LoggedOp> ops) {
        remove(ops, c -> c.remove(ops), o -> false);
    }

    /**
     * Not so where a split has taken the chunk to another PG, or it was cut off: a repair that was
     * logged before must not bring it into being again.
     */
    private boolean hasChunk(long inode, int chunk) {
        ChunkHead head = base.head(inode, chunk);
        int length = head == null ? 0 : head.lengthBytes();
        return view(inode, chunk, 0, 0).length(length) > 0;
    }

    /** What a read of bytes [from, to) finds here. */
    public ChunkOverlay.View view(long inode, int chunk, int from, int to) {
        ChunkOverlay c = find(inode, chunk);
        return c == null ? ChunkOverlay.View.EMPTY : c.view(from, to);
    }

    /**
     * The newest truncation of an inode as a whole.
     *
     * @param whole what is logged of the inode as a whole, oldest first
     * @param baseSequence what the index says
     */
    public static long inodeTruncateSequence(List<LoggedOp> whole, long baseSequence) {
        long newest = baseSequence;
        for (LoggedOp op : whole) {
            newest =
                    switch (op.change()) {
                        case null -> newest;
                        case InodeChange.Truncate t -> Math.max(newest, t.sequence());
                        case InodeChange.Copied c -> c.truncateSequence();
                        case InodeChange.Delete _ -> 0;
                        case InodeChange.Divided _ -> newest;
                        case InodeChange.United _ -> newest;
                    };
        }
        return newest;
    }

    /** The inodes of which anything is here. */
    public Set<Long> inodes() {
        return inodes.keySet();
    }

    /** The chunks of an inode that are written here. */
    public Set<Integer> chunks(long inode) {
        InodeOverlay o = inodes.get(inode);
        return o == null ? Set.of() : o.chunks.keySet();
    }

    /** Operations on the inode as a whole, oldest first. */
    public List<LoggedOp> whole(long inode) {
        InodeOverlay o = inodes.get(inode);
        return o == null ? List.of() : o.whole;
    }

    /** The overlay of a chunk that may be known only to the index; null if nothing changes it. */
    public @Nullable ChunkOverlay find(long inode, int chunk) {
        InodeOverlay o = inodes.get(inode);
        if (o == null) {
            return null;
        }
        ChunkOverlay c = o.chunks.get(chunk);
        return c != null || o.whole.isEmpty() ? c : fromWhole(inode, chunk, o);
    }

    private ChunkOverlay chunk(long inode, int chunk) {
        InodeOverlay o = inode(inode);
        return o.chunks.computeIfAbsent(chunk, c -> fromWhole(inode, c, o));
    }

    private ChunkOverlay fromWhole(long inode, int chunk, InodeOverlay o) {
        ChunkOverlay c =
                new ChunkOverlay(chunk, () -> ChunkHead.truncateSequence(base.head(inode, chunk)));
        o.whole.forEach(c::add);
        return c;
    }

    private InodeOverlay inode(long inode) {
        return inodes.computeIfAbsent(inode, i -> new InodeOverlay());
    }

    private void remove(
            List<LoggedOp> ops, Predicate<ChunkOverlay> emptied, Predicate<LoggedOp> gone) {
        Set<ChunkId> chunks = new HashSet<>();
        Set<Long> wholes = new HashSet<>();
        for (LoggedOp op : ops) {
            InodeChange change = op.change();
            if (change == null) {
                chunks.add(new ChunkId(op.op().inode(), op.op().chunk()));
            } else {
                for (long inode : change.inodes()) {
                    wholes.add(inode);
                }
            }
        }
        for (ChunkId id : chunks) {
            InodeOverlay o = inodes.get(id.inode());
            if (o != null && !wholes.contains(id.inode())) {
                ChunkOverlay c = o.chunks.get(id.chunk());
                if (c != null && emptied.test(c)) {
                    o.chunks.remove(id.chunk());
                }
                removeIfEmpty(id.inode(), o);
            }
        }
        for (long inode : wholes) {
            InodeOverlay o = inodes.get(inode);
            if (o != null) {
                o.whole.removeIf(gone);
                o.chunks.values().removeIf(emptied);
                removeIfEmpty(inode, o);
            }
        }
    }

    private void removeIfEmpty(long inode, InodeOverlay o) {
        if (o.isEmpty()) {
            inodes.remove(inode);
        }
    }
}
