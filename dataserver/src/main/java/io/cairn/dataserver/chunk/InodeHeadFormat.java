package io.cairn.dataserver.chunk;

/**
 * Layout of an inode head, little-endian: kept for inodes that were truncated, so that a chunk that
 * does not exist refuses old writes too.
 *
 * <pre>
 *  0 u64 truncate sequence
 *  8 u32 CRC32C of bytes 0..7
 * </pre>
 */
public final class InodeHeadFormat {
    static final int BYTES = 8;

    private static final int TRUNCATE_SEQUENCE_OFFSET = 0;

    private InodeHeadFormat() {}

    static byte[] encode(long truncateSequence) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES).putLong(TRUNCATE_SEQUENCE_OFFSET, truncateSequence));
    }

    static long decode(byte[] value) {
        return IndexValue.open(value, BYTES, "inode head").getLong(TRUNCATE_SEQUENCE_OFFSET);
    }
}
