package io.cairn.common.errno;

import org.jspecify.annotations.Nullable;

/** The Linux error numbers Cairn uses, on the wire and towards the kernel. */
public enum Errno {
    OK(0, "success"),
    EPERM(1, "operation not permitted"),
    ENOENT(2, "no such file or directory"),
    EINTR(4, "interrupted"),
    EIO(5, "input/output error"),
    ENXIO(6, "no such device or address"),
    E2BIG(7, "argument too long"),
    EBADF(9, "bad file handle"),
    EAGAIN(11, "try again"),
    ENOMEM(12, "out of memory"),
    EACCES(13, "permission denied"),
    EBUSY(16, "busy"),
    EEXIST(17, "already exists"),
    EXDEV(18, "crosses a file system boundary"),
    ENODEV(19, "no such device"),
    ENOTDIR(20, "not a directory"),
    EISDIR(21, "is a directory"),
    EINVAL(22, "invalid argument"),
    EFBIG(27, "file too large"),
    ENOSPC(28, "no space left"),
    EROFS(30, "read-only file system"),
    EMLINK(31, "too many links"),
    ERANGE(34, "result does not fit"),
    EDEADLK(35, "would wait for ever"),
    ENAMETOOLONG(36, "name too long"),
    ENOLCK(37, "too many locks"),
    ENOSYS(38, "not implemented"),
    ENOTEMPTY(39, "directory not empty"),
    ELOOP(40, "too many symbolic links"),
    ENODATA(61, "no such attribute"),
    EPROTO(71, "protocol error"),
    EOVERFLOW(75, "value too large"),
    EBADMSG(74, "corrupted data"),
    EOPNOTSUPP(95, "not supported"),
    ETIMEDOUT(110, "timed out"),
    EHOSTUNREACH(113, "server unreachable"),
    ESTALE(116, "stale file handle"),
    EDQUOT(122, "quota exceeded");

    private static final Errno[] BY_NUMBER = new Errno[256];

    static {
        for (Errno e : values()) {
            BY_NUMBER[e.number] = e;
        }
    }

    private final int number;
    private final String text;

    Errno(int number, String text) {
        this.number = number;
        this.text = text;
    }

    /** The number as in Linux's errno.h, positive. */
    public int number() {
        return number;
    }

    public String text() {
        return text;
    }

    /** The constant of a number received from elsewhere; {@link #EIO} for one not listed here. */
    public static Errno of(int number) {
        @Nullable Errno e = number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : null;
        return e == null ? EIO : e;
    }
}
