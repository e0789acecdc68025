package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/** An operation that is in the WAL and not yet in the index. Immutable. */
public record LoggedOp(WalRecord record, @Nullable InodeChange change) {
    public long sequence() {
        return record.sequence();
    }

    public DataOp op() {
        return record.op();
    }
}
