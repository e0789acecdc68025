package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Layout of why a block is in quarantine, little-endian.
 *
 * <pre>
 *  0 u32 n, length of the text in bytes, at most 1,024
 *  4 n bytes, the text in UTF-8
 *  4 + n u32 CRC32C of all before
 * </pre>
 */
public final class QuarantineFormat {
    static final int MAX_TEXT_BYTES = 1024;

    private static final int LENGTH_OFFSET = 0;
    private static final int TEXT_OFFSET = 4;

    private QuarantineFormat() {}

    /** A longer text is cut off. */
    static byte[] encode(String why) {
        byte[] text = text(why);
        return IndexValue.seal(
                IndexValue.allocate(TEXT_OFFSET + text.length)
                        .putInt(LENGTH_OFFSET, text.length)
                        .put(TEXT_OFFSET, text));
    }

    static String decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, TEXT_OFFSET, "row of a block in quarantine");
        if (b.getInt(LENGTH_OFFSET) != b.limit() - TEXT_OFFSET) {
            throw new IndexDamagedException("row of a block in quarantine: its length is wrong");
        }
        return new String(value, TEXT_OFFSET, b.limit() - TEXT_OFFSET, StandardCharsets.UTF_8);
    }

    static byte[] text(String whole) {
        byte[] text = whole.getBytes(StandardCharsets.UTF_8);
        return text.length <= MAX_TEXT_BYTES ? text : Arrays.copyOf(text, MAX_TEXT_BYTES);
    }
}
