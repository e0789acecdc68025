package io.cairn.dataserver.chunk;

/** A value of the chunk index is not what was written. */
public final class IndexDamagedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public IndexDamagedException(String message) {
        super("the chunk index is damaged: " + message);
    }

    /** With the cause's own words: they name the file. */
    public IndexDamagedException(String message, Throwable cause) {
        super("the chunk index is damaged: " + message + ": " + cause.getMessage(), cause);
    }
}
