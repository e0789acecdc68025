package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * Locks of files.
 *
 * <pre>
 * fuse_lk_in, 48: GETLK, SETLK, SETLKW   fuse_lk_out, 24: GETLK
 *  0 fh       u64                         0 start u64
 *  8 owner    u64                         8 end   u64
 * 16 start    u64 first byte             16 type  u32
 * 24 end      u64 last byte              20 pid   u32
 * 32 type     u32 as of fcntl(2)
 * 36 pid      u32 of the process
 * 40 lk_flags u32
 * 44 padding  u32
 * </pre>
 */
public final class LockFormat {
    public static final int IN_SIZE = 48;
    public static final int OUT_SIZE = 24;

    private static final int F_RDLCK = 0;
    private static final int F_WRLCK = 1;
    private static final int F_UNLCK = 2;

    /** The lock is one of flock(2). */
    private static final int LK_FLOCK = 1;

    private LockFormat() {}

    /** A process, or an open file; the numbers of both do not meet. */
    public static long owner(MemorySegment in) {
        return Native.u64(in, 8);
    }

    public static long start(MemorySegment in) {
        return Native.u64(in, 16);
    }

    /** The last byte; 2^63 - 1: to the end. */
    public static long end(MemorySegment in) {
        return Native.u64(in, 24);
    }

    public static boolean isUnlock(MemorySegment in) {
        return Native.u32(in, 32) == F_UNLCK;
    }

    public static boolean isExclusive(MemorySegment in) {
        return Native.u32(in, 32) == F_WRLCK;
    }

    public static int pid(MemorySegment in) {
        return Native.u32(in, 36);
    }

    public static boolean isFlock(MemorySegment in) {
        return (Native.u32(in, 40) & LK_FLOCK) != 0;
    }

    /** A lock that is in the way. */
    public static void putOut(MemorySegment out, long start, long end, boolean exclusive, int pid) {
        Native.u64(out, 0, start);
        Native.u64(out, 8, end);
        Native.u32(out, 16, exclusive ? F_WRLCK : F_RDLCK);
        Native.u32(out, 20, pid);
    }

    /** Nothing is in the way. */
    public static void putFree(MemorySegment out) {
        Native.u64(out, 0, 0);
        Native.u64(out, 8, 0);
        Native.u32(out, 16, F_UNLCK);
        Native.u32(out, 20, 0);
    }
}
