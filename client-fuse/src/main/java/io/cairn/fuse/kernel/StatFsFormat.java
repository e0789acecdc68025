package io.cairn.fuse.kernel;

import io.cairn.common.proto.StatFsReply;
import java.lang.foreign.MemorySegment;

/**
 * <pre>
 * fuse_statfs_out, 80 bytes
 *  0 blocks u64 of frsize      40 bsize   u32
 *  8 bfree  u64                44 namelen u32
 * 16 bavail u64                48 frsize  u32
 * 24 files  u64                52 padding u32
 * 32 ffree  u64                56 spare   u32[6]
 * </pre>
 */
public final class StatFsFormat {
    public static final int SIZE = 80;

    public static final int BLOCK_BYTES = 4096;
    public static final int NAME_BYTES = 255;

    private StatFsFormat() {}

    /** What may be written; the rest of what is free is kept for the servers. */
    public static long availableBytes(StatFsReply space) {
        return space.hasAvailableBytes() ? space.getAvailableBytes() : space.getFreeBytes();
    }

    public static void put(MemorySegment out, StatFsReply space) {
        out.asSlice(0, SIZE).fill((byte) 0);
        Native.u64(out, 0, space.getCapacityBytes() / BLOCK_BYTES);
        Native.u64(out, 8, space.getFreeBytes() / BLOCK_BYTES);
        Native.u64(out, 16, availableBytes(space) / BLOCK_BYTES);
        Native.u64(out, 24, space.getInodesUsed() + space.getInodesFree());
        Native.u64(out, 32, space.getInodesFree());
        Native.u32(out, 40, BLOCK_BYTES);
        Native.u32(out, 44, NAME_BYTES);
        Native.u32(out, 48, BLOCK_BYTES);
    }
}
