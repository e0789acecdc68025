package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/** An operation that is logged, or about to be, and not yet in the index. Any thread. */
public final class LoggedOp {
    private final @Nullable InodeChange change;
    private final long order;
    private volatile WalRecord record;

    /**
     * @param change what it does to whole inodes; null for one on a single chunk
     * @param order place among the logged operations of its PG: unlike a sequence never given
     *     twice, and a repair has its own
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
}
