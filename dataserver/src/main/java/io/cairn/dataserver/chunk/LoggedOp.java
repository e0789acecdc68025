package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/**
 * An operation that is in the WAL and not yet in the index. Immutable.
 *
 * @param change what it does to whole inodes; null for one on a single chunk
 * @param order place among the logged operations of its PG: unlike a sequence never given twice,
 *     and a repair has its own
 */
public record LoggedOp(WalRecord record, @Nullable InodeChange change, long order) {
    public long sequence() {
        return record.sequence();
    }

    public DataOp op() {
        return record.op();
    }

    /**
     * Whether it only puts the content back that a block must have as of its sequence, and is no
     * operation of the PG's history.
     */
    public boolean isRepair() {
        return record.repair();
    }
}
