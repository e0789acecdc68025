package io.cairn.fuse.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Numbers in the machine's own byte order, which is what FUSE speaks. Unaligned access: structures
 * start at any multiple of 8 in a request, names and entries anywhere.
 */
final class Native {
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfShort SHORT = JAVA_SHORT_UNALIGNED;

    private Native() {}

    static int u16(MemorySegment at, long offset) {
        return Short.toUnsignedInt(at.get(SHORT, offset));
    }

    static int u32(MemorySegment at, long offset) {
        return at.get(INT, offset);
    }

    static long u64(MemorySegment at, long offset) {
        return at.get(LONG, offset);
    }

    static void u16(MemorySegment at, long offset, int value) {
        at.set(SHORT, offset, (short) value);
    }

    static void u32(MemorySegment at, long offset, int value) {
        at.set(INT, offset, value);
    }

    static void u64(MemorySegment at, long offset, long value) {
        at.set(LONG, offset, value);
    }

    static void bytes(MemorySegment at, long offset, byte[] value) {
        MemorySegment.copy(value, 0, at, JAVA_BYTE, offset, value.length);
    }
}
