package io.cairn.dataserver.store;

import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.DataFile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Operations of a PG that the flusher passed over, because a block that it needs for them is
 * damaged. They stay in the WAL and in the overlay until the block is repaired or no longer needed.
 * What came later on the same inodes is here too, so that an inode is either in the index up to its
 * newest flushed operation, or none of its operations that are here is. Under the monitor of its
 * {@link PgStore}.
 */
final class DeferredOps {
    private final List<LoggedOp> ops = new ArrayList<>(0);
    private final Set<Long> inodes = new HashSet<>();
    private final Map<Long, Set<DamagedBlock>> damage = new HashMap<>();

    /** A block that an operation here needs. */
    record DamagedBlock(long inode, int chunk, int block) {
        /** Whether the operation makes what the block had before unnecessary, or may do so. */
        private boolean isCuredBy(LoggedOp o) {
            if (o.change() != null || !o.op().cuts().isEmpty()) {
                return true;
            }
            int start = block * DataFile.BLOCK_BYTES;
            int from = o.op().offset();
            int to = from + o.op().length();
            if (o.beginsChunk() && o.op().chunk() == chunk) {
                return true;
            }
            boolean whole = !o.isOperation() ? to > start : to >= start + DataFile.BLOCK_BYTES;
            return o.op().chunk() == chunk && from <= start && whole;
        }
    }

    /** The inodes that the operation changes. */
    static long[] inodesOf(LoggedOp o) {
        InodeChange change = o.change();
        if (change != null) {
            return change.inodes();
        }
        return o.op().type() == DataOpType.WRITE ? new long[] {o.op().inode()} : new long[0];
    }

    static boolean touches(LoggedOp o, Set<Long> some) {
        if (!some.isEmpty()) {
            for (long inode : inodesOf(o)) {
                if (some.contains(inode)) {
                    return true;
                }
            }
        }
        return false;
    }

    boolean isEmpty() {
        return ops.isEmpty();
    }

    /** In the order of the PG's history. */
    List<LoggedOp> ops() {
        return ops;
    }

    /** Inodes of which something is here. */
    Set<Long> inodes() {
        return inodes;
    }

    /** It follows all that is here. */
    void add(LoggedOp o) {
        ops.add(o);
        for (long inode : inodesOf(o)) {
            inodes.add(inode);
        }
    }

    /** Takes out what is in the index now, and returns it. */
    List<LoggedOp> release(Predicate<LoggedOp> kept) {
        List<LoggedOp> released = new ArrayList<>();
        ops.removeIf(o -> !kept.test(o) && released.add(o));
        inodes.clear();
        ops.forEach(o -> {
            for (long inode : inodesOf(o)) {
                inodes.add(inode);
            }
        });
        return released;
    }

    /** These blocks were found damaged now; those of inodes that are not here count no more. */
    void found(List<DamagedBlock> blocks, Set<Long> passedOver) {
        damage.keySet().retainAll(passedOver);
        blocks.forEach(b -> damage.remove(b.inode()));
        for (DamagedBlock b : blocks) {
            damage.computeIfAbsent(b.inode(), i -> new HashSet<>()).add(b);
        }
    }

    /** Whether it is worth trying again once this operation is flushed too. */
    boolean mayBeCuredBy(LoggedOp o) {
        for (long inode : inodesOf(o)) {
            for (DamagedBlock b : damage.getOrDefault(inode, Set.of())) {
                if (b.isCuredBy(o)) {
                    return true;
                }
            }
        }
        return false;
    }

    int damagedBlocks() {
        return damage.values().stream().mapToInt(Set::size).sum();
    }

    /** As the index is told of them; repairs are void after a crash. */
    static List<ChunkVersion> versions(List<LoggedOp> some) {
        return some.stream().filter(o -> !o.isRepair()).map(LoggedOp::name).toList();
    }
}
