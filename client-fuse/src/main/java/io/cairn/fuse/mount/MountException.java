package io.cairn.fuse.mount;

import java.io.IOException;

/** A mount that could not be made or removed; the message says why and what to do, in a line. */
public final class MountException extends IOException {
    private static final long serialVersionUID = 1;

    public MountException(String message) {
        super(message);
    }

    public MountException(String message, Throwable cause) {
        super(message, cause);
    }
}
