package io.cairn.dataserver.disk;

/** A disk cannot be opened; the message says which, why, and what to do. */
public class DiskOpenException extends Exception {
    private static final long serialVersionUID = 1;

    public DiskOpenException(String message) {
        super(message);
    }

    public DiskOpenException(String message, Throwable cause) {
        super(message, cause);
    }
}
