package io.cairn.common.errno;

/**
 * A failure the caller of a file system operation can expect. Carries no stack trace: it is an
 * answer, not a defect.
 */
public final class FsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Errno errno;

    public FsException(Errno errno, String detail) {
        super(errno + " (" + errno.text() + "): " + detail, null, false, false);
        this.errno = errno;
    }

    public Errno errno() {
        return errno;
    }
}
