package io.cairn.mds.session;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Puts the mutation batches of one session into the order of their numbers before they enter the
 * log. They arrive out of order when a client repeats what was in flight after a reconnect or a
 * change of leader.
 *
 * <p>A batch is submitted after the batch before it. A batch that arrives too early waits, for a
 * limited time and in limited number. When a batch fails or is refused, nothing is submitted until
 * all batches in flight have ended; then the state says which number is next. {@code apply} checks
 * the order in any case.
 *
 * <p>Any thread; batches are submitted under its own lock, so that the log has them in order.
 *
 * @param <B> a batch
 */
final class MutationOrder<B> {
    /** Batches of one session that may wait for an earlier one. */
    static final int MAX_WAITING = 1024;

    private final Consumer<B> submit;
    private final Consumer<B> refuse;
    private final LongSupplier lastExecuted;
    private final TreeMap<Long, Waiting<B>> waiting = new TreeMap<>();

    /** Number the next new batch begins with; 0: to be asked. */
    private long expected;

    private int inFlight;
    private boolean broken;
    private boolean closed;

    private record Waiting<B>(B batch, long end, long sinceNanos) {}

    /**
     * @param submit takes a batch on to the log; {@link #ended} follows
     * @param refuse tells the client to send a batch again later
     * @param lastExecuted number of the session's last mutation in the state
     */
    MutationOrder(Consumer<B> submit, Consumer<B> refuse, LongSupplier lastExecuted) {
        this.submit = submit;
        this.refuse = refuse;
        this.lastExecuted = lastExecuted;
    }

    /** A batch of the numbers from {@code first} to {@code end}, end excluded, has arrived. */
    synchronized void arrived(B batch, long first, long end, long nowNanos) {
        if (closed) {
            refuse.accept(batch);
            return;
        }
        if (expected == 0) {
            expected = lastExecuted.getAsLong() + 1;
        }
        if (!broken && first <= expected) {
            goOn(batch, end);
            drain();
        } else if (waiting.size() >= MAX_WAITING) {
            refuse.accept(batch);
        } else {
            Waiting<B> replaced = waiting.put(first, new Waiting<>(batch, end, nowNanos));
            if (replaced != null) {
                refuse.accept(replaced.batch());
            }
        }
    }

    /**
     * A submitted batch has been answered or has failed.
     *
     * @param inOrder false: it was not executed, so those behind it will not be either
     * @return whether {@link #resume} is to be called, on a thread that may submit
     */
    synchronized boolean ended(boolean inOrder) {
        inFlight--;
        broken |= !inOrder;
        return broken && inFlight == 0 && !closed;
    }

    /** After a failure: continues with the number that the state expects. */
    synchronized void resume() {
        if (broken && inFlight == 0 && !closed) {
            broken = false;
            expected = lastExecuted.getAsLong() + 1;
            drain();
        }
    }

    /** Batches that have waited since before the given time are refused. */
    synchronized void expire(long beforeNanos) {
        List<Long> late = new ArrayList<>();
        for (Map.Entry<Long, Waiting<B>> e : waiting.entrySet()) {
            if (e.getValue().sinceNanos() - beforeNanos < 0) {
                late.add(e.getKey());
            }
        }
        for (long first : late) {
            Waiting<B> gone = waiting.remove(first);
            if (gone != null) {
                refuse.accept(gone.batch());
            }
        }
    }

    /** The session has ended here: batches that wait are returned, later ones are refused. */
    synchronized void close(Consumer<B> giveBack) {
        closed = true;
        waiting.values().forEach(w -> giveBack.accept(w.batch()));
        waiting.clear();
    }

    synchronized int waiting() {
        return waiting.size();
    }

    private void goOn(B batch, long end) {
        inFlight++;
        expected = Math.max(expected, end);
        submit.accept(batch);
    }

    private void drain() {
        while (!broken && !waiting.isEmpty() && waiting.firstKey() <= expected) {
            Waiting<B> next = waiting.pollFirstEntry().getValue();
            goOn(next.batch(), next.end());
        }
    }
}
