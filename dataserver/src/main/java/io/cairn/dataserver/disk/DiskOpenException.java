package io.cairn.dataserver.disk;

/** A disk cannot be opened; the message says which, why, and what to do. */
public class DiskOpenException extends Exception {
    /**
     * What an administrator does with a disk that has lost a part: it may have what others lost.
     */
    public static final String KEEP_AS_IT_IS =
            "keep the disk as it is while 'cairn status' says that placement groups are degraded"
                    + " (\"A dead disk\" in docs/operations.md)";

    private static final long serialVersionUID = 1;

    public DiskOpenException(String message) {
        super(message);
    }

    public DiskOpenException(String message, Throwable cause) {
        super(message, cause);
    }
}
