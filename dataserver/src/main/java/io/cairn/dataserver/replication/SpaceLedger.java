package io.cairn.dataserver.replication;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The free space of each disk of the cluster, as this server knows it: what the disk reported last,
 * less what this server has in flight to it that the disk has not acknowledged. Writes are admitted
 * against it before they get a sequence, because every replica must take an operation that has one.
 * Any thread; shared by all PGs of a server.
 *
 * <p>The disk's last report may be old, as other servers write to it too. So each has at most a
 * window of the disk's space in flight to it, which shrinks with the space, and admits nothing that
 * the windows of all others could need: what arrives after the disk has become short is at most a
 * window of each server, because every answer after that says so. What others could have written
 * since the disk's last report is not counted on: a server that has heard nothing of a disk for
 * long begins with the smallest window. The clock is the caller's.
 */
public final class SpaceLedger {
    /** A request of the size that clients cut theirs to, with its edges. */
    private static final long MIN_WINDOW = (1 << 20) + (64 << 10);

    /** The window, as a share of the space that the disk reported. */
    private static final int MIN_WINDOWS = 64;

    /** More than others write to a disk in a second: 2 GiB, of fast SSDs. */
    private static final long BYTES_PER_SECOND = 2L << 30;

    /**
     * What a disk reported so long ago may have changed: deleted files, another server's writes.
     */
    private static final long FRESH_NANOS = 1_000_000_000;

    /** All windows together are at most an eighth of the space. */
    private static final int WINDOWS_PER_SERVER = 8;

    private final ConcurrentHashMap<Integer, Account> accounts = new ConcurrentHashMap<>();

    /** What the disks of each server have not acknowledged, by server. */
    private final ConcurrentHashMap<Integer, AtomicLong> servers = new ConcurrentHashMap<>();

    private final AtomicLong inFlight = new AtomicLong();
    private final long reserveBytes;
    private final long maxInFlightBytes;
    private volatile long logShareBytes = Long.MAX_VALUE;
    private volatile long memoryShareBytes = Long.MAX_VALUE;
    private volatile int serverCount = 1;
    private volatile long nowNanos;

    /**
     * @param reserveBytes kept back on every disk for what other servers have in flight to it
     * @param maxInFlightBytes of all uncommitted operations of this server
     */
    public SpaceLedger(long reserveBytes, long maxInFlightBytes) {
        this.reserveBytes = reserveBytes;
        this.maxInFlightBytes = maxInFlightBytes;
    }

    /** A disk reported its free space. */
    public void report(int disk, DiskSpace space) {
        account(disk).reported = new Reported(space, nowNanos);
    }

    /** To be told several times a second. */
    void tick(long now) {
        nowNanos = now;
    }

    /** The number of servers that may write to a disk, this one among them. */
    public void servers(int count) {
        serverCount = Math.max(1, count);
    }

    /** Which server has the disk. Until this is known, it counts as a server of its own. */
    public void place(int disk, int server) {
        account(disk).place(serverTotal(server));
    }

    /**
     * Whether so many bytes more in flight are within this server's window of the disk; with
     * nothing in flight to it they always are. A placement group may have as much of it as is left
     * for all others, as in {@link #withinBound}.
     *
     * @param pgBytes in flight to the disk of the placement group that asks
     */
    boolean withinWindow(int disk, long pgBytes, long bytes) {
        Account a = account(disk);
        long before = a.inFlight.get();
        long left = window(a) - before;
        return before == 0 || (bytes <= left && (pgBytes == 0 || pgBytes + bytes <= left));
    }

    private long window(Account a) {
        Reported reported = a.reported;
        double seconds = Math.max(0, nowNanos - reported.nanos) / 1e9;
        long sure = reported.space.admissibleBytes() - (long) (seconds * BYTES_PER_SECOND);
        return Math.max(MIN_WINDOW, sure / Math.max(MIN_WINDOWS, WINDOWS_PER_SERVER * serverCount));
    }

    /**
     * Whether so many bytes more in flight are within this server's bound; with nothing in flight
     * they always are. A placement group may have as much as is left for all others: one whose
     * backup is stuck gets half of the bound, two a third each, and something is always left for
     * those that make progress (dynamic thresholds, as Choudhury and Hahne, 1998, share the buffer
     * of a switch).
     *
     * @param pgBytes in flight of the placement group that asks
     */
    public boolean withinBound(long pgBytes, long bytes) {
        long before = inFlight.get();
        long left = boundBytes() - before;
        return before == 0 || (bytes <= left && (pgBytes == 0 || pgBytes + bytes <= left));
    }

    /**
     * Whether so many bytes more are within the share of the bound that may wait for one server:
     * three quarters, or all but one request of the size that clients cut theirs to. So a server
     * that falls silent, with all of its disks and whatever number of placement groups, leaves the
     * rest to the groups that it has no part in. With nothing in flight to a server it always is.
     * Where the bound is so small that large requests would not fit beside small ones, there are no
     * shares.
     *
     * @param backups disks that have to acknowledge it
     */
    boolean withinShares(int[] backups, long bytes) {
        long bound = boundBytes();
        long share = Math.max(bound / 2, Math.min(bound / 4 * 3, bound - MIN_WINDOW));
        if (share < MIN_WINDOW / 2 * 3) {
            return true;
        }
        for (int disk : backups) {
            long before = account(disk).serverBytes();
            if (before != 0 && before + bytes > share) {
                return false;
            }
        }
        return true;
    }

