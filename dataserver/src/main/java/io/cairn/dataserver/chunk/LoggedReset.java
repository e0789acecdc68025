package io.cairn.dataserver.chunk;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.wal.WalRecord;
import java.util.List;

/** A RESET that is logged, or about to be, and not yet in the index. Any thread. */
public final class LoggedReset extends LoggedOp {
    private final List<Answered> answered;

    public LoggedReset(WalRecord record, long order, List<Answered> answered) {
        super(record, null, order);
        this.answered = List.copyOf(answered);
    }

    /** The numbers that are answered from here on; those known before count no more. */
    public List<Answered> answered() {
        return answered;
    }
}
