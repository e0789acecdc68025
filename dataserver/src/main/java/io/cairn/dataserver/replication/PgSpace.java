package io.cairn.dataserver.replication;

import java.util.HashMap;
import java.util.Map;

/**
 * What one placement group has in flight, in the {@link SpaceLedger} of its server: all of it until
 * it is committed, and for each backup's disk what that disk has not acknowledged yet. The
 * acknowledgement says what the disk has left after it, and a member that is stuck keeps nothing of
 * what is left of the others. The own disk is asked itself and needs no account. Owner's thread
 * only.
 */
final class PgSpace {
    private final SpaceLedger ledger;

    /** Bytes by disk, without those that are 0. */
    private final Map<Integer, Long> unacknowledged = new HashMap<>();

    private long inFlightBytes;

    PgSpace(SpaceLedger ledger) {
        this.ledger = ledger;
    }

    /**
     * @param backups disks of the backups, to which it is sent
     */
    void charge(int[] backups, long bytes) {
        inFlightBytes += bytes;
        ledger.chargeTotal(bytes);
        for (int disk : backups) {
            change(disk, bytes);
        }
    }

    /** The disk has it durably, or will not be sent it. */
    void acknowledged(int disk, long bytes) {
        change(disk, -bytes);
    }

    /** Committed, or dropped. */
    void release(long bytes) {
        inFlightBytes -= bytes;
        ledger.chargeTotal(-bytes);
    }

    private void change(int disk, long bytes) {
        ledger.charge(disk, bytes);
        unacknowledged.merge(disk, bytes, (a, b) -> a + b == 0 ? null : Long.valueOf(a + b));
    }

    /** Bytes that are in flight, as they are charged. */
    long inFlightBytes() {
        return inFlightBytes;
    }

    /**
     * Whether so many bytes more are within what this server may have in flight, and what of it may
     * wait for each server that has a backup.
     */
    boolean withinBound(int[] backups, long bytes) {
        return ledger.withinBound(inFlightBytes, bytes) && ledger.withinShares(backups, bytes);
    }

    /** Whether a write of so many bytes more is within this server's window of each disk. */
    boolean withinWindow(int[] disks, long bytes) {
        for (int disk : disks) {
            if (!ledger.withinWindow(disk, unacknowledged.getOrDefault(disk, 0L), bytes)) {
                return false;
            }
        }
        return true;
    }
}
