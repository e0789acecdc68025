package io.cairn.fuse.kernel;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Timespec;
import java.lang.foreign.MemorySegment;

/**
 * Attributes and the answers that carry them.
 *
 * <pre>
 * fuse_attr, 88 bytes       fuse_attr_out, 104      fuse_entry_out, 128
 *  0 ino       u64           0 attr_valid      u64    0 nodeid           u64
 *  8 size      u64           8 attr_valid_nsec u32    8 generation       u64
 * 16 blocks    u64          12 dummy           u32   16 entry_valid      u64
 * 24 atime     u64          16 attr                  24 attr_valid       u64
 * 32 mtime     u64                                   32 entry_valid_nsec u32
 * 40 ctime     u64         fuse_getattr_in, 16       36 attr_valid_nsec  u32
 * 48 atimensec u32           0 getattr_flags   u32   40 attr
 * 52 mtimensec u32           4 dummy           u32
 * 56 ctimensec u32           8 fh              u64
 * 60 mode      u32
 * 64 nlink     u32
 * 68 uid       u32
 * 72 gid       u32
 * 76 rdev      u32
 * 80 blksize   u32
 * 84 flags     u32
 * </pre>
 */
public final class AttrFormat {
    public static final int SIZE = 88;
    public static final int ATTR_OUT_SIZE = 16 + SIZE;
    public static final int ENTRY_OUT_SIZE = 40 + SIZE;
    public static final int GETATTR_IN_SIZE = 16;

    /** The same for every inode: inode ids are never reused, so none needs a second generation. */
    public static final long GENERATION = 0;

    /**
     * st_blksize of a regular file at most, bytes. stdio takes it as its buffer size; without a
     * kernel write-back cache a small one would make every 4 KiB of it a round trip.
     */
    static final int BLKSIZE_MAXIMUM = 65_536;

    private static final int BLKSIZE_MINIMUM = 4096;
    private static final int NANOS_PER_SECOND = 1_000_000_000;

    private AttrFormat() {}

    /** fuse_attr at an offset. */
    public static void put(MemorySegment out, long at, Attr attr) {
        Native.u64(out, at, attr.getInode());
        Native.u64(out, at + 8, attr.getSize());
        Native.u64(out, at + 16, blocks(attr));
        Native.u64(out, at + 24, attr.getAtime().getSeconds());
        Native.u64(out, at + 32, attr.getMtime().getSeconds());
        Native.u64(out, at + 40, attr.getCtime().getSeconds());
        Native.u32(out, at + 48, attr.getAtime().getNanos());
        Native.u32(out, at + 52, attr.getMtime().getNanos());
        Native.u32(out, at + 56, attr.getCtime().getNanos());
        Native.u32(out, at + 60, attr.getMode());
        Native.u32(out, at + 64, attr.getNlink());
        Native.u32(out, at + 68, attr.getUid());
        Native.u32(out, at + 72, attr.getGid());
        Native.u32(out, at + 76, attr.getRdev());
        Native.u32(out, at + 80, blksize(attr));
        Native.u32(out, at + 84, 0);
    }

    public static void putAttrOut(MemorySegment out, Attr attr, long validNanos) {
        Native.u64(out, 0, validNanos / NANOS_PER_SECOND);
        Native.u32(out, 8, (int) (validNanos % NANOS_PER_SECOND));
        Native.u32(out, 12, 0);
        put(out, 16, attr);
    }

    public static void putEntryOut(
            MemorySegment out,
            long at,
            long node,
            Attr attr,
            long entryValidNanos,
            long attrValidNanos) {
        Native.u64(out, at, node);
        Native.u64(out, at + 8, GENERATION);
        Native.u64(out, at + 16, entryValidNanos / NANOS_PER_SECOND);
        Native.u64(out, at + 24, attrValidNanos / NANOS_PER_SECOND);
        Native.u32(out, at + 32, (int) (entryValidNanos % NANOS_PER_SECOND));
        Native.u32(out, at + 36, (int) (attrValidNanos % NANOS_PER_SECOND));
        put(out, at + 40, attr);
    }

    /** A fuse_entry_out that says there is no such name, and for how long. */
    public static void putMissing(MemorySegment out, long validNanos) {
        out.asSlice(0, ENTRY_OUT_SIZE).fill((byte) 0);
        Native.u64(out, 16, validNanos / NANOS_PER_SECOND);
        Native.u32(out, 32, (int) (validNanos % NANOS_PER_SECOND));
    }

    /** st_blocks: 512-byte units the size covers; what a sparse file really takes is not known. */
    public static long blocks(Attr attr) {
        return (attr.getSize() >>> 9) + ((attr.getSize() & 511) == 0 ? 0 : 1);
    }

    public static int blksize(Attr attr) {
        int unit = attr.getLayout().getStripeUnit();
        boolean regular = Mode.isRegular(attr.getMode());
        return regular && unit > BLKSIZE_MINIMUM
                ? Math.min(unit, BLKSIZE_MAXIMUM)
                : BLKSIZE_MINIMUM;
    }

    static Timespec timespec(long seconds, int nanos) {
        return Timespec.newBuilder().setSeconds(seconds).setNanos(nanos).build();
    }
}
