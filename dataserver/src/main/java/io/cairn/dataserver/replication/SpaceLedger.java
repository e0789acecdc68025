package io.cairn.dataserver.replication;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What each disk of the cluster still takes, as this server knows it: the last word of the disk
 * less what this server has under way to it. Writes are admitted against it before they get a
 * sequence, because once they have one every replica must take them. Any thread; shared by all PGs
 * of a server.
 */
public final class SpaceLedger {
    private final ConcurrentHashMap<Integer, Account> accounts = new ConcurrentHashMap<>();
    private final AtomicLong underWay = new AtomicLong();
    private final long reserveBytes;
    private final long maxUnderWayBytes;
    private volatile long limitBytes = Long.MAX_VALUE;

    /**
     * @param reserveBytes kept back on every disk for what other servers have under way to it
     * @param maxUnderWayBytes of all uncommitted operations of this server
     */
    public SpaceLedger(long reserveBytes, long maxUnderWayBytes) {
        this.reserveBytes = reserveBytes;
        this.maxUnderWayBytes = maxUnderWayBytes;
    }

    /** A disk said what it takes. */
    public void report(int disk, long admissibleBytes) {
        account(disk).admissible = admissibleBytes;
    }

    /**
     * Whether so many bytes more under way are within this server's bound; the first ones always
     * are.
     */
    public boolean withinBound(long bytes) {
        long before = underWay.get();
        return before == 0 || before + bytes <= Math.min(maxUnderWayBytes, limitBytes);
    }

    /**
     * Bounds what is under way by the logs too. Uncommitted operations cannot leave a log: if those
     * of all servers did not fit into the log of every disk at once, two disks could wait for each
     * other, each full of what the other one has no room for.
     *
     * @param logBytes of a disk that operations may fill
     * @param servers whose operations it takes
     */
    public void shareOfLog(long logBytes, int servers) {
        // A quarter is for what the log loses at the ends of pages and segments.
        limitBytes = logBytes / 4 * 3 / Math.max(1, servers);
    }

    /** Whether every disk takes so many bytes more. */
    public boolean fits(int[] disks, long bytes) {
        for (int disk : disks) {
            Account a = account(disk);
            if (a.admissible - a.underWay.get() - reserveBytes < bytes) {
                return false;
            }
        }
        return true;
    }

    void charge(int[] disks, long bytes) {
        underWay.addAndGet(bytes);
        for (int disk : disks) {
            account(disk).underWay.addAndGet(bytes);
        }
    }

    void release(int[] disks, long bytes) {
        charge(disks, -bytes);
    }

    /** Bytes of uncommitted operations of this server. */
    public long underWayBytes() {
        return underWay.get();
    }

    private Account account(int disk) {
        Account a = accounts.get(disk);
        return a != null ? a : accounts.computeIfAbsent(disk, d -> new Account());
    }

    private static final class Account {
        private final AtomicLong underWay = new AtomicLong();
        private volatile long admissible;
    }
}
