package io.cairn.dataserver.replication;

import io.cairn.dataserver.store.PgLogEntry;

/**
 * One operation as the primary sends it to a backup (layout: {@link PrepareFormat}).
 *
 * @param pgEpoch epoch of the sending primary; the entry's own epoch may be older when it is sent
 *     again
 * @param previousEpoch epoch of the operation before this one: where it differs at the receiver,
 *     the histories differ (the consistency check of Raft's AppendEntries, Ongaro and Ousterhout,
 *     2014, section 5.3); {@link #UNKNOWN} to a learner, whose history is known to be the beginning
 *     of the primary's
 * @param committedSequence everything up to here is durable on every in-sync member
 */
public record Prepare(
        int targetDisk,
        long pgEpoch,
        long previousEpoch,
        long committedSequence,
        PgLogEntry entry) {
    static final long UNKNOWN = PgHistory.NONE;
}
