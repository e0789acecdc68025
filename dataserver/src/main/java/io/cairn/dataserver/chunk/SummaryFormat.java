package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of the row by which the summary of the content is believed, little-endian.
 *
 * <pre>
 *  0 u32  version, 1
 *  4 u32  0
 *  8 u64  number of blocks in use, the bits of all region rows
 * 16 u64  digest of the region rows
 * 24 u64  number of bits in all filter rows
 * 32 u64  digest of the filter rows
 * 40 u32  CRC32C of bytes 0..39
 * </pre>
 *
 * A digest is the sum of the rows' {@link PageSum}.
 */
final class SummaryFormat {
    static final int BYTES = 40;
    static final int VERSION = 1;

    private static final int VERSION_OFFSET = 0;
    private static final int BLOCKS_OFFSET = 8;
    private static final int BLOCKS_DIGEST_OFFSET = 16;
    private static final int TRUNCATED_OFFSET = 24;
    private static final int TRUNCATED_DIGEST_OFFSET = 32;

    private SummaryFormat() {}

    /** The decoded value. */
    record Summary(PageSum blocks, PageSum truncated) {
        static final Summary EMPTY = new Summary(PageSum.EMPTY, PageSum.EMPTY);
    }

    static byte[] encode(Summary s) {
        return IndexValue.seal(
                IndexValue.allocate(BYTES)
                        .putInt(VERSION_OFFSET, VERSION)
                        .putLong(BLOCKS_OFFSET, s.blocks().bits())
                        .putLong(BLOCKS_DIGEST_OFFSET, s.blocks().digest())
                        .putLong(TRUNCATED_OFFSET, s.truncated().bits())
                        .putLong(TRUNCATED_DIGEST_OFFSET, s.truncated().digest()));
    }

    static Summary decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "summary");
        int version = b.getInt(VERSION_OFFSET);
        if (version != VERSION) {
            throw new IndexDamagedException("summary has version " + version);
        }
        return new Summary(
                new PageSum(b.getLong(BLOCKS_OFFSET), b.getLong(BLOCKS_DIGEST_OFFSET)),
                new PageSum(b.getLong(TRUNCATED_OFFSET), b.getLong(TRUNCATED_DIGEST_OFFSET)));
    }
}
