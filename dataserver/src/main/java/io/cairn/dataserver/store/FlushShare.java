package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.store.DeferredOps.DamagedBlock;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What one round of the flusher takes of one PG: the next operations, and perhaps those that were
 * deferred, to be tried again. For the flusher.
 */
final class FlushShare {
    private final PgStore pg;
    private final List<LoggedOp> deferred;
    private final List<LoggedOp> next;
    private Set<Long> passedOver;
    private List<DamagedBlock> damaged = List.of();

    /**
     * @param deferred tried again; empty if they are not
     * @param passedOver inodes that are not tried
     */
    FlushShare(PgStore pg, List<LoggedOp> deferred, List<LoggedOp> next, Set<Long> passedOver) {
        this.pg = pg;
        this.deferred = deferred;
        this.next = next;
        this.passedOver = passedOver;
    }

    PgStore pg() {
        return pg;
    }

    /** The next operations of the PG, in order. */
    List<LoggedOp> next() {
        return next;
    }

    /** The split, or the merge, of the share, which has nothing else then; null if it has none. */
    @Nullable LoggedOp turn(Class<? extends InodeChange> kind) {
        return !next.isEmpty() && kind.isInstance(next.getFirst().change())
                ? next.getFirst()
                : null;
    }

    /** All that is tried, in order. */
    List<LoggedOp> candidates() {
        List<LoggedOp> all = new ArrayList<>(deferred);
        all.addAll(next);
        return all;
    }

    boolean isEmpty() {
        return next.isEmpty() && deferred.isEmpty();
    }

    /** Inodes of which nothing comes into the index in this round. */
    Set<Long> passedOver() {
        return passedOver;
    }

    List<DamagedBlock> damaged() {
        return damaged;
    }

    /** The inodes of these blocks cannot be merged, nor whatever shares an operation with them. */
    void passOver(List<DamagedBlock> blocks) {
        List<DamagedBlock> all = new ArrayList<>(damaged);
        all.addAll(blocks);
        damaged = all;
        Set<Long> inodes = new HashSet<>(passedOver);
        blocks.forEach(b -> inodes.add(b.inode()));
        passedOver = inodes;
    }

    /** What is to be merged: whole operations, and all or none of an inode. */
    List<LoggedOp> batch() {
        List<LoggedOp> all = candidates();
        if (passedOver.isEmpty()) {
            return all;
        }
        Set<Long> inodes = new HashSet<>(passedOver);
        int before;
        do {
            before = inodes.size();
            for (LoggedOp o : all) {
                if (DeferredOps.touches(o, inodes)) {
                    for (long inode : DeferredOps.inodesOf(o)) {
                        inodes.add(inode);
                    }
                }
            }
        } while (inodes.size() > before);
        passedOver = inodes;
        all.removeIf(this::keeps);
        return all;
    }

    /** Whether the operation, of the next or deferred ones, stays out of the index. */
    boolean keeps(LoggedOp o) {
        return DeferredOps.touches(o, passedOver);
    }
}
