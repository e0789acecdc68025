package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * The first exchange.
 *
 * <pre>
 * fuse_init_in, 64 bytes (16 before 7.36)   fuse_init_out, 64 bytes
 *  0 major         u32                       0 major         u32
 *  4 minor         u32                       4 minor         u32
 *  8 max_readahead u32                       8 max_readahead u32
 * 12 flags         u32                      12 flags         u32
 * 16 flags2        u32 with INIT_EXT        16 max_background u16
 * 20 unused        u32[11]                  18 congestion_threshold u16
 *                                           20 max_write     u32
 *                                           24 time_gran     u32 nanoseconds
 *                                           28 max_pages     u16
 *                                           30 map_alignment u16
 *                                           32 flags2        u32
 *                                           36 max_stack_depth u32
 *                                           40 request_timeout u16
 *                                           42 unused        u16[11]
 * </pre>
 */
public final class InitFormat {
    public static final int MAJOR = 7;

    /** Newest minor version this code knows. */
    public static final int MINOR = 45;

    /** Linux 5.4: the oldest whose features (MAX_PAGES and the 64-byte answer) are relied upon. */
    public static final int MINOR_MINIMUM = 31;

    public static final int IN_MINIMUM_SIZE = 16;
    public static final int OUT_SIZE = 64;

    private InitFormat() {}

    public static int major(MemorySegment in) {
        return Native.u32(in, 0);
    }

    public static int minor(MemorySegment in) {
        return Native.u32(in, 4);
    }

    /** Bytes. */
    public static int maxReadahead(MemorySegment in) {
        return Native.u32(in, 8);
    }

    /** Both flag words; the upper one only where the kernel says that it sent it. */
    public static long flags(MemorySegment in) {
        long low = Integer.toUnsignedLong(Native.u32(in, 12));
        boolean extended = (low & InitFlag.INIT_EXT) != 0 && in.byteSize() >= 20;
        return extended ? low | ((long) Native.u32(in, 16) << 32) : low;
    }

    /**
     * The answer.
     *
     * @param minor of the version spoken from now on
     * @param maxWriteBytes largest READ and WRITE
     */
    public record Out(
            int minor,
            int maxReadahead,
            long flags,
            int maxBackground,
            int congestionThreshold,
            int maxWriteBytes,
            int pageBytes) {}

    public static void putOut(MemorySegment out, Out value) {
        out.asSlice(0, OUT_SIZE).fill((byte) 0);
        Native.u32(out, 0, MAJOR);
        Native.u32(out, 4, value.minor);
        Native.u32(out, 8, value.maxReadahead);
        Native.u32(out, 12, (int) value.flags);
        Native.u16(out, 16, value.maxBackground);
        Native.u16(out, 18, value.congestionThreshold);
        Native.u32(out, 20, value.maxWriteBytes);
        Native.u32(out, 24, 1);
        Native.u16(out, 28, value.maxWriteBytes / value.pageBytes);
        Native.u32(out, 32, (int) (value.flags >>> 32));
    }

    /** To a kernel whose major version is not ours: only the version; it then asks again. */
    public static void putVersionOnly(MemorySegment out) {
        out.asSlice(0, OUT_SIZE).fill((byte) 0);
        Native.u32(out, 0, MAJOR);
        Native.u32(out, 4, MINOR);
    }
}
