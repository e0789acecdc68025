package io.cairn.fuse.kernel;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's requests: number, name, and the least number of bytes that follow the header (fixed
 * structure plus the shortest names). A shorter request is answered with EINVAL undecoded.
 */
public enum FuseOpcode {
    LOOKUP(1, 2),
    FORGET(2, ForgetFormat.FORGET_SIZE),
    GETATTR(3, AttrFormat.GETATTR_IN_SIZE),
    SETATTR(4, SetAttrFormat.SIZE),
    READLINK(5, 0),
    SYMLINK(6, 4),
    MKNOD(8, NameFormat.MKNOD_SIZE + 2),
    MKDIR(9, NameFormat.MKDIR_SIZE + 2),
    UNLINK(10, 2),
    RMDIR(11, 2),
    RENAME(12, NameFormat.RENAME_SIZE + 4),
    LINK(13, NameFormat.LINK_SIZE + 2),
    OPEN(14, FileFormat.OPEN_IN_SIZE),
    READ(15, FileFormat.READ_SIZE),
    WRITE(16, FileFormat.WRITE_SIZE),
    STATFS(17, 0),
    RELEASE(18, FileFormat.RELEASE_SIZE),
    FSYNC(20, FileFormat.FSYNC_SIZE),
    SETXATTR(21, XattrFormat.SETXATTR_SIZE + 2),
    GETXATTR(22, XattrFormat.GETXATTR_SIZE + 2),
    LISTXATTR(23, XattrFormat.GETXATTR_SIZE),
    REMOVEXATTR(24, 2),
    FLUSH(25, FileFormat.FLUSH_SIZE),
    INIT(26, InitFormat.IN_MINIMUM_SIZE),
    OPENDIR(27, FileFormat.OPEN_IN_SIZE),
    READDIR(28, FileFormat.READ_SIZE),
    RELEASEDIR(29, FileFormat.RELEASE_SIZE),
    FSYNCDIR(30, FileFormat.FSYNC_SIZE),
    GETLK(31, LockFormat.IN_SIZE),
    SETLK(32, LockFormat.IN_SIZE),
    SETLKW(33, LockFormat.IN_SIZE),
    ACCESS(34, 0),
    CREATE(35, FileFormat.CREATE_SIZE + 2),
    INTERRUPT(36, ForgetFormat.INTERRUPT_SIZE),
    BMAP(37, 0),
    DESTROY(38, 0),
    IOCTL(39, 0),
    POLL(40, 0),
    NOTIFY_REPLY(41, 0),
    BATCH_FORGET(42, ForgetFormat.BATCH_SIZE),
    FALLOCATE(43, FileFormat.FALLOCATE_SIZE),
    READDIRPLUS(44, FileFormat.READ_SIZE),
    RENAME2(45, NameFormat.RENAME2_SIZE + 4),
    LSEEK(46, 0),
    COPY_FILE_RANGE(47, 0),
    SETUPMAPPING(48, 0),
    REMOVEMAPPING(49, 0),
    SYNCFS(50, 0),
    TMPFILE(51, 0),
    STATX(52, StatxFormat.IN_SIZE),
    COPY_FILE_RANGE_64(53, 0);

    private static final @Nullable FuseOpcode[] BY_NUMBER = new FuseOpcode[64];

    static {
        for (FuseOpcode opcode : values()) {
            BY_NUMBER[opcode.number] = opcode;
        }
    }

    private final int number;
    private final int minimumBytes;
    private final String label;

    FuseOpcode(int number, int minimumBytes) {
        this.number = number;
        this.minimumBytes = minimumBytes;
        this.label = name().toLowerCase(Locale.ROOT);
    }

    public int number() {
        return number;
    }

    /** The least size of a request's body, bytes after the header. */
    public int minimumBytes() {
        return minimumBytes;
    }

    /** Lower-case name: what metrics and logs say. */
    public String label() {
        return label;
    }

    /** Whether the kernel waits for an answer. */
    public boolean answered() {
        return switch (this) {
            case FORGET, BATCH_FORGET, INTERRUPT, NOTIFY_REPLY -> false;
            default -> true;
        };
    }

    /** Null for a request newer than this code. */
    public static @Nullable FuseOpcode of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : null;
    }
}
