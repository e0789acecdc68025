package io.cairn.dataserver.store;

import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.DataFile;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Blocks that may still be promised to writes: free ones, less the headroom, less what operations
 * in the WAL may need. Each needs at most every block it touches anew. Any thread.
 */
final class SpaceAccount {
    /**
     * Blocks of a large write that it has in part: they are merged, the others have their place.
     */
    static final int MAX_EDGES = 2;

    private static final long MAX_SHORTAGE_BYTES = 256L << 20;

    private final BlockAllocator allocator;
    private final long headroomBlocks;
    private final AtomicLong promised = new AtomicLong();
    private volatile boolean fileSystemFull;

    SpaceAccount(BlockAllocator allocator, long headroomBytes) {
        this.allocator = allocator;
        this.headroomBlocks = (headroomBytes + DataFile.BLOCK_BYTES - 1) / DataFile.BLOCK_BYTES;
    }

    /** The most blocks the flusher may have to allocate for the operation. */
    static int blocksOf(LoggedOp logged) {
        var op = logged.op();
        if (op.type() != DataOpType.WRITE) {
            return op.type() == DataOpType.TRUNCATE_INODE ? 1 : 0;
        }
        if (logged.isDirect()) {
            return MAX_EDGES + op.cuts().size();
        }
        int touched =
                (op.offset() + op.length() + DataFile.BLOCK_BYTES - 1) / DataFile.BLOCK_BYTES
                        - op.offset() / DataFile.BLOCK_BYTES;
        return touched + op.cuts().size();
    }

    /** Of all of them together. */
    static int blocksOf(List<LoggedOp> ops) {
        return ops.stream().mapToInt(SpaceAccount::blocksOf).sum();
    }

    long headroomBytes() {
        return headroomBlocks * DataFile.BLOCK_BYTES;
    }

    /**
     * Below this many admissible bytes, freed blocks are made free at once: other servers keep a
     * reserve for what they have in flight, so they refuse writes before it is 0.
     */
    long shortageBytes() {
        return Math.min(MAX_SHORTAGE_BYTES, allocator.blocks() / 8 * DataFile.BLOCK_BYTES);
    }

    void promise(LoggedOp op) {
        promised.addAndGet(blocksOf(op));
    }

    void settle(LoggedOp op) {
        promised.addAndGet(-blocksOf(op));
    }

    /** Whether the file systems under index and data file are too full to admit anything. */
    void fileSystemFull(boolean full) {
        fileSystemFull = full;
    }

    long admissibleBytes() {
        if (fileSystemFull) {
            return 0;
        }
        long blocks = allocator.freeBlocks() - headroomBlocks - promised.get();
        return Math.max(0, blocks) * DataFile.BLOCK_BYTES;
    }
}
