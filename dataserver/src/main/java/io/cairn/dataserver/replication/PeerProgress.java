package io.cairn.dataserver.replication;

import org.jspecify.annotations.Nullable;

/** What a primary knows of one backup in the present epoch. Owner's thread only. */
final class PeerProgress {
    final int disk;

    /** Its history as it told it, null until it did. */
    @Nullable PgHistory history;

    /** Durable there and equal to the primary's history, up to here. */
    long durable;

    /** Sequence to send next; everything between durable and this is under way. */
    long next;

    /** Highest committed sequence it was told. */
    long toldCommitted;

    /** When something was last heard of it, or sent with nothing under way. */
    long progressNanos;

    /** What is under way was lost: send again at the next tick. */
    boolean lost;

    PeerProgress(int disk, long nowNanos) {
        this.disk = disk;
        progressNanos = nowNanos;
    }

    void advance(long durableSequence, long nowNanos) {
        if (durableSequence > durable) {
            durable = durableSequence;
            next = Math.max(next, durable + 1);
        }
        progressNanos = nowNanos;
    }

    void sendAgainFrom(long sequence) {
        next = Math.max(sequence, durable + 1);
        lost = true;
    }
}
