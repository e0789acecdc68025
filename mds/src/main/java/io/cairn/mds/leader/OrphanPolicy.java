package io.cairn.mds.leader;

import io.cairn.mds.proto.ClusterSettings;

/**
 * When orphaned data is removed.
 *
 * @param ageSeconds proven is what was found again after so long
 * @param automatic what is proven is removed without being asked
 * @param sharePermille of the inodes, and of the bytes, of a pool: where more are orphaned, nothing
 *     of it is removed without being asked
 */
public record OrphanPolicy(long ageSeconds, boolean automatic, int sharePermille) {
    /** Longer than it takes to notice that a metadata service was restored from a backup. */
    private static final long AGE_SECONDS = 7 * 24 * 3600;

    private static final int SHARE_PERMILLE = 10;

    public static OrphanPolicy of(ClusterSettings settings) {
        return new OrphanPolicy(
                settings.hasOrphanAgeSeconds() ? settings.getOrphanAgeSeconds() : AGE_SECONDS,
                settings.getOrphanRemoval(),
                settings.hasOrphanSharePermille()
                        ? settings.getOrphanSharePermille()
                        : SHARE_PERMILLE);
    }

    /** {@code 0.5%}. */
    public String share() {
        return sharePermille % 10 == 0
                ? sharePermille / 10 + "%"
                : sharePermille / 10 + "." + sharePermille % 10 + "%";
    }
}
