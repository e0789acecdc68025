package io.cairn.dataserver.pg;

/**
 * A call to a disk's store found the disk unusable: the disk is out from now on, and what was asked
 * of it is answered by {@link LocalDisk#outStatus}.
 */
public final class DiskOutException extends RuntimeException {
    private static final long serialVersionUID = 1;

    DiskOutException(String message, Throwable cause) {
        super(message, cause);
    }
}
