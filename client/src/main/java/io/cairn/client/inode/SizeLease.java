package io.cairn.client.inode;

import java.util.concurrent.TimeUnit;

/**
 * Until when the size of a file that the MDS has told is the newest: no other client publishes one
 * before this client has acknowledged a recall of the attributes. Guarded by the monitor of the
 * {@link InodeState} that it belongs to.
 */
final class SizeLease {
    private long untilNanos;
    private boolean lent;
    private int recalls;

    /** Before the size is asked for: what {@link #lent} is given. */
    int recalls() {
        return recalls;
    }

    /**
     * The size was told. A recall since it was asked for may have overtaken the answer: then it
     * counts for nothing more.
     *
     * @param micros since it was asked for; 0: not at all
     */
    void lent(int recallsThen, long askedNanos, int micros) {
        if (recallsThen == recalls && micros > 0) {
            untilNanos = askedNanos + TimeUnit.MICROSECONDS.toNanos(micros);
            lent = true;
        }
    }

    /** Another client is about to change the attributes. */
    void recalled() {
        recalls++;
        lent = false;
    }

    boolean holds(long nowNanos) {
        lent &= untilNanos - nowNanos > 0;
        return lent;
    }
}
