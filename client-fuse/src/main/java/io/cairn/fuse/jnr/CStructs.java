package io.cairn.fuse.jnr;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.StatFsReply;
import io.cairn.fuse.kernel.AttrFormat;
import io.cairn.fuse.kernel.StatFsFormat;
import java.lang.foreign.MemorySegment;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;
import ru.serce.jnrfuse.struct.FileStat;
import ru.serce.jnrfuse.struct.Statvfs;

/**
 * C structures and strings as libfuse passes them. Any thread.
 *
 * <pre>
 * fuse_file_info of libfuse 2 on 64 bits
 *  0 flags     int                16 writepage  int, not 0: pages written back
 *  8 fh_old    unsigned long      20 bit 0      direct_io: no page cache
 *                                 24 fh         u64
 *                                 32 lock_owner u64
 *
 * struct flock on 64 bits
 *  0 l_type short, l_whence short  16 l_len long, 0: to the end
 *  8 l_start long                  24 l_pid int
 * </pre>
 *
 * jnr-fuse's own class of it leaves {@code writepage} out, so that its bits lie elsewhere.
 */
final class CStructs {
    private static final int INFO_FLAGS = 0;
    private static final int INFO_WRITE_PAGE = 16;
    private static final int INFO_BITS = 20;
    private static final int INFO_HANDLE = 24;
    private static final int INFO_LOCK_OWNER = 32;
    private static final int FLOCK_TYPE = 0;
    private static final int FLOCK_START = 8;
    private static final int FLOCK_LENGTH = 16;
    private static final int FLOCK_PID = 24;
    private static final short F_RDLCK = 0;
    private static final short F_WRLCK = 1;
    private static final short F_UNLCK = 2;
    private static final int DIRECT_IO = 1;

    private CStructs() {}

    /** One character for each byte. */
    static String string(Pointer pointer) {
        return memory(pointer, Long.MAX_VALUE).getString(0, ISO_8859_1);
    }

    static byte[] bytes(Pointer pointer) {
        return latin(string(pointer));
    }

    /** The bytes that {@link #string} has made characters of. */
    static byte[] latin(String text) {
        return text.getBytes(ISO_8859_1);
    }

    static byte[] bytes(Pointer pointer, long length) {
        return memory(pointer, length).toArray(JAVA_BYTE);
    }

    static MemorySegment memory(Pointer pointer, long bytes) {
        return MemorySegment.ofAddress(pointer.address()).reinterpret(bytes);
    }

    static void copy(byte[] from, Pointer to) {
        MemorySegment.copy(from, 0, memory(to, from.length), JAVA_BYTE, 0, from.length);
    }

    static int openFlags(Pointer info) {
        return info.getInt(INFO_FLAGS);
    }

    static boolean isPageWrittenBack(Pointer info) {
        return info.getInt(INFO_WRITE_PAGE) != 0;
    }

    static long handle(Pointer info) {
        return info.getLong(INFO_HANDLE);
    }

    static void setHandle(Pointer info, long handle) {
        info.putLong(INFO_HANDLE, handle);
    }

    static void setDirectIo(Pointer info) {
        info.putInt(INFO_BITS, info.getInt(INFO_BITS) | DIRECT_IO);
    }

    /** Of lock and flock: a process, or an open file. */
    static long lockOwner(Pointer info) {
        return info.getLong(INFO_LOCK_OWNER);
    }

    static boolean isUnlock(Pointer flock) {
        return flock.getShort(FLOCK_TYPE) == F_UNLCK;
    }

    /** libfuse gives the place from the file's beginning. */
    static FileLock lock(Pointer flock, long owner) {
        long start = flock.getLong(FLOCK_START);
        long length = flock.getLong(FLOCK_LENGTH);
        return FileLock.newBuilder()
                .setOwner(owner)
                .setExclusive(flock.getShort(FLOCK_TYPE) == F_WRLCK)
                .setStart(start)
                .setEnd(length == 0 ? Long.MAX_VALUE : start + length - 1)
                .setPid(flock.getInt(FLOCK_PID))
                .build();
    }

    static void putFree(Pointer flock) {
        flock.putShort(FLOCK_TYPE, F_UNLCK);
    }

    static void putLock(Pointer flock, FileLock lock) {
        boolean toTheEnd = lock.getEnd() == Long.MAX_VALUE;
        flock.putShort(FLOCK_TYPE, lock.getExclusive() ? F_WRLCK : F_RDLCK);
        flock.putShort(FLOCK_TYPE + 2, (short) 0); // SEEK_SET
        flock.putLong(FLOCK_START, lock.getStart());
        flock.putLong(FLOCK_LENGTH, toTheEnd ? 0 : lock.getEnd() - lock.getStart() + 1);
        flock.putInt(FLOCK_PID, lock.getPid());
    }

    static void putStat(Pointer out, Attr attr) {
        FileStat stat = FileStat.of(out);
        stat.st_ino.set(attr.getInode());
        stat.st_mode.set(attr.getMode());
        stat.st_nlink.set(attr.getNlink());
        stat.st_uid.set(Integer.toUnsignedLong(attr.getUid()));
        stat.st_gid.set(Integer.toUnsignedLong(attr.getGid()));
        stat.st_rdev.set(Integer.toUnsignedLong(attr.getRdev()));
        stat.st_size.set(attr.getSize());
        stat.st_blocks.set(AttrFormat.blocks(attr));
        stat.st_blksize.set(AttrFormat.blksize(attr));
        stat.st_atim.tv_sec.set(attr.getAtime().getSeconds());
        stat.st_atim.tv_nsec.set(attr.getAtime().getNanos());
        stat.st_mtim.tv_sec.set(attr.getMtime().getSeconds());
        stat.st_mtim.tv_nsec.set(attr.getMtime().getNanos());
        stat.st_ctim.tv_sec.set(attr.getCtime().getSeconds());
        stat.st_ctim.tv_nsec.set(attr.getCtime().getNanos());
    }

    /** What a listing tells of an entry: its inode and its type. */
    static void putEntry(MemorySegment out, long inode, int mode) {
        FileStat stat =
                FileStat.of(
                        Pointer.wrap(Runtime.getSystemRuntime(), out.address(), out.byteSize()));
        stat.st_ino.set(inode);
        stat.st_mode.set(mode);
    }

    static void putStatvfs(Pointer out, StatFsReply space) {
        Statvfs stat = Statvfs.of(out);
        stat.f_bsize.set(StatFsFormat.BLOCK_BYTES);
        stat.f_frsize.set(StatFsFormat.BLOCK_BYTES);
        stat.f_blocks.set(space.getCapacityBytes() / StatFsFormat.BLOCK_BYTES);
        stat.f_bfree.set(space.getFreeBytes() / StatFsFormat.BLOCK_BYTES);
        stat.f_bavail.set(StatFsFormat.availableBytes(space) / StatFsFormat.BLOCK_BYTES);
        stat.f_files.set(space.getInodesUsed() + space.getInodesFree());
        stat.f_ffree.set(space.getInodesFree());
        stat.f_favail.set(space.getInodesFree());
        stat.f_namemax.set(StatFsFormat.NAME_BYTES);
    }
}
