package io.cairn.mds.store;

/**
 * Counters of the replicated state; they change in the batch of the entry that changes what they
 * count.
 *
 * @param inodesUsed inodes that exist, orphans and the root included
 * @param bytesUsed sum of the sizes of regular files, orphans included
 * @param deletionInodes inodes in the deletion queue
 * @param deletionBytes sum of their sizes
 * @param deletionHead no deletion record has a sequence below this
 * @param nextDeletion sequence the next deletion record gets
 * @param maxInode highest inode id ever used
 * @param maxSession highest session id ever used
 * @param mapEpoch epoch of the cluster map
 */
public record Counters(
        long inodesUsed,
        long bytesUsed,
        long deletionInodes,
        long deletionBytes,
        long deletionHead,
        long nextDeletion,
        long maxInode,
        long maxSession,
        long mapEpoch) {}
