package io.cairn.dataserver.disk;

/** A disk cannot be opened; the message says which, why, and what to do. */
public class DiskOpenException extends Exception {
    /**
     * What an administrator does with a disk that has lost a part: nothing of this version copies
     * its placement groups to another one, so what is still on it may be all there is of them.
     */
    public static final String KEEP_AS_IT_IS =
            "keep the disk as it is: this version cannot rebuild it, and its placement groups wait"
                    + " until it opens again (\"A dead disk is not replaced\" in"
                    + " docs/operations.md)";

    private static final long serialVersionUID = 1;

    public DiskOpenException(String message) {
        super(message);
    }

    public DiskOpenException(String message, Throwable cause) {
        super(message, cause);
    }
}
