package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import io.cairn.dataserver.wal.LearnerStep.CopyInode;
import io.cairn.dataserver.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/**
 * An operation, repair or step of a learner that is logged, or about to be, and not yet in the
 * index. Any thread.
 */
public sealed class LoggedOp permits LoggedReset {
    private final @Nullable InodeChange change;
    private final long order;
    private volatile WalRecord record;

    /**
     * @param change what it does to whole inodes; null for one on a single chunk
     * @param order place among the logged operations of its PG: unlike a sequence never given
     *     twice, and a repair or step has its own
     */
    public LoggedOp(WalRecord record, @Nullable InodeChange change, long order) {
        this.record = record;
        this.change = change;
        this.order = order;
    }

    public WalRecord record() {
        return record;
    }

    /** It is in the WAL now. Under the lock of its owner. */
    public void logged(WalRecord logged) {
        record = logged;
    }

    public @Nullable InodeChange change() {
        return change;
    }

    public long order() {
        return order;
    }

    public long sequence() {
        return record.sequence();
    }

    public DataOp op() {
        return record.op();
    }

    /** Whether the payload of a large write is in the data file already. */
    public boolean isDirect() {
        return !record.extents().isEmpty();
    }

    /**
     * Whether it only puts the content back that a block must have as of its sequence, and is no
     * operation of the PG's history.
     */
    public boolean isRepair() {
        return record.repair();
    }

    /** Whether it is an operation of the PG's history. */
    public boolean isOperation() {
        return record.isOperation();
    }

    /** Null unless it is a step of a learner. */
    public @Nullable LearnerStep step() {
        return record.step();
    }

    /** Whether what was there of a chunk, or a part of it, does not count any more. */
    public boolean beginsChunk() {
        return record.step() instanceof Copy c && c.begins();
    }

    /**
     * The version that it gives to a chunk, null if it leaves that as it is. A chunk that was
     * copied in part has that of none: its content is nobody's.
     */
    @Nullable ChunkVersion version() {
        return switch (record.step()) {
            case null ->
                    record.repair() ? null : new ChunkVersion(record.epoch(), record.sequence());
            case Copy c -> copied(c.end());
            case CopyInode i -> i.clears() ? ChunkVersion.NONE : null;
            case LearnerStep.Reset _ -> null;
            case LearnerStep.Completed _ -> null;
            case LearnerStep.CopiedTo _ -> null;
        };
    }

    private static ChunkVersion copied(@Nullable CopyEnd end) {
        return end == null ? ChunkVersion.NONE : new ChunkVersion(end.epoch(), end.sequence());
    }

    /** How the index names it while it is deferred: operations have an epoch, steps a number. */
    public ChunkVersion name() {
        LearnerStep step = record.step();
        return step == null
                ? new ChunkVersion(record.epoch(), record.sequence())
                : new ChunkVersion(0, step.number());
    }
}