    /** What may be in flight at once, bytes. */
    public long boundBytes() {
        return Math.min(maxInFlightBytes, Math.min(logShareBytes, memoryShareBytes));
    }

    /**
     * Bounds the bytes in flight by memory too. A disk on which nothing becomes durable collects
     * what all servers have in flight, each operation once in the buffers of its log, and this
     * server also holds its own to send them again: servers + 1 times the bound. Twice the servers
     * and one allows for the ends of buffers that a record did not fit into.
     *
     * @param memoryBytes for operations in flight
     * @param servers that may send here, this one among them
     */
    public void shareOfMemory(long memoryBytes, int servers) {
        memoryShareBytes = memoryBytes / (2L * Math.max(1, servers) + 1);
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
        // An operation that waits for another log keeps its segment, and what came behind it, up to
        // twice what is in flight: all that was before it in one log may be behind it in the other.
        // The rest is for the ends of segments.
        logShareBytes = logBytes / 4 / Math.max(1, servers);
    }

    /**
     * Whether every disk takes so many bytes more, and others may have their windows of it. As much
     * again is left for overwrites.
     */
    public boolean fits(int[] disks, long bytes) {
        for (int disk : disks) {
            if (!fits(disk, bytes)) {
                return false;
            }
        }
        return true;
    }

    private boolean fits(int disk, long bytes) {
        Account a = account(disk);
        long others = (serverCount - 1) * Math.max(window(a), bytes);
        return left(a) - bytes >= 2 * Math.max(reserveBytes, others);
    }

    /**
     * Whether every disk takes so many bytes more of a write that leaves as much space as it found,
     * once it is flushed.
     */
    public boolean fitsOverwrite(int[] disks, long bytes) {
        for (int disk : disks) {
            Account a = account(disk);
            if (left(a) - bytes < (serverCount - 1) * Math.max(MIN_WINDOW, bytes)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether all disks that {@link #fits} refuses reported that they are growing. They keep twice
     * the {@link #demandBytes} of their server ahead of need, so a write that is not larger than
     * those of clients fits soon; where it does not, they do not grow for long.
     */
    boolean isGrowing(int[] disks, long bytes) {
        for (int disk : disks) {
            if (!fits(disk, bytes) && !account(disk).reported.space.growing()) {
                return false;
            }
        }
        return bytes <= MIN_WINDOW;
    }

    /**
     * What a disk has to have, so that a write of the size that clients cut theirs to is not
     * refused while nothing is in flight to it. With more, windows are at most an eighth of it.
     */
    public long demandBytes() {
        return MIN_WINDOW + 2 * Math.max(reserveBytes, (serverCount - 1) * MIN_WINDOW);
    }

    /** Whether every disk reported its space less than a second ago. */
    boolean isFresh(int[] disks) {
        for (int disk : disks) {
            if (nowNanos - account(disk).reported.nanos > FRESH_NANOS) {
                return false;
            }
        }
        return true;
    }

    private static long left(Account a) {
        return a.reported.space.admissibleBytes() - a.inFlight.get();
    }

    /** Uncommitted operations have so many bytes more. */
    void chargeTotal(long bytes) {
        inFlight.addAndGet(bytes);
    }

    /** What the disk has not acknowledged has so many bytes more. */
    void charge(int disk, long bytes) {
        account(disk).charge(bytes);
    }

    /** Bytes of uncommitted operations of this server. */
    public long inFlightBytes() {
        return inFlight.get();
    }

    private Account account(int disk) {
        Account a = accounts.get(disk);
        return a != null ? a : accounts.computeIfAbsent(disk, d -> new Account());
    }

    private AtomicLong serverTotal(int server) {
        return servers.computeIfAbsent(server, s -> new AtomicLong());
    }

    /**
     * @param nanos when
     */
    private record Reported(DiskSpace space, long nanos) {
        static final Reported NOTHING = new Reported(new DiskSpace(0, false), 0);
    }

    private static final class Account {
        private final AtomicLong inFlight = new AtomicLong();
        private AtomicLong ofServer = new AtomicLong();
        private volatile Reported reported = Reported.NOTHING;

        synchronized void charge(long bytes) {
            inFlight.addAndGet(bytes);
            ofServer.addAndGet(bytes);
        }

        /** A disk that another server has from now on takes its account along. */
        synchronized void place(AtomicLong server) {
            if (server != ofServer) {
                long bytes = inFlight.get();
                ofServer.addAndGet(-bytes);
                server.addAndGet(bytes);
                ofServer = server;
            }
        }

        synchronized long serverBytes() {
            return ofServer.get();
        }
    }
}
