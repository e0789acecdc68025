package io.cairn.mds.background;

/**
 * How much may be done now under a limit per second that can change between two steps. At most what
 * a second allows is saved up; without a limit nothing is saved up, and nothing owed. One thread.
 */
final class Pace {
    private double allowance;
    private long sinceNanos;
    private boolean limited;

    void begin(long nowNanos) {
        allowance = 0;
        sinceNanos = nowNanos;
    }

    /**
     * @param perSecond 0: no limit
     */
    int allowed(long perSecond, long nowNanos) {
        limited = perSecond != 0;
        allowance =
                limited
                        ? Math.min(
                                (double) perSecond,
                                allowance + (nowNanos - sinceNanos) * 1e-9 * perSecond)
                        : 0;
        sinceNanos = nowNanos;
        return limited ? (int) allowance : Integer.MAX_VALUE;
    }

    /** So much of what was allowed last has been done. */
    void took(int number) {
        if (limited) {
            allowance -= number;
        }
    }
}
