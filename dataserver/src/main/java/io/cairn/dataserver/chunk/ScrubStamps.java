package io.cairn.dataserver.chunk;

/**
 * When a PG was scrubbed, as its members know it. Times of day in milliseconds since 1970.
 *
 * @param sinceMillis when it was first seen
 * @param lightMillis when the last scrub that ended began, light or deep; 0: never
 * @param deepMillis when the last deep scrub that ended began; 0: never
 * @param differences between replicas that the last scrub found
 */
public record ScrubStamps(long sinceMillis, long lightMillis, long deepMillis, int differences) {
    /** After a scrub that began then. */
    public ScrubStamps scrubbed(boolean deep, long beganMillis, int found) {
        return new ScrubStamps(sinceMillis, beganMillis, deep ? beganMillis : deepMillis, found);
    }

    /** From when its age counts, for a scrub of this kind. */
    public long ageFromMillis(boolean deep) {
        long last = deep ? deepMillis : lightMillis;
        return last == 0 ? sinceMillis : last;
    }
}
