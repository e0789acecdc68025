package io.cairn.fuse.kernel;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Timespec;
import java.lang.foreign.MemorySegment;

/**
 * STATX, which the kernel sends where a process asks for the time of birth.
 *
 * <pre>
 * fuse_statx_in, 24          fuse_statx_out, 288         fuse_statx, 256
 *  0 getattr_flags u32        0 attr_valid      u64       0 mask    u32    40 size            u64
 *  4 reserved      u32        8 attr_valid_nsec u32       4 blksize u32    48 blocks          u64
 *  8 fh            u64       12 flags           u32       8 attributes u64 56 attributes_mask u64
 * 16 sx_flags      u32       16 spare           u64[2]   16 nlink   u32    64 atime   sx_time
 * 20 sx_mask       u32       32 stat                     20 uid     u32    80 btime   sx_time
 *                                                        24 gid     u32    96 ctime   sx_time
 * fuse_sx_time, 16                                       28 mode    u16   112 mtime   sx_time
 *  0 tv_sec s64                                          30 spare   u16   128 rdev_major, minor u32
 *  8 tv_nsec u32                                         32 ino     u64   136 dev_major, minor  u32
 * 12 reserved s32                                                         144 spare  u64[14]
 * </pre>
 */
public final class StatxFormat {
    public static final int IN_SIZE = 24;
    public static final int OUT_SIZE = 288;

    /** STATX_BASIC_STATS and STATX_BTIME. */
    private static final int MASK = 0xfff;

    private static final int NANOS_PER_SECOND = 1_000_000_000;

    private StatxFormat() {}

    public static void putOut(MemorySegment out, Attr attr, long validNanos) {
        out.asSlice(0, OUT_SIZE).fill((byte) 0);
        Native.u64(out, 0, validNanos / NANOS_PER_SECOND);
        Native.u32(out, 8, (int) (validNanos % NANOS_PER_SECOND));
        MemorySegment stat = out.asSlice(32, 256);
        Native.u32(stat, 0, MASK);
        Native.u32(stat, 4, AttrFormat.blksize(attr));
        Native.u32(stat, 16, attr.getNlink());
        Native.u32(stat, 20, attr.getUid());
        Native.u32(stat, 24, attr.getGid());
        Native.u16(stat, 28, attr.getMode());
        Native.u64(stat, 32, attr.getInode());
        Native.u64(stat, 40, attr.getSize());
        Native.u64(stat, 48, AttrFormat.blocks(attr));
        putTime(stat, 64, attr.getAtime());
        putTime(stat, 80, attr.getBtime());
        putTime(stat, 96, attr.getCtime());
        putTime(stat, 112, attr.getMtime());
        Native.u32(stat, 128, (attr.getRdev() >>> 8) & 0xfff);
        Native.u32(stat, 132, (attr.getRdev() & 0xff) | ((attr.getRdev() >>> 12) & 0xfff00));
    }

    private static void putTime(MemorySegment stat, long at, Timespec time) {
        Native.u64(stat, at, time.getSeconds());
        Native.u32(stat, at + 8, time.getNanos());
    }
}
