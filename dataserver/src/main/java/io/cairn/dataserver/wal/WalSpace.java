package io.cairn.dataserver.wal;

/** How full a log is, and what of it may be used again. Any thread asks; the flusher trims. */
final class WalSpace {
    /**
     * About 120 MB of heap; reached before the bytes only by records below 3 KiB in 1 GiB of log.
     */
    private static final long MAX_RECORDS = 400_000;

    private final WalSegments segments;
    private final WalAppender appender;
    private final WalSync sync;
    private volatile long trimmedLsn;

    WalSpace(WalSegments segments, WalAppender appender, WalSync sync, long trimmedLsn) {
        this.segments = segments;
        this.appender = appender;
        this.sync = sync;
        this.trimmedLsn = trimmedLsn;
    }

    /** Everything up to the LSN is durable in the index: its segments may be used again. */
    void trim(long trimLsn) {
        segments.recycle(trimLsn);
        trimmedLsn = trimLsn;
    }

    /** By bytes, or by records, of which each also takes some heap until it is flushed. */
    double fillRatio() {
        return Math.max(
                (double) usedBytes() / capacityBytes(),
                (double) (sync.syncedLsn() - trimmedLsn) / MAX_RECORDS);
    }

    long usedBytes() {
        long before = Math.max(0, segments.liveCount() - 1);
        return before * segments.segmentBytes() + sync.position() + appender.queuedBytes();
    }

    /** With what is kept in reserve. */
    long freeBytes() {
        return (long) segments.count() * segments.segmentBytes() - usedBytes();
    }

    long capacityBytes() {
        return (long) segments.usable() * segments.segmentBytes();
    }
}
