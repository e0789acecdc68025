package io.cairn.fuse.kernel;

import java.lang.foreign.MemorySegment;

/**
 * Requests on open files and directories, and what OPEN and WRITE answer.
 *
 * <pre>
 * fuse_open_in, 8      fuse_create_in, 16   fuse_open_out, 16    fuse_write_out, 8
 *  0 flags      u32     0 flags      u32     0 fh         u64     0 size    u32
 *  4 open_flags u32     4 mode       u32     8 open_flags u32     4 padding u32
 *                       8 umask      u32    12 backing_id s32
 *                      12 open_flags u32
 *
 * fuse_read_in, 40     fuse_write_in, 40    fuse_release_in, 24  fuse_flush_in, 24
 *  0 fh         u64     0 fh          u64    0 fh            u64   0 fh         u64
 *  8 offset     u64     8 offset      u64    8 flags         u32   8 unused     u32
 * 16 size       u32    16 size        u32   12 release_flags u32  12 padding    u32
 * 20 read_flags u32    20 write_flags u32   16 lock_owner    u64  16 lock_owner u64
 * 24 lock_owner u64    24 lock_owner  u64
 * 32 flags      u32    32 flags       u32   fuse_fsync_in, 16    fuse_fallocate_in, 32
 * 36 padding    u32    36 padding     u32    0 fh          u64    0 fh      u64
 *                      40 the data           8 fsync_flags u32    8 offset  u64
 *                                           12 padding     u32   16 length  u64
 *                                                                24 mode    u32
 *                                                                28 padding u32
 * </pre>
 */
public final class FileFormat {
    public static final int OPEN_IN_SIZE = 8;
    public static final int CREATE_SIZE = 16;
    public static final int OPEN_OUT_SIZE = 16;
    public static final int READ_SIZE = 40;
    public static final int WRITE_SIZE = 40;
    public static final int WRITE_OUT_SIZE = 8;
    public static final int RELEASE_SIZE = 24;
    public static final int FLUSH_SIZE = 24;
    public static final int FSYNC_SIZE = 16;
    public static final int FALLOCATE_SIZE = 32;

    /** No page cache for this open file. */
    public static final int FOPEN_DIRECT_IO = 1;

    /** The pages the kernel has of this inode are right. */
    public static final int FOPEN_KEEP_CACHE = 1 << 1;

    /** No FLUSH when a descriptor is closed. */
    public static final int FOPEN_NOFLUSH = 1 << 5;

    /** Direct writes within the file's size need no exclusive lock on the inode. */
    public static final int FOPEN_PARALLEL_DIRECT_WRITES = 1 << 6;

    private static final int WRITE_CACHE = 1;
    private static final int WRITE_KILL_SUIDGID = 1 << 2;

    private FileFormat() {}

    /** open(2) flags of OPEN, OPENDIR and CREATE. */
    public static int openFlags(MemorySegment in) {
        return Native.u32(in, 0);
    }

    /** Permissions, umask applied. */
    public static int createMode(MemorySegment in) {
        return Native.u32(in, 4) & ~(Native.u32(in, 8) & 0777);
    }

    /** Of every request that has one, which always comes first. */
    public static long handle(MemorySegment in) {
        return Native.u64(in, 0);
    }

    /** Of FLUSH: the process that closed a descriptor, as an owner of locks. */
    public static long lockOwner(MemorySegment in) {
        return Native.u64(in, 16);
    }

    /** Of READ, WRITE, READDIR, READDIRPLUS and FALLOCATE. */
    public static long offset(MemorySegment in) {
        return Native.u64(in, 8);
    }

    /** Bytes, of READ, WRITE, READDIR and READDIRPLUS. */
    public static int size(MemorySegment in) {
        return Native.u32(in, 16);
    }

    /** The writer lacks CAP_FSETID, so set-user-id and set-group-id go. */
    public static boolean writeKillsPrivileges(MemorySegment in) {
        return (Native.u32(in, 20) & WRITE_KILL_SUIDGID) != 0;
    }

    /**
     * Whether a program wrote it to a file that is O_APPEND at this moment: the offset is then what
     * the kernel takes for the size. Pages written back have their place.
     */
    public static boolean writeAppends(MemorySegment in) {
        return (Native.u32(in, 20) & WRITE_CACHE) == 0 && (writeFlags(in) & OpenFlag.O_APPEND) != 0;
    }

    /** open(2) flags of the written file, O_DSYNC also where only this write asked for it. */
    public static int writeFlags(MemorySegment in) {
        return Native.u32(in, 32);
    }

    public static long fallocateLength(MemorySegment in) {
        return Native.u64(in, 16);
    }

    public static int fallocateMode(MemorySegment in) {
        return Native.u32(in, 24);
    }

    public static void putOpenOut(MemorySegment out, long at, long handle, int flags) {
        Native.u64(out, at, handle);
        Native.u32(out, at + 8, flags);
        Native.u32(out, at + 12, 0);
    }

    public static void putWriteOut(MemorySegment out, int sizeBytes) {
        Native.u32(out, 0, sizeBytes);
        Native.u32(out, 4, 0);
    }
}
