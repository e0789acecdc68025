package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * Layout of a page of bits, little-endian. A page without a bit has no row.
 *
 * <pre>
 *   0 64 u64  bit i of word w: number 64 w + i of the page's 4096
 * 512 u32     CRC32C of bytes 0..511
 * </pre>
 */
final class BitPageFormat {
    /** Numbers in a page. */
    static final int BITS = 4096;

    static final int WORDS = BITS / Long.SIZE;
    static final int BYTES = BITS / Byte.SIZE;

    private static final int WORDS_OFFSET = 0;

    private BitPageFormat() {}

    static byte[] encode(long[] words) {
        ByteBuffer b = IndexValue.allocate(BYTES);
        b.asLongBuffer().put(WORDS_OFFSET, words);
        return IndexValue.seal(b);
    }

    static long[] decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "page of bits");
        if (b.limit() != BYTES) {
            throw new IndexDamagedException("page of bits of " + b.limit() + " bytes");
        }
        long[] words = new long[WORDS];
        b.asLongBuffer().get(WORDS_OFFSET, words);
        return words;
    }

    /** The checksum of an encoded page. */
    static int crc(byte[] value) {
        return IndexValue.crc(value);
    }
}
