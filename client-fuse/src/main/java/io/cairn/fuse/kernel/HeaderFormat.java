package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * What every request and every answer begins with.
 *
 * <pre>
 * fuse_in_header, 40 bytes            fuse_out_header, 16 bytes
 *  0 len      u32 header included      0 len     u32 header included
 *  4 opcode   u32                      4 error   s32 0 or -errno; notification code
 *  8 unique   u64 names the request    8 unique  u64 of the request; 0: notification
 * 16 nodeid   u64
 * 24 uid      u32
 * 28 gid      u32
 * 32 pid      u32 thread id, 0: none
 * 36 total_extlen u16, padding u16
 * </pre>
 */
public final class HeaderFormat {
    public static final int IN_SIZE = 40;
    public static final int OUT_SIZE = 16;

    private HeaderFormat() {}

    public static int length(MemorySegment in) {
        return Native.u32(in, 0);
    }

    public static int opcode(MemorySegment in) {
        return Native.u32(in, 4);
    }

    public static long unique(MemorySegment in) {
        return Native.u64(in, 8);
    }

    public static long node(MemorySegment in) {
        return Native.u64(in, 16);
    }

    public static int uid(MemorySegment in) {
        return Native.u32(in, 24);
    }

    public static int gid(MemorySegment in) {
        return Native.u32(in, 28);
    }

    public static int pid(MemorySegment in) {
        return Native.u32(in, 32);
    }

    /**
     * Writes an answer's header.
     *
     * @param error 0 or a positive error number; for a notification its negative code
     */
    public static void putOut(MemorySegment out, int lengthBytes, int error, long unique) {
        Native.u32(out, 0, lengthBytes);
        Native.u32(out, 4, -error);
        Native.u64(out, 8, unique);
    }
}
