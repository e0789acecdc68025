package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.Split;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One disk: WAL, extents and chunk index behind one door. The replication layer sees only this.
 *
 * <p>Threads: {@link #append}, {@link #commit} and {@link #dropTail} of one PG are called by the
 * thread that owns the PG, in order; different PGs may be owned by different threads. Nothing here
 * blocks on a device except {@link #entries}, {@link #check}, {@link #close} and opening; callbacks
 * come on the disk's own threads and must only hand over.
 */
public interface DiskStore extends LearnerStore, ScrubStore, AutoCloseable {
    /** Identity of the disk, new at each formatting. */
    UUID uuid();

    /**
     * Logs an operation. When it is durable, {@code durable} is called (in order within a PG; never
     * if it is dropped before). The operation is visible to reads from now on. A failed device
     * takes the disk out, see {@link DiskRuntime}; this call does not fail.
     *
     * <p>The caller has verified the block checksums of a WRITE: they are stored as they are, and a
     * wrong one makes the block unreadable. Throws IllegalArgumentException if the sequence is not
     * the next one, the epoch falls, or the operation is malformed.
     */
    void append(PgLogEntry entry, Runnable durable);

    /**
     * Logs a write as {@link #append} does, if the disk has room for it besides all that it has
     * promised; else nothing is logged and false returned. Others are always logged.
     */
    default boolean appendIfRoom(PgLogEntry entry, Runnable durable) {
        append(entry, durable);
        return true;
    }

    /**
     * Whether a write finds all of its blocks there, so that the disk has as much space after it as
     * before. May read the index; to be asked when space is short only.
     */
    default boolean overwrites(DataOp op) {
        return false;
    }

    /**
     * Whether the file system below has more for a disk that has less than it is to {@link
     * #keepAhead}: a write that finds no room will find some soon.
     */
    default boolean isGrowing() {
        return false;
    }

    /** The least that should be admissible at any time, as long as the file system has it. */
    default void keepAhead(long bytes) {}

    /** Whether operations in the log may need space until they are flushed. */
    default boolean isFlushing() {
        return false;
    }

    /** Every operation of the PG up to the sequence is committed: the flusher may take it. */
    void commit(int pg, long sequence);

    /**
     * A replica of the PG begins here. From now on it has a history of its own, if only of nothing:
     * what a split of another PG would give to it on this disk is removed instead.
     *
     * @param parent the PG of which it was made
     * @param parentIsHere whether the parent has a replica on this disk, so that a split that is
     *     logged may yet be committed
     * @return false if it cannot begin yet: a split that makes it is to be carried out first
     */
    default boolean begin(int pg, int parent, boolean parentIsHere) {
        return true;
    }

    /**
     * These PGs are to be split soon, if they are here: what they have in the log is flushed before
     * that of others, so that the split has little to wait for.
     */
    default void flushFirst(Set<Integer> pgs) {}

    /**
     * Whether the history of the parent here has the split. One that made an earlier PG of that
     * number is another one, and so is what may still be here of that PG.
     */
    default boolean hasSplit(int parent, Split split) {
        return true;
    }

    /**
     * Whether the history of the parent here has the merge by which the child goes back into it.
     *
     * @param epoch of the map that has said so
     */
    default boolean hasMerge(int parent, int child, long epoch) {
        return true;
    }

    /** Whether all of the PG is in the index, and its newest operation is of the epoch or newer. */
    default boolean isFlushedWhole(int pg, long epoch) {
        return false;
    }

    /** Whether that merge was carried out here, for good. */
    default boolean isMerged(int child, long epoch) {
        return false;
    }

    /** Whether a merge is logged here, and not carried out, which takes the PG in. */
    default boolean mayBeTakenIn(int child) {
        return false;
    }

    /** Whether a merge takes the PG in that is committed, and nothing of it is to be waited for. */
    default boolean isTakenIn(int child) {
        return false;
    }

    /**
     * PGs that are about to be taken in by a merge that is committed, and of which all that counts
     * is in the index: it waits until they are {@link #release released}.
     */
    default List<Integer> toRelease() {
        return List.of();
    }

    /** The owner of the PG lets go of it: nothing is logged of it, or asked, any more. */
    default void release(int child) {}

    /**
     * What is here of a PG that lives nowhere any more has been removed, or was never committed:
     * now its history is forgotten too, so that another one of its number can begin. Nobody owns
     * it.
     */
    default void end(int pg, Runnable done) {
        done.run();
    }

    /** Sequence of the oldest merge in the log of the PG that is not carried out; 0: none. */
    default long firstMerge(int pg) {
        return 0;
    }

    /** Epoch of the newest operation of the PG; 0 if there is none. */
    default long lastEpoch(int pg) {
        return logState(pg).lastEpoch();
    }

    /**
     * Removes the uncommitted operations after the sequence, durably; {@code done} is called then.
     * Throws IllegalArgumentException if one of them was committed.
     */
    void dropTail(int pg, long lastSequenceKept, Runnable done);

    /**
     * Reads a chunk as of all operations appended so far. Verifies every block's CRC32C. Calls back
     * on an I/O thread.
     */
    void read(int pg, long inode, int chunk, int offset, int length, ReadCallback callback);

    /**
     * Reads one block with the version of its chunk, for a replica whose own is damaged. Calls back
     * on an I/O thread.
     */
    void readBlock(int pg, long inode, int chunk, int block, BlockCallback callback);

    /**
     * Puts the content back that a damaged block must have: logged, and written over the block
     * later, in order with the chunk's operations. Never over anything newer.
     *
     * @param outcome told when it is durable or refused, on one of the disk's threads
     */
    void repair(int pg, BlockRepair repair, Consumer<RepairOutcome> outcome);

    /**
     * Sets who is told of blocks that the flusher finds damaged when it merges an operation into
     * them, and of those that a {@link #check} finds; a read reports damage to its caller. The
     * listener is called by the flusher, or by who checks.
     */
    void onDamage(DamageListener listener);

    /** The newest truncate sequence applied to the chunk or its inode in this PG, 0 if none. */
    long truncateSequence(int pg, long inode, int chunk);

    /** History of a PG, as of opening plus what was appended since. */
    PgLogState logState(int pg);

    /**
     * The operations after the sequence, for a member that lacks them, oldest first; blocks. Stops
     * when the payloads would exceed {@code maxBytes}, but gives at least one. The receiver
     * releases the payloads. Throws FsException: ENODATA if the log no longer reaches back to
     * {@code after}, EBADMSG if the first one's payload is damaged.
     */
    List<PgLogEntry> entries(int pg, long after, int maxBytes);

    /** All operations after the sequence: see {@link #entries(int, long, int)}. */
    default List<PgLogEntry> entries(int pg, long after) {
        return entries(pg, after, Integer.MAX_VALUE);
    }

    /** PGs this disk holds anything of. */
    List<Integer> pgs();

    /**
     * Bytes that may still be admitted for new writes: after headroom and all that is in the WAL,
     * and with what the file system below is expected to give. {@link #appendIfRoom} has the last
     * word.
     */
    long admissibleBytes();

    /**
     * How full the WAL is for writes. The replication layer delays admission as it nears 1, where
     * the WAL itself makes writes wait for the flusher (their callbacks come late, their memory is
     * held); deletes, truncations and NOOPs have segments in reserve.
     */
    double walFillRatio();

    DiskUsage usage();

    /** Damaged blocks whose repair operations in the log wait for. */
    default int waitingForRepair() {
        return 0;
    }

    /** What an administrator should know of the disk's space; one sentence each. */
    default List<String> warnings() {
        return List.of();
    }

    /** The chunk index, for what an administrator asks of it; at most one. */
    default List<RocksDatabase> databases() {
        return List.of();
    }

    /**
     * The disk hangs: nothing more is begun on it, and nothing that it does from now on makes an
     * operation durable. Never waits.
     */
    default void giveUp(String why) {}

    /** Told the admissible bytes whenever admission may resume after a shortage. */
    void onSpace(LongConsumer listener);

    @Override
    void close();

    /** Receives what was read. */
    interface ReadCallback {
        /**
         * @param data the bytes, possibly fewer than asked: what is missing at the end is zeros;
         *     the receiver releases it; null with a failure
         * @param blockCrcs CRC32C of data per 4 KiB-aligned block of the chunk (partial ones: of
         *     the bytes returned)
         */
        void done(@Nullable ByteBuf data, int[] blockCrcs, @Nullable CorruptBlockException failure);
    }

    /** Receives a block. */
    interface BlockCallback {
        /**
         * @param block null with a failure
         */
        void done(@Nullable VersionedBlock block, @Nullable CorruptBlockException failure);
    }

    /**
     * A verified block.
     *
     * @param content up to the end of the chunk; the receiver releases it
     */
    record VersionedBlock(ChunkVersion version, ByteBuf content) {}

    /** Hears of damaged blocks. */
    @FunctionalInterface
    interface DamageListener {
        void damaged(int pg, long inode, int chunk, int block);
    }

    /**
     * Bytes of the disk and its WAL.
     *
     * @param freeBytes not in use, and kept for this disk by the file system below or to be had
     *     from it as far as is known: with {@code usedBytes} less than the capacity where that has
     *     less
     */
    record DiskUsage(
            long capacityBytes,
            long usedBytes,
            long freeBytes,
            long walCapacityBytes,
            long walUsedBytes) {}
}
