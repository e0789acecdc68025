package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Recalls that are not over, and the answers that wait for them.
 *
 * <pre>
 *   open --acknowledged by its session, or what it was lent has run out--> over
 * </pre>
 *
 * <p>An answer waits for the recalls of everything that it tells of, except for those of the
 * session that gets it: a client that is asked to forget something may have to finish what it is
 * doing first. So no client waits for itself.
 *
 * <p>Any thread. Answers are sent outside of the lock.
 */
final class ReadRecalling {
    private static final Logger LOG = LoggerFactory.getLogger(ReadRecalling.class);

    /** One session is to forget what one entry has changed. */
    static final class Recall {
        final long number;
        final long session;

        /** By which it was told; null: it was not. */
        final @Nullable RpcPeer peer;

        final List<RecallKey> keys = new ArrayList<>();

        /** Of its entry: whoever is told of any of it waits. What else it changed is not lent. */
        private Collection<RecallKey> shown = List.of();

        /** When everything that it is about has run out by itself. */
        long untilNanos;

        private final List<Wait> waits = new ArrayList<>();

        Recall(long number, long session, @Nullable RpcPeer peer, long untilNanos) {
            this.number = number;
            this.session = session;
            this.peer = peer;
            this.untilNanos = untilNanos;
        }

        void add(RecallKey key, long until) {
            keys.add(key);
            if (until - untilNanos > 0) {
                untilNanos = until;
            }
        }
    }

    /** An answer, or an entry that is not answered yet. */
    private static final class Wait {
        /** Of the entry; 0: a query. */
        final long index;

        /** Recalls that are not over. */
        int open;

        @Nullable WaitingAnswer answer;

        Wait(long index, @Nullable WaitingAnswer answer) {
            this.index = index;
            this.answer = answer;
        }
    }

    private final Map<Long, Recall> recalls = new HashMap<>();
    private final Map<RecallKey, Set<Recall>> byKey = new HashMap<>();

    /** Of entries whose answers are to wait; null as value never. */
    private final Map<Long, Wait> entries = new HashMap<>();

    private volatile int open;

    /** Whether there is any; one that is opened meanwhile is of a later entry. */
    boolean any() {
        return open > 0;
    }

    /** Whether somebody has yet to forget it. */
    synchronized boolean isOpen(RecallKey key) {
        return byKey.containsKey(key);
    }

    /**
     * Before the entry that makes them necessary is shown.
     *
     * @param shown all that the entry changes: a session that is told of one part of it must not do
     *     so while another one believes that the rest is as it was
     */
    synchronized void open(Collection<Recall> more, Collection<RecallKey> shown) {
        for (Recall recall : more) {
            recalls.put(recall.number, recall);
            recall.shown = shown;
            for (RecallKey key : shown) {
                indexed(key, recall);
                if (isName(key)) {
                    indexed(RecallKey.anyName(key.inode()), recall);
                }
            }
        }
        open = recalls.size();
    }

    private void indexed(RecallKey key, Recall recall) {
        byKey.computeIfAbsent(key, k -> new HashSet<>(2)).add(recall);
    }

    private static boolean isName(RecallKey key) {
        ByteString name = key.name();
        return name != null && !name.isEmpty();
    }

    /**
     * The answer of the entry is to wait for what is open now.
     *
     * @param session that gets it
     * @param keys null: everything
     */
    synchronized void entryWaits(long index, long session, @Nullable Collection<RecallKey> keys) {
        Wait wait = new Wait(index, null);
        join(wait, session, null, keys);
        if (wait.open > 0) {
            entries.put(index, wait);
        }
    }

    /** Whether the entry's answer waits: then it is sent later. */
    synchronized boolean waits(long index, WaitingAnswer answer) {
        @Nullable Wait wait = entries.get(index);
        if (wait == null) {
            return false;
        }
        wait.answer = answer;
        return true;
    }

    /**
     * Whether a query's answer waits: then it is sent later.
     *
     * @param session that asks; 0: not known, then it is that of the peer
     */
    synchronized boolean waits(
            long session, RpcPeer peer, Collection<RecallKey> keys, WaitingAnswer answer) {
        Wait wait = new Wait(0, answer);
        join(wait, session, peer, keys);
        return wait.open > 0;
    }

    private void join(
            Wait wait, long session, @Nullable RpcPeer peer, @Nullable Collection<RecallKey> keys) {
        Set<Recall> concerned = new HashSet<>();
        if (keys == null) {
            concerned.addAll(recalls.values());
        } else {
            for (RecallKey key : keys) {
                concerned.addAll(byKey.getOrDefault(key, Set.of()));
            }
        }
        for (Recall recall : concerned) {
            boolean own =
                    session != 0
                            ? recall.session == session
                            : peer != null && peer.equals(recall.peer);
            if (!own) {
                wait.open++;
                recall.waits.add(wait);
            }
        }
    }

    /** The session has forgotten what these are about. Numbers that are not its own are ignored. */
    void acknowledged(long session, Collection<Long> numbers) {
        List<WaitingAnswer> free = new ArrayList<>();
        synchronized (this) {
            for (long number : numbers) {
                @Nullable Recall recall = recalls.get(number);
                if (recall != null && recall.session == session) {
                    over(recall, free);
                }
            }
        }
        free.forEach(ReadRecalling::send);
    }

    /** The session is closed, and believes nothing any more. */
    void ended(long session) {
        List<WaitingAnswer> free = new ArrayList<>();
        synchronized (this) {
            for (Recall recall : List.copyOf(recalls.values())) {
                if (recall.session == session) {
                    over(recall, free);
                }
            }
        }
        free.forEach(ReadRecalling::send);
    }

    /**
     * Ends recalls of what has run out.
     *
     * @return how many
     */
    int expire(long nowNanos) {
        List<WaitingAnswer> free = new ArrayList<>();
        int late = 0;
        synchronized (this) {
            for (Recall recall : List.copyOf(recalls.values())) {
                if (recall.untilNanos - nowNanos <= 0) {
                    over(recall, free);
                    late++;
                }
            }
        }
        free.forEach(ReadRecalling::send);
        return late;
    }

    /** One that fails must not keep others from being sent, nor end the applying thread. */
    private static void send(WaitingAnswer answer) {
        try {
            answer.send();
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.error("an answer that waited was not sent: its client asks again", e);
        }
    }

    private void over(Recall recall, List<WaitingAnswer> free) {
        recalls.remove(recall.number);
        for (RecallKey key : recall.shown) {
            unindexed(key, recall);
            if (isName(key)) {
                unindexed(RecallKey.anyName(key.inode()), recall);
            }
        }
        open = recalls.size();
        for (Wait wait : recall.waits) {
            wait.open--;
            if (wait.open == 0) {
                entries.remove(wait.index);
                if (wait.answer != null) {
                    free.add(wait.answer);
                }
            }
        }
    }

    private void unindexed(RecallKey key, Recall recall) {
        byKey.computeIfPresent(
                key,
                (k, of) -> {
                    of.remove(recall);
                    return of.isEmpty() ? null : of;
                });
    }

    /** This member leads no more: what waits is refused. */
    void clear(RpcStatus status) {
        Set<WaitingAnswer> refused = new HashSet<>();
        synchronized (this) {
            for (Recall recall : recalls.values()) {
                for (Wait wait : recall.waits) {
                    if (wait.answer != null) {
                        refused.add(wait.answer);
                    }
                }
            }
            recalls.clear();
            byKey.clear();
            entries.clear();
            open = 0;
        }
        refused.forEach(answer -> answer.refuse(status));
    }
}
