package io.cairn.mds.lease;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Which sessions may believe what, and until when. A key is an inode's attributes, or all names of
 * a directory, those included that it does not have. Bounded: where it is full, nothing more is
 * lent. Any thread.
 */
final class LeaseTable {
    static final int MAX_HOLDERS = 256;

    private static final int SHARDS = 64;

    /** Told of the holders of a key. */
    interface Visitor {
        void holder(long session, long untilNanos);
    }

    private static final class Holders {
        long[] sessions = new long[2];
        long[] until = new long[2];
        int size;

        int indexOf(long session) {
            for (int i = 0; i < size; i++) {
                if (sessions[i] == session) {
                    return i;
                }
            }
            return -1;
        }

        void add(long session, long untilNanos) {
            if (size == sessions.length) {
                sessions = Arrays.copyOf(sessions, 2 * size);
                until = Arrays.copyOf(until, 2 * size);
            }
            sessions[size] = session;
            until[size++] = untilNanos;
        }

        void remove(int index) {
            size--;
            sessions[index] = sessions[size];
            until[index] = until[size];
        }
    }

    private static final class Shard {
        final Map<Long, Holders> keys = new HashMap<>();
    }

    private final Shard[] shards = new Shard[SHARDS];
    private final int maxLeases;
    private final AtomicInteger leases = new AtomicInteger();
    private int swept;

    /**
     * @param maxLeases over all keys
     */
    LeaseTable(int maxLeases) {
        this.maxLeases = maxLeases;
        for (int i = 0; i < SHARDS; i++) {
            shards[i] = new Shard();
        }
    }

    static long attributes(long inode) {
        return inode << 1;
    }

    static long names(long directory) {
        return directory << 1 | 1;
    }

    private Shard shard(long key) {
        return shards[ChangedKeys.slot(key, SHARDS)];
    }

    /** Leases of all sessions, those that are over and not swept yet included. */
    int size() {
        return leases.get();
    }

    /**
     * The session holds the key until then, or longer if it did before.
     *
     * @param allowed asked once the lease is in the table, where {@link #visit} finds it: false
     *     takes it out again
     * @return false where it is not allowed, or there are too many
     */
    boolean add(long key, long session, long untilNanos, long nowNanos, BooleanSupplier allowed) {
        Shard shard = shard(key);
        synchronized (shard) {
            Holders holders = shard.keys.computeIfAbsent(key, k -> new Holders());
            int index = holders.indexOf(session);
            boolean room =
                    index >= 0
                            || (leases.get() < maxLeases
                                    && (holders.size < MAX_HOLDERS
                                            || dropOver(holders, nowNanos) > 0));
            if (!room) {
                removeIfEmpty(shard, key, holders);
                return false;
            }
            // Before it is asked: who has changed the key sees that there is a lease, or is seen.
            leases.incrementAndGet();
            boolean granted = allowed.getAsBoolean();
            if (granted) {
                put(holders, session, untilNanos);
            }
            if (!granted || index >= 0) {
                leases.decrementAndGet();
            }
            removeIfEmpty(shard, key, holders);
            return granted;
        }
    }

    /** As {@link #add}, however many there are. */
    void addInAnyCase(long key, long session, long untilNanos) {
        Shard shard = shard(key);
        synchronized (shard) {
            Holders holders = shard.keys.computeIfAbsent(key, k -> new Holders());
            if (put(holders, session, untilNanos)) {
                leases.incrementAndGet();
            }
        }
    }

    /** Whether it is new. */
    private static boolean put(Holders holders, long session, long untilNanos) {
        int index = holders.indexOf(session);
        if (index < 0) {
            holders.add(session, untilNanos);
            return true;
        }
        if (untilNanos - holders.until[index] > 0) {
            holders.until[index] = untilNanos;
        }
        return false;
    }

    /** All who hold the key now. */
    void visit(long key, long nowNanos, Visitor visitor) {
        Shard shard = shard(key);
        synchronized (shard) {
            @Nullable Holders holders = shard.keys.get(key);
            if (holders != null) {
                dropOver(holders, nowNanos);
                for (int i = 0; i < holders.size; i++) {
                    visitor.holder(holders.sessions[i], holders.until[i]);
                }
                removeIfEmpty(shard, key, holders);
            }
        }
    }

    /** Nobody holds the key any more. */
    void remove(long key) {
        Shard shard = shard(key);
        synchronized (shard) {
            @Nullable Holders holders = shard.keys.remove(key);
            if (holders != null) {
                leases.addAndGet(-holders.size);
            }
        }
    }

    /** The session holds nothing any more. Looks at everything. */
    void removeSession(long session) {
        for (Shard shard : shards) {
            synchronized (shard) {
                for (Iterator<Holders> i = shard.keys.values().iterator(); i.hasNext(); ) {
                    Holders holders = i.next();
                    int index = holders.indexOf(session);
                    if (index >= 0) {
                        holders.remove(index);
                        leases.decrementAndGet();
                    }
                    if (holders.size == 0) {
                        i.remove();
                    }
                }
            }
        }
    }

    /** Drops what is over, in a quarter of the table. One thread. */
    void sweep(long nowNanos) {
        for (int n = 0; n < SHARDS / 4; n++) {
            Shard shard = shards[swept++ % SHARDS];
            synchronized (shard) {
                shard.keys
                        .values()
                        .removeIf(holders -> {
                            dropOver(holders, nowNanos);
                            return holders.size == 0;
                        });
            }
        }
        swept %= SHARDS;
    }

    void clear() {
        for (Shard shard : shards) {
            synchronized (shard) {
                shard.keys.values().forEach(holders -> leases.addAndGet(-holders.size));
                shard.keys.clear();
            }
        }
    }

    private int dropOver(Holders holders, long nowNanos) {
        int before = holders.size;
        for (int i = before - 1; i >= 0; i--) {
            if (holders.until[i] - nowNanos <= 0) {
                holders.remove(i);
            }
        }
        leases.addAndGet(holders.size - before);
        return before - holders.size;
    }

    private static void removeIfEmpty(Shard shard, long key, Holders holders) {
        if (holders.size == 0) {
            shard.keys.remove(key);
        }
    }
}
