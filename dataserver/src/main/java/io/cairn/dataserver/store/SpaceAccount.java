package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.DataFile;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Blocks that may still be promised to writes: free ones, less the headroom, less what operations
 * in the WAL may need. Each needs at most every block it touches anew. Free are only blocks whose
 * space the file system keeps, see {@link SpaceKeeper}. Any thread.
 */
final class SpaceAccount {
    /**
     * Blocks of a large write that it has in part: they are merged, the others have their place.
     */
    static final int MAX_EDGES = 2;

    private static final long MAX_SHORTAGE_BYTES = 256L << 20;

    /**
     * What the index may take for an operation and for each of its blocks: the new versions of two
     * groups of blocks. What RocksDB needs to compact them is of the minimum that stays free.
     */
    private static final long INDEX_BYTES_OF_OPERATION = 2048;

    private static final long INDEX_BYTES_OF_BLOCK = 32;

    private final BlockAllocator allocator;
    private final long headroomBlocks;
    private final AtomicLong promised = new AtomicLong();
    private final AtomicLong promisedOps = new AtomicLong();
    private volatile boolean fileSystemFull;
    private volatile boolean growing;
    private volatile long expectedBytes;
    private volatile long demandBytes;
    private volatile long aheadBytes;
    private volatile long roomBytes = Long.MAX_VALUE;

    SpaceAccount(BlockAllocator allocator, long headroomBytes) {
        this.allocator = allocator;
        this.headroomBlocks = (headroomBytes + DataFile.BLOCK_BYTES - 1) / DataFile.BLOCK_BYTES;
    }

    /** The most blocks the flusher may have to allocate for the operation. */
    static int blocksOf(LoggedOp logged) {
        return logged.isDirect() ? MAX_EDGES + logged.op().cuts().size() : blocksOf(logged.op());
    }

    /** Of one whose payload is, or will be, in the log. */
    static int blocksOf(DataOp op) {
        if (op.type() != DataOpType.WRITE) {
            return op.type() == DataOpType.TRUNCATE_INODE ? 1 : 0;
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
    private long shortageBytes() {
        return Math.min(MAX_SHORTAGE_BYTES, allocator.blocks() / 8 * DataFile.BLOCK_BYTES);
    }

    void promise(LoggedOp op) {
        promised.addAndGet(blocksOf(op));
        promisedOps.incrementAndGet();
    }

    void settle(LoggedOp op) {
        promised.addAndGet(-blocksOf(op));
        promisedOps.decrementAndGet();
    }

    /** It is in the log otherwise than it was promised. */
    void change(int blocksBefore, int blocksNow) {
        promised.addAndGet(blocksNow - blocksBefore);
    }

    /**
     * Promises blocks if there are any: also those of half of the headroom, because a primary that
     * asks has done so by an older word of this disk. The other half is for truncations.
     *
     * @return whether they are promised, until {@link #unpledge}
     */
    boolean pledge(int blocks) {
        while (true) {
            long before = promised.get(); // first: what is allocated is settled afterwards
            long left = allocator.freeBlocks() - headroomBlocks / 2 - before;
            if (roomBytes != Long.MAX_VALUE) {
                left = Math.min(left, roomBytes / DataFile.BLOCK_BYTES - before);
            }
            if (left < blocks) {
                return false;
            }
            if (promised.compareAndSet(before, before + blocks)) {
                return true;
            }
        }
    }

    /** Whether something is promised that is not flushed. */
    boolean isPromised() {
        return promised.get() > 0;
    }

    /** What was pledged is promised to an operation now. */
    void unpledge(int blocks) {
        promised.addAndGet(-blocks);
    }

    /** What the index may grow by when all operations in the WAL are flushed. */
    long promisedIndexBytes() {
        return promisedOps.get() * INDEX_BYTES_OF_OPERATION + promised.get() * INDEX_BYTES_OF_BLOCK;
    }

    /** Whether the file system of the index is too full to admit anything. */
    void fileSystemFull(boolean full) {
        fileSystemFull = full;
    }

    /**
     * What the file system of the data file has left, where it cannot keep space for it: no more is
     * promised. MAX_VALUE where it can.
     */
    void room(long bytes) {
        roomBytes = bytes;
    }

    /**
     * @param more whether the file system has room for more of the data file than is kept now
     * @param aheadBytes what is kept ahead of need while it has
     */
    void growing(boolean more, long aheadBytes) {
        this.aheadBytes = aheadBytes;
        growing = more;
    }

    /**
     * What will be kept besides when it is needed, as far as can be seen: primaries may count on
     * it, and wait for it if it comes late.
     */
    void expected(long bytes) {
        expectedBytes = bytes;
    }

    /** Whether what is admitted will be more soon, without anything being written or deleted. */
    boolean isGrowing() {
        return growing && !fileSystemFull && unpromisedBlocks() * DataFile.BLOCK_BYTES < aheadBytes;
    }

    /** See {@link DiskStore#keepAhead}. */
    void keepAhead(long bytes) {
        demandBytes = bytes;
    }

    /** The least that should be admissible as long as the file system has it. */
    long demandBytes() {
        return demandBytes;
    }

    /** What primaries are told: what can be promised now, and what is expected. */
    long toldBytes() {
        return fileSystemFull ? 0 : admissibleBytes() + expectedBytes;
    }

    /** Whether it is time to save space: little can be promised, and there is no more to come. */
    boolean isShort() {
        return !growing && admissibleBytes() < Math.max(headroomBytes(), shortageBytes());
    }

    /** Less than 0 if more was promised than there is. */
    long unpromisedBlocks() {
        long before = promised.get(); // first: what is allocated is settled afterwards
        return allocator.freeBlocks() - headroomBlocks - before;
    }

    long admissibleBytes() {
        if (fileSystemFull) {
            return 0;
        }
        long bytes = unpromisedBlocks() * DataFile.BLOCK_BYTES;
        long room = roomBytes;
        if (room != Long.MAX_VALUE) {
            bytes = Math.min(bytes, room - promised.get() * DataFile.BLOCK_BYTES);
        }
        return Math.max(0, bytes);
    }
}
