package io.cairn.dataserver.replication;

import org.jspecify.annotations.Nullable;

/** What a primary knows of one backup in the present epoch. Owner's thread only. */
final class PeerProgress {
    final int disk;

    /** The history it reported, null before. */
    @Nullable PgHistory history;

    /** Durable there and equal to the primary's history, up to here. */
    long durable;

    /** Sequence to send next; everything between durable and this is in flight. */
    long next;

    /** Highest committed sequence it was told. */
    long toldCommitted;

    /** When it last answered, or something was sent to it with nothing in flight. */
    long progressNanos;

    /** What was in flight is lost: send again at the next tick. */
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
