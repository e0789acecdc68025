package io.cairn.mds.leader;

import io.cairn.mds.proto.ClusterSettings;

/**
 * What an administrator holds back.
 *
 * @param noOut no disk becomes absent
 * @param noRebalance no group moves unless a replica of it is on a drained or absent disk
 * @param noDown who is silent is neither marked down nor taken out of in-sync sets
 * @param noRecover no replica is brought up to date
 * @param noScrub no scrub begins by schedule
 * @param pause what clients read and write waits
 * @param movesPerDisk of groups that move to or from a disk at once: the others serve clients
 *     meanwhile
 */
public record Held(
        boolean noOut,
        boolean noRebalance,
        boolean noDown,
        boolean noRecover,
        boolean noScrub,
        boolean pause,
        int movesPerDisk) {
    private static final int MOVES_PER_DISK = 4;

    /** What counts before anything is set. */
    public static final Held NONE = of(ClusterSettings.getDefaultInstance());

    public static Held of(ClusterSettings settings) {
        return new Held(
                settings.getNoOut(),
                settings.getNoRebalance(),
                settings.getNoDown(),
                settings.getNoRecover(),
                settings.getNoScrub(),
                settings.getPause(),
                settings.hasMovesPerDisk() ? settings.getMovesPerDisk() : MOVES_PER_DISK);
    }
}
