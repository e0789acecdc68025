package io.cairn.mds.leader;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Pool;
import io.cairn.mds.proto.ClusterSettings;

/**
 * From how many percent of what a disk can hold it is near full, and full. What a disk can hold is
 * what it uses and what it says is free: so the headroom that its data server keeps lies beyond a
 * hundred percent. Immutable; any thread.
 *
 * @param nearFull at most {@code full}
 */
public record FillLimits(int nearFull, int full) {
    /** What may be set, percent. */
    public static final int LEAST = 10;

    public static final int MOST = 100;

    private static final int NEAR_FULL = 85;
    private static final int FULL = 95;

    /** A level ends when so many percent less are used: else it would come and go. */
    private static final int HYSTERESIS = 2;

    /** Of the cluster. */
    public static FillLimits of(ClusterSettings settings) {
        return new FillLimits(
                settings.hasNearFullPercent() ? settings.getNearFullPercent() : NEAR_FULL,
                settings.hasFullPercent() ? settings.getFullPercent() : FULL);
    }

    /** Of a pool, which may have its own. */
    public FillLimits of(Pool pool) {
        return new FillLimits(
                pool.hasNearFullPercent() ? pool.getNearFullPercent() : nearFull,
                pool.hasFullPercent() ? pool.getFullPercent() : full);
    }

    /**
     * EINVAL where they are not in order.
     *
     * @param whose for the message
     */
    public void check(String whose) {
        if (nearFull < LEAST || full > MOST) {
            throw new FsException(
                    Errno.EINVAL,
                    "thresholds are %d to %d percent, and not %d and %d"
                            .formatted(LEAST, MOST, nearFull, full));
        }
        if (nearFull > full) {
            throw new FsException(
                    Errno.EINVAL,
                    "a disk %s would be full, at %d percent, before it is near full, at %d: change the other threshold first"
                            .formatted(whose, full, nearFull));
        }
    }

    /**
     * The level of a disk.
     *
     * @param present its level until now
     */
    public Fill level(Fill present, double percent) {
        if (percent >= full || (present == Fill.FILL_FULL && percent > full - HYSTERESIS)) {
            return Fill.FILL_FULL;
        }
        if (percent >= nearFull
                || (present != Fill.FILL_NORMAL && percent > nearFull - HYSTERESIS)) {
            return Fill.FILL_NEAR_FULL;
        }
        return Fill.FILL_NORMAL;
    }
}
