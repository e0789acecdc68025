package io.cairn.common.data;

/**
 * Payload of {@link DataOpType#TRUNCATE_INODE}; inode and sequence stand in the operation's head.
 *
 * @param size of the file after the shrink, bytes, not negative
 * @param stripeUnit layout of the file, as are the others
 */
public record TruncateInode(long size, int stripeUnit, int stripeCount, int chunkSize) {}
