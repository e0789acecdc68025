package io.cairn.common.rpc;

import java.util.ArrayDeque;

/**
 * The memory that a server gives to large messages of clients while they are received and until
 * they are handed over: what does not fit waits on its socket, in the order of asking. Without it
 * every connection could have one such message half received. Any thread.
 */
final class ReceiveBudget {
    /** Whoever waits for memory. */
    interface Waiter {
        /** The bytes asked for belong to the waiter now; called on any thread. */
        void granted();
    }

    private record Waiting(Waiter waiter, int bytes) {}

    private final long maxBytes;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private long taken;

    ReceiveBudget(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /**
     * Takes so many bytes; false if they are not there now, and the waiter is told when it has
     * them. A single message of any size passes.
     */
    synchronized boolean take(int bytes, Waiter waiter) {
        if (waiting.isEmpty() && fits(bytes)) {
            taken += bytes;
            return true;
        }
        waiting.add(new Waiting(waiter, bytes));
        return false;
    }

    /** Gives back what was taken or granted. */
    void giveBack(int bytes) {
        ArrayDeque<Waiter> granted;
        synchronized (this) {
            taken -= bytes;
            granted = grant();
        }
        granted.forEach(Waiter::granted);
    }

    /** The waiter goes; false if it was granted what it waited for, or did not wait. */
    boolean leave(Waiter waiter) {
        ArrayDeque<Waiter> granted;
        boolean left;
        synchronized (this) {
            left = waiting.removeIf(w -> w.waiter.equals(waiter));
            granted = grant();
        }
        granted.forEach(Waiter::granted);
        return left;
    }

    synchronized long takenBytes() {
        return taken;
    }

    private ArrayDeque<Waiter> grant() {
        ArrayDeque<Waiter> granted = new ArrayDeque<>();
        Waiting next = waiting.peek();
        while (next != null && fits(next.bytes)) {
            waiting.remove();
            taken += next.bytes;
            granted.add(next.waiter);
            next = waiting.peek();
        }
        return granted;
    }

    private boolean fits(int bytes) {
        return taken == 0 || taken + bytes <= maxBytes;
    }
}
