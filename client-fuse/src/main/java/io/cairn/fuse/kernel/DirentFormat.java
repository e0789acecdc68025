package io.cairn.fuse.kernel;

import io.cairn.common.posix.Mode;
import java.lang.foreign.MemorySegment;

/**
 * Directory entries, one after the other, each padded to a multiple of 8. READDIRPLUS puts a
 * fuse_entry_out before each.
 *
 * <pre>
 * fuse_dirent, 24 + name + padding
 *  0 ino     u64
 *  8 off     u64 where the next READDIR goes on
 * 16 namelen u32
 * 20 type    u32 st_mode >> 12
 * 24 name
 * </pre>
 */
public final class DirentFormat {
    public static final int SIZE = 24;

    private DirentFormat() {}

    /** Bytes an entry takes. */
    public static int bytes(int nameBytes) {
        return (SIZE + nameBytes + 7) & ~7;
    }

    /** Bytes an entry with attributes takes. */
    public static int plusBytes(int nameBytes) {
        return AttrFormat.ENTRY_OUT_SIZE + bytes(nameBytes);
    }

    public static void put(
            MemorySegment out, long at, long inode, long nextOffset, int mode, byte[] name) {
        Native.u64(out, at, inode);
        Native.u64(out, at + 8, nextOffset);
        Native.u32(out, at + 16, name.length);
        Native.u32(out, at + 20, Mode.type(mode) >>> 12);
        Native.bytes(out, at + SIZE, name);
        long end = at + SIZE + name.length;
        out.asSlice(end, at + bytes(name.length) - end).fill((byte) 0);
    }

    /** The part before an entry of READDIRPLUS for which no attributes are given. */
    public static void putNoAttributes(MemorySegment out, long at) {
        out.asSlice(at, AttrFormat.ENTRY_OUT_SIZE).fill((byte) 0);
    }
}
