package io.cairn.dataserver.store;

import io.cairn.dataserver.wal.Wal;

/**
 * How much of the log the flusher empties before it turns to what is newer. Where the log is
 * filling that is the oldest quarter of it, of all PGs: the last ones to be flushed would else keep
 * all segments until everything is in the index that had been logged by then, and whoever writes
 * would wait for that. Where there is room it is all: overwrites meet, and a PG is written to the
 * index for many operations at once. For the flusher.
 */
final class FlushStretch {
    private static final int PARTS = 4;

    private final Wal wal;
    private long end;
    private boolean emptied;

    FlushStretch(Wal wal) {
        this.wal = wal;
    }

    /**
     * Begins a round.
     *
     * @param trimmedLsn nothing up to here is needed any more
     * @param syncedLsn the newest that may be flushed
     */
    void begin(long trimmedLsn, long syncedLsn) {
        if (wal.fillRatio() < Flusher.INDEX_FLUSH_FILL) {
            end = syncedLsn;
        } else if (end <= trimmedLsn) {
            emptied = true;
            end = trimmedLsn;
            advance(trimmedLsn, syncedLsn);
        }
    }

    /** The newest that may be flushed before what follows. */
    long end() {
        return end;
    }

    /**
     * Nothing that may be flushed is left up to the end.
     *
     * @return whether there is more of the log
     */
    boolean next(long trimmedLsn, long syncedLsn) {
        emptied = true;
        boolean more = end < syncedLsn;
        advance(trimmedLsn, syncedLsn);
        return more;
    }

    private void advance(long trimmedLsn, long syncedLsn) {
        end = Math.min(syncedLsn, end + (syncedLsn - trimmedLsn) / PARTS + 1);
    }

    /** Whether there is as much to be trimmed as there will be, for now. */
    boolean isEmptied() {
        return emptied;
    }

    /** The index is durable. */
    void flushed() {
        emptied = false;
    }
}
