package io.cairn.common.errno;

/**
 * A failure the caller of a file system operation can expect. Carries no stack trace: it is an
 * answer, not a defect.
 */
public final class FsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Errno errno;
    private final String detail;

    public FsException(Errno errno, String detail) {
        super(errno + " (" + errno.text() + "): " + detail, null, false, false);
        this.errno = errno;
        this.detail = detail;
    }

    public Errno errno() {
        return errno;
    }

    /** The message without the name of the errno: what is sent on, or told to a person. */
    public String detail() {
        return detail;
    }
}
