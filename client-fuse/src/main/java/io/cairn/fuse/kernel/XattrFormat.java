package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * <pre>
 * fuse_setxattr_in, 8 (no SETXATTR_EXT)   fuse_getxattr_in, 8   fuse_getxattr_out, 8
 *  0 size  u32 of the value                0 size    u32         0 size    u32
 *  4 flags u32                             4 padding u32         4 padding u32
 *  8 name, NUL, value                      8 name, NUL (GETXATTR only)
 * </pre>
 *
 * A size of 0 in GETXATTR and LISTXATTR asks for the length only, answered by fuse_getxattr_out.
 */
public final class XattrFormat {
    public static final int SETXATTR_SIZE = 8;
    public static final int GETXATTR_SIZE = 8;
    public static final int GETXATTR_OUT_SIZE = 8;

    private XattrFormat() {}

    public static int size(MemorySegment in) {
        return Native.u32(in, 0);
    }

    public static int setFlags(MemorySegment in) {
        return Native.u32(in, 4);
    }

    public static void putSize(MemorySegment out, int sizeBytes) {
        Native.u32(out, 0, sizeBytes);
        Native.u32(out, 4, 0);
    }
}
