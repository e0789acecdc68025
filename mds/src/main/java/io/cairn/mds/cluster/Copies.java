package io.cairn.mds.cluster;

/**
 * What recovery and placement have to copy, as the leader sees it.
 *
 * @param replicasLeft on disks that serve: of groups that learn, or wait for their turn to move
 * @param bytesLeft what these have as a whole, about: less is copied to those that were away
 * @param perSecond over the last minutes; 0: none lately
 * @param etaSeconds until none is left at that rate; below 0: cannot be said
 */
public record Copies(int replicasLeft, long bytesLeft, double perSecond, double etaSeconds) {
    static final Copies NONE = new Copies(0, 0, 0, -1);
}
