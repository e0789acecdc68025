package io.cairn.dataserver.replication;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The free space of each disk of the cluster, as this server knows it: what the disk reported last,
 * less what this server has in flight to it. Writes are admitted against it before they get a
 * sequence, because every replica must take an operation that has one. Any thread; shared by all
 * PGs of a server.
 */
public final class SpaceLedger {
    private final ConcurrentHashMap<Integer, Account> accounts = new ConcurrentHashMap<>();
    private final AtomicLong inFlight = new AtomicLong();
    private final long reserveBytes;
    private final long maxInFlightBytes;
    private volatile long limitBytes = Long.MAX_VALUE;

    /**
     * @param reserveBytes kept back on every disk for what other servers have in flight to it
     * @param maxInFlightBytes of all uncommitted operations of this server
     */
    public SpaceLedger(long reserveBytes, long maxInFlightBytes) {
        this.reserveBytes = reserveBytes;
        this.maxInFlightBytes = maxInFlightBytes;
    }

    /** A disk reported its free space. */
    public void report(int disk, long admissibleBytes) {
        account(disk).admissible = admissibleBytes;
    }

    /**
     * Whether so many bytes more in flight are within this server's bound; with nothing in flight
     * they always are.
     */
    public boolean withinBound(long bytes) {
        long before = inFlight.get();
        return before == 0 || before + bytes <= Math.min(maxInFlightBytes, limitBytes);
    }

    /**
     * Bounds the bytes in flight by the logs too. Uncommitted operations cannot leave a log: if
     * those of all servers did not fit into the log of every disk at once, two disks could wait for
     * each other, each full of what the other one has no room for.
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
            if (a.admissible - a.inFlight.get() - reserveBytes < bytes) {
                return false;
            }
        }
        return true;
    }

    void charge(int[] disks, long bytes) {
        inFlight.addAndGet(bytes);
        for (int disk : disks) {
            account(disk).inFlight.addAndGet(bytes);
        }
    }

    void release(int[] disks, long bytes) {
        charge(disks, -bytes);
    }

    /** Bytes of uncommitted operations of this server. */
    public long inFlightBytes() {
        return inFlight.get();
    }

    private Account account(int disk) {
        Account a = accounts.get(disk);
        return a != null ? a : accounts.computeIfAbsent(disk, d -> new Account());
    }

    private static final class Account {
        private final AtomicLong inFlight = new AtomicLong();
        private volatile long admissible;
    }
}
