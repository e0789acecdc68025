package io.cairn.mds.map;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;

/**
 * Which disks hold each PG, with every disk filled to its quota and a PG's replicas in different
 * domains. Keeps what is in place; each PG that lacks a replica, and each disk that holds too many,
 * then starts a search for the shortest chain in which one PG takes the disk the next one gives up,
 * the last one a disk with room (a flow's augmenting path; the quotas guarantee that there is one,
 * unless domains are taken). One use by one thread.
 */
final class ReplicaAssignment {
    private static final int NONE = -1;

    private final int[] room;
    private final int[] domainOf;
    private final int[] domainRoom;
    private final int size;
    private final BitSet[] taken;
    private final BitSet closed;
    private int[][] replicas = new int[0][];

    /** Of each disk the PGs it holds. */
    private final BitSet[] holds;

    /**
     * @param taken of each PG the domains that none of these replicas may be in
     * @param closed disks that keep what they hold, and get nothing else
     */
    ReplicaAssignment(int[] quotas, int[] domainOf, int size, BitSet[] taken, BitSet closed) {
        this.taken = taken;
        this.closed = closed;
        this.room = quotas.clone();
        this.domainOf = domainOf;
        this.size = size;
        this.domainRoom = new int[Arrays.stream(domainOf).max().orElse(-1) + 1];
        this.holds = new BitSet[quotas.length];
        for (int disk = 0; disk < quotas.length; disk++) {
            domainRoom[domainOf[disk]] += quotas[disk];
            holds[disk] = new BitSet();
        }
    }

    /**
     * The disks of each PG; of equal PGs, disks are chosen by a hash, so that pairs mix. ENOSPC
     * where a PG needs a disk that is closed.
     */
    int[][] assign(int[][] present) {
        replicas = new int[present.length][size];
        for (int pg = 0; pg < present.length; pg++) {
            Arrays.fill(replicas[pg], NONE);
            for (int disk : present[pg]) {
                if (missing(pg) && mayHold(pg, NONE, disk)) {
                    add(pg, disk);
                }
            }
        }
        for (int pg = 0; pg < replicas.length; pg++) {
            for (int disk = roomiest(pg, NONE);
                    missing(pg) && disk != NONE;
                    disk = roomiest(pg, NONE)) {
                add(pg, disk);
            }
        }
        for (int disk = 0; disk < room.length; disk++) {
            while (room[disk] < 0 && passOn(holds[disk], disk)) {}
        }
        for (int pg = 0; pg < replicas.length; pg++) {
            while (missing(pg)) {
                BitSet start = new BitSet();
                start.set(pg);
                if (!passOn(start, NONE)) {
                    add(pg, leastOver(pg));
                }
            }
        }
        return replicas;
    }

    /** The best disk with room for a PG that gives up another, or none. */
    private int roomiest(int pg, int given) {
        int best = NONE;
        for (int disk = 0; disk < room.length; disk++) {
            if (room[disk] > 0
                    && mayTake(pg, given, disk)
                    && (best == NONE || roomier(pg, disk, best))) {
                best = disk;
            }
        }
        return best;
    }

    private boolean roomier(int pg, int disk, int other) {
        int order = Integer.compare(domainRoom[domainOf[disk]], domainRoom[domainOf[other]]);
        if (order == 0) {
            order = Integer.compare(room[disk], room[other]);
        }
        return order != 0 ? order > 0 : hash(pg, disk) > hash(pg, other);
    }

    /**
     * Where taken domains leave no way to meet the quotas, they are missed by as little as goes.
     */
    private int leastOver(int pg) {
        int best = NONE;
        for (int disk = 0; disk < room.length; disk++) {
            if (mayTake(pg, NONE, disk) && (best == NONE || roomier(pg, disk, best))) {
                best = disk;
            }
        }
        if (best == NONE) {
            throw new FsException(Errno.ENOSPC, "no failure domain is left for a replica");
        }
        return best;
    }

    /**
     * One of the PGs, each giving up the disk (or none), takes another: breadth first. False if
     * none can.
     */
    private boolean passOn(BitSet starts, int given) {
        int[] takesFrom = new int[replicas.length];
        int[] gives = new int[replicas.length];
        BitSet seen = (BitSet) starts.clone();
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        for (int pg = starts.nextSetBit(0); pg >= 0; pg = starts.nextSetBit(pg + 1)) {
            takesFrom[pg] = NONE;
            gives[pg] = given;
            queue.add(pg);
        }
        while (!queue.isEmpty()) {
            int pg = queue.remove();
            int free = roomiest(pg, gives[pg]);
            if (free != NONE) {
                unwind(pg, free, takesFrom, gives);
                return true;
            }
            for (int disk = 0; disk < room.length; disk++) {
                if (mayTake(pg, gives[pg], disk)) {
                    for (int holder = holds[disk].nextSetBit(0);
                            holder >= 0;
                            holder = holds[disk].nextSetBit(holder + 1)) {
                        if (!seen.get(holder)) {
                            seen.set(holder);
                            takesFrom[holder] = pg;
                            gives[holder] = disk;
                            queue.add(holder);
                        }
                    }
                }
            }
        }
        return false;
    }

    /** The last PG of the chain takes the disk with room; each before it what the next gives. */
    private void unwind(int last, int disk, int[] takesFrom, int[] gives) {
        int taken = disk;
        for (int pg = last; pg != NONE; pg = takesFrom[pg]) {
            int given = gives[pg];
            if (given != NONE) {
                remove(pg, given);
            }
            add(pg, taken);
            taken = given;
        }
    }

    private boolean mayTake(int pg, int given, int disk) {
        return !closed.get(disk) && mayHold(pg, given, disk);
    }

    private boolean mayHold(int pg, int given, int disk) {
        int domain = domainOf[disk];
        if (taken[pg].get(domain)) {
            return false;
        }
        if (given != NONE && domainOf[given] == domain) {
            return disk != given;
        }
        return !inDomain(pg, domain);
    }

    private boolean missing(int pg) {
        return replicas[pg][size - 1] == NONE;
    }

    private boolean inDomain(int pg, int domain) {
        for (int disk : replicas[pg]) {
            if (disk != NONE && domainOf[disk] == domain) {
                return true;
            }
        }
        return false;
    }

    private void add(int pg, int disk) {
        int[] list = replicas[pg];
        int at = 0;
        while (list[at] != NONE) {
            at++;
        }
        list[at] = disk;
        holds[disk].set(pg);
        room[disk]--;
        domainRoom[domainOf[disk]]--;
    }

    private void remove(int pg, int disk) {
        int[] list = replicas[pg];
        int at = 0;
        while (list[at] != disk) {
            at++;
        }
        System.arraycopy(list, at + 1, list, at, size - at - 1);
        list[size - 1] = NONE;
        holds[disk].clear(pg);
        room[disk]++;
        domainRoom[domainOf[disk]]++;
    }

    /** Stafford's mix of both numbers (variant 13 of the SplitMix64 finalizer). */
    private static long hash(int pg, int disk) {
        long z = ((long) pg << 32 | disk) + 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }
}
