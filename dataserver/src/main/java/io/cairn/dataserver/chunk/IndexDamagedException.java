package io.cairn.dataserver.chunk;

import java.time.Duration;

/** A value of the chunk index is not what was written, or cannot be read. */
public final class IndexDamagedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public IndexDamagedException(String message) {
        super("the chunk index is damaged: " + message);
    }

    private IndexDamagedException(Duration waited) {
        super("a read of the chunk index has not come back for %d s".formatted(waited.toSeconds()));
    }

    /** It may be whole, but its device does not answer. */
    static IndexDamagedException hangs(Duration waited) {
        return new IndexDamagedException(waited);
    }

    /** With the cause's own words: they name the file. */
    public IndexDamagedException(String message, Throwable cause) {
        super("the chunk index is damaged: " + message + ": " + cause.getMessage(), cause);
    }
}
