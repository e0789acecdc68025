package io.cairn.dataserver.wal;

/**
 * Notices when a log has been idle for a while and does not record yet that its last batch was
 * synced. For one thread; no clock of its own.
 */
final class IdleMark {
    /** After so long without an append the last batch gets its mark. */
    static final long IDLE_NANOS = 1_000_000_000;

    private long unmarkedLsn;
    private long unmarkedSinceNanos;

    /**
     * Whether the mark is due.
     *
     * @param nowNanos of any clock, always the same one
     */
    boolean due(long syncedLsn, long markedLsn, long nowNanos) {
        if (syncedLsn == markedLsn || syncedLsn != unmarkedLsn) {
            unmarkedLsn = syncedLsn;
            unmarkedSinceNanos = nowNanos;
            return false;
        }
        return nowNanos - unmarkedSinceNanos >= IDLE_NANOS;
    }
}
