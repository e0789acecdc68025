package io.cairn.fuse.libc;

/** Error numbers of system calls that are told apart here, positive, as in Linux's errno.h. */
public final class LinuxError {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int EACCES = 13;
    public static final int EBUSY = 16;
    public static final int ENODEV = 19;
    public static final int ENOTDIR = 20;
    public static final int EINVAL = 22;
    public static final int ENOTTY = 25;
    public static final int ENOTCONN = 107;

    private LinuxError() {}

    /** What a person reads: the name where it is one of ours, else the number. */
    public static String describe(int error) {
        return switch (error) {
            case EPERM -> "EPERM (operation not permitted)";
            case ENOENT -> "ENOENT (no such file or directory)";
            case EACCES -> "EACCES (permission denied)";
            case EBUSY -> "EBUSY (busy)";
            case ENODEV -> "ENODEV (no such device)";
            case ENOTDIR -> "ENOTDIR (not a directory)";
            case EINVAL -> "EINVAL (invalid argument)";
            case ENOTCONN -> "ENOTCONN (transport endpoint is not connected)";
            default -> "error " + error;
        };
    }
}
