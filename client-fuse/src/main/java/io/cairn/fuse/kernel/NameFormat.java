package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * What precedes the names in requests that make, move or link them. Names follow the structure, one
 * or two, each ended by a NUL.
 *
 * <pre>
 * fuse_mknod_in, 16   fuse_mkdir_in, 8   fuse_rename_in, 8   fuse_rename2_in, 16   fuse_link_in, 8
 *  0 mode    u32       0 mode  u32        0 newdir u64        0 newdir  u64         0 oldnodeid u64
 *  4 rdev    u32       4 umask u32                            8 flags   u32
 *  8 umask   u32                                             12 padding u32
 * 12 padding u32
 * </pre>
 */
public final class NameFormat {
    public static final int MKNOD_SIZE = 16;
    public static final int MKDIR_SIZE = 8;
    public static final int RENAME_SIZE = 8;
    public static final int RENAME2_SIZE = 16;
    public static final int LINK_SIZE = 8;

    private NameFormat() {}

    /** Type and permissions, umask applied (we ask the kernel not to: DONT_MASK). */
    public static int mknodMode(MemorySegment in) {
        return Native.u32(in, 0) & ~(Native.u32(in, 8) & 0777);
    }

    public static int mknodRdev(MemorySegment in) {
        return Native.u32(in, 4);
    }

    /** Permissions, umask applied. */
    public static int mkdirMode(MemorySegment in) {
        return Native.u32(in, 0) & ~(Native.u32(in, 4) & 0777);
    }

    /** Of RENAME and RENAME2. */
    public static long newParent(MemorySegment in) {
        return Native.u64(in, 0);
    }

    public static int rename2Flags(MemorySegment in) {
        return Native.u32(in, 8);
    }

    public static long linkTarget(MemorySegment in) {
        return Native.u64(in, 0);
    }
}
