package io.cairn.dataserver.replication;

import io.cairn.common.rpc.BackOff;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What a primary knows of one backup in the present epoch. Owner's thread only. */
final class PeerProgress {
    /** Not shortened at random: the same steps give the same pauses. */
    private static final BackOff AGAIN =
            new BackOff(Duration.ofMillis(20), Duration.ofMillis(1280), () -> 0);

    /** Refusals in a row that are no passing thing. */
    private static final int PROBE_AFTER = 4;

    final int disk;

    /** The history it reported, null before. */
    @Nullable PgHistory history;

    /** Durable there and equal to the primary's history, up to here. */
    long durable;

    /** Up to here the space of what it has is no longer counted as in flight to it. */
    long settled;

    /** Sequence to send next; everything between durable and this is in flight. */
    long next;

    /** Highest committed sequence it was told. */
    long toldCommitted;

    /** When it last answered, or something was sent to it with nothing in flight. */
    long progressNanos;

    /** When it last said what has become of what it was sent, or began to be waited for. */
    long heardNanos;

    /** When it last said anything, or began to be waited for. */
    long aliveNanos;

    /** What was in flight is lost: send again at the next tick. */
    boolean lost;

    /** Whether a question for its history is in flight. */
    private boolean queried;

    private long queriedNanos;

    /** Times in a row that it took nothing of what it lacks. */
    private int losses;

    private long againNanos;

    PeerProgress(int disk, long nowNanos) {
        this.disk = disk;
        progressNanos = nowNanos;
        aliveNanos = nowNanos;
        heardNanos = nowNanos;
        againNanos = nowNanos;
    }

    void advance(long durableSequence, long nowNanos) {
        if (durableSequence > durable) {
            durable = durableSequence;
            next = Math.max(next, durable + 1);
        }
        progressNanos = nowNanos;
        losses = 0;
    }

    /**
     * What was sent did not arrive, or was refused for now, for example because its disk is out:
     * all of it is to be sent again, after a pause that grows, and then by one operation first.
     *
     * @param behind whether it lacks anything
     */
    void refused(boolean behind, long nowNanos) {
        if (!behind) {
            losses = 0;
        } else if (!lost) {
            againNanos = nowNanos + (losses == 0 ? 0 : AGAIN.delayNanos(losses));
            losses++;
        }
        toldCommitted = 0;
        queried = false;
        sendAgainFrom(durable + 1);
    }

    /**
     * Whether it is to be asked for its history, and then is. Not while it is being asked: it
     * answers once its log is durable, and would refuse the older question, which says nothing of
     * its log.
     *
     * @param lostNanos a question is lost if there was no answer for so long
     */
    boolean toBeQueried(long nowNanos, long lostNanos) {
        boolean asks = history == null && (!queried || nowNanos - queriedNanos > lostNanos);
        if (asks) {
            queried = true;
            queriedNanos = nowNanos;
        }
        return asks;
    }

    /** Whether it is left alone for now. */
    boolean pausing(long nowNanos) {
        return lost && nowNanos - againNanos < 0;
    }

    /**
     * Whether it has refused so often that only one operation is sent to see whether it takes it.
     */
    boolean isProbed() {
        return losses >= PROBE_AFTER;
    }

    void sendAgainFrom(long sequence) {
        next = Math.max(sequence, durable + 1);
        lost = true;
    }
}
