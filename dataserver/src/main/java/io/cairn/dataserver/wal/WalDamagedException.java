package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DiskOpenException;

/**
 * A record that was synced can no longer be read and what it changed is unknown: the disk's history
 * has a hole, so the disk must not be used.
 */
public final class WalDamagedException extends DiskOpenException {
    private static final long serialVersionUID = 1;

    private final long lsn;

    public WalDamagedException(long lsn, String where) {
        super(
                "the write-ahead log is damaged: LSN "
                        + lsn
                        + " was synced but cannot be read ("
                        + where
                        + "); "
                        + KEEP_AS_IT_IS);
        this.lsn = lsn;
    }

    /** The first one that is lost. */
    public long lsn() {
        return lsn;
    }
}
