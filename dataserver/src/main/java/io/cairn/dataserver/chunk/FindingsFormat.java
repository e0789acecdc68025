package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Layout of what the last scrub of a PG found, for the administrator, little-endian.
 *
 * <pre>
 *  0 u32 number of texts, at most 16
 *  4 texts: u32 n, length in bytes, at most 1,024; n bytes, in UTF-8
 *  . u32 CRC32C of all before
 * </pre>
 */
public final class FindingsFormat {
    static final int MAX_TEXTS = 16;

    private static final int COUNT_OFFSET = 0;
    private static final int TEXTS_OFFSET = 4;
    private static final int LENGTH_BYTES = 4;

    private FindingsFormat() {}

    /** More texts, and longer ones, are cut off. */
    static byte[] encode(List<String> findings) {
        List<byte[]> texts =
                findings.stream().limit(MAX_TEXTS).map(QuarantineFormat::text).toList();
        int bytes = texts.stream().mapToInt(t -> LENGTH_BYTES + t.length).sum();
        ByteBuffer b = IndexValue.allocate(TEXTS_OFFSET + bytes).putInt(COUNT_OFFSET, texts.size());
        b.position(TEXTS_OFFSET);
        texts.forEach(t -> b.putInt(t.length).put(t));
        return IndexValue.seal(b);
    }

    static List<String> decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, TEXTS_OFFSET, "row of a PG's differences");
        int count = b.getInt(COUNT_OFFSET);
        b.position(TEXTS_OFFSET);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int length = b.remaining() < LENGTH_BYTES ? -1 : b.getInt();
            if (length < 0 || length > b.remaining()) {
                throw new IndexDamagedException("row of a PG's differences: its length is wrong");
            }
            texts.add(new String(value, b.position(), length, StandardCharsets.UTF_8));
            b.position(b.position() + length);
        }
        if (b.hasRemaining()) {
            throw new IndexDamagedException("row of a PG's differences: its length is wrong");
        }
        return texts;
    }
}
