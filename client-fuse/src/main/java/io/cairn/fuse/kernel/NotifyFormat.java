package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * What we tell the kernel unasked: an out header with unique 0 and the code in place of the error.
 *
 * <pre>
 * fuse_notify_inval_inode_out, 24
 *  0 ino u64
 *  8 off s64 negative: attributes only, else also pages from here
 * 16 len s64 0: to the end
 *
 * fuse_notify_inval_entry_out, 16, then the name and a NUL
 *  0 parent  u64
 *  8 namelen u32 without the NUL
 * 12 flags   u32 0: forget it, in whatever use it is
 *
 * INC_EPOCH (protocol 7.44), no body: all names are to be looked up again
 * </pre>
 */
public final class NotifyFormat {
    public static final int INVAL_INODE = 2;
    public static final int INVAL_INODE_SIZE = 24;

    public static final int INVAL_ENTRY = 3;
    private static final int INVAL_ENTRY_SIZE = 16;

    public static final int INC_EPOCH = 8;

    private NotifyFormat() {}

    /** The whole message that forgets every name; a kernel before 7.44 answers EINVAL. */
    public static int putForgetNames(MemorySegment out) {
        HeaderFormat.putOut(out, HeaderFormat.OUT_SIZE, -INC_EPOCH, 0);
        return HeaderFormat.OUT_SIZE;
    }

    /** The whole message, header included, that forgets an inode's attributes but no pages. */
    public static int putInvalidateAttributes(MemorySegment out, long node) {
        return putInvalidate(out, node, -1);
    }

    /** The same, that forgets an inode's attributes and its pages from an offset on. */
    public static int putInvalidatePages(MemorySegment out, long node, long from) {
        return putInvalidate(out, node, from);
    }

    /** Bytes of the whole message that forgets a name. */
    public static int forgetNameBytes(byte[] name) {
        return HeaderFormat.OUT_SIZE + INVAL_ENTRY_SIZE + name.length + 1;
    }

    /** The whole message, header included, that forgets a name of a directory. */
    public static int putForgetName(MemorySegment out, long directory, byte[] name) {
        int length = forgetNameBytes(name);
        HeaderFormat.putOut(out, length, -INVAL_ENTRY, 0);
        Native.u64(out, HeaderFormat.OUT_SIZE, directory);
        Native.u32(out, HeaderFormat.OUT_SIZE + 8, name.length);
        Native.u32(out, HeaderFormat.OUT_SIZE + 12, 0);
        Native.bytes(out, HeaderFormat.OUT_SIZE + INVAL_ENTRY_SIZE, name);
        out.asSlice(length - 1L, 1).fill((byte) 0);
        return length;
    }

    private static int putInvalidate(MemorySegment out, long node, long offset) {
        int length = HeaderFormat.OUT_SIZE + INVAL_INODE_SIZE;
        HeaderFormat.putOut(out, length, -INVAL_INODE, 0);
        Native.u64(out, HeaderFormat.OUT_SIZE, node);
        Native.u64(out, HeaderFormat.OUT_SIZE + 8, offset);
        Native.u64(out, HeaderFormat.OUT_SIZE + 16, 0);
        return length;
    }
}
