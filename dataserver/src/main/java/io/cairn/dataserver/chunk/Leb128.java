package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/** Numbers of 0 and above in seven bits a byte, the least first (DWARF 5, 7.6). */
final class Leb128 {
    private static final int MORE = 0x80;

    private Leb128() {}

    static int length(long value) {
        return value == 0 ? 1 : (63 - Long.numberOfLeadingZeros(value)) / 7 + 1;
    }

    static void put(ByteBuffer target, long value) {
        long left = value;
        while (left >= MORE) {
            target.put((byte) (left | MORE));
            left >>>= 7;
        }
        target.put((byte) left);
    }

    /** Throws IndexDamagedException if what is there is no such number. */
    static long get(ByteBuffer source) {
        long value = 0;
        for (int shift = 0; shift < 63 && source.hasRemaining(); shift += 7) {
            byte b = source.get();
            value |= (long) (b & MORE - 1) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw new IndexDamagedException("a number without an end");
    }
}
