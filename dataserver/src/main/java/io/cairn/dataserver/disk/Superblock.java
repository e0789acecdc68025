package io.cairn.dataserver.disk;

import java.util.UUID;

/**
 * What a disk is; the first block of the data file, and a copy in the WAL directory.
 *
 * @param state whether all parts of the disk were made
 * @param disk identity, new at each formatting
 * @param cluster the cluster it belongs to
 * @param capacityBytes of the data file, this block included
 */
public record Superblock(State state, UUID disk, UUID cluster, long capacityBytes) {
    /** FORMATTING: only the data file's superblock exists for sure. */
    public enum State {
        FORMATTING,
        READY
    }

    public Superblock ready() {
        return new Superblock(State.READY, disk, cluster, capacityBytes);
    }
}
