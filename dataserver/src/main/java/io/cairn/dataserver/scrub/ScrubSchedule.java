package io.cairn.dataserver.scrub;

import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.ground.ScrubConfig;

/** When groups are to be scrubbed: each on its own time, spread over the intervals. Any thread. */
record ScrubSchedule(ScrubConfig config) {
    /**
     * When the next scrub of this kind is due, milliseconds since 1970. The first one of a group is
     * anywhere within the interval, by its number; later ones keep that distance.
     */
    long dueMillis(int pg, ScrubStamps stamps, boolean deep) {
        long interval = (deep ? config.deepInterval() : config.lightInterval()).toMillis();
        boolean never = (deep ? stamps.deepMillis() : stamps.lightMillis()) == 0;
        long from = stamps.ageFromMillis(deep);
        return from + (never ? (long) (interval * part(pg, deep)) : interval);
    }

    /** From 0 to 1, the same for a group every time. */
    private static double part(int pg, boolean deep) {
        int mixed = (pg * 2 + (deep ? 1 : 0)) * 0x9E3779B9; // Fibonacci hashing, Knuth 6.4
        return (mixed >>> 8) / (double) (1 << 24);
    }

    /** Whether it is due. A time that is yet to come is of a clock that was wrong. */
    boolean isDue(int pg, ScrubStamps stamps, boolean deep, long nowMillis) {
        return stamps.ageFromMillis(deep) > nowMillis || dueMillis(pg, stamps, deep) <= nowMillis;
    }
}
