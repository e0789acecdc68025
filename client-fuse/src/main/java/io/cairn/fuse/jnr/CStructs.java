package io.cairn.fuse.jnr;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.cairn.common.proto.Attr;
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
 * </pre>
 *
 * jnr-fuse's own class of it leaves {@code writepage} out, so that its bits lie elsewhere.
 */
final class CStructs {
    private static final int INFO_FLAGS = 0;
    private static final int INFO_WRITE_PAGE = 16;
    private static final int INFO_BITS = 20;
    private static final int INFO_HANDLE = 24;
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
