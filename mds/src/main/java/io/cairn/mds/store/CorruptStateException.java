package io.cairn.mds.store;

/** The state cannot be read, written or trusted any more: the process must stop. */
public final class CorruptStateException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public CorruptStateException(String message) {
        super(message);
    }

    public CorruptStateException(String message, Throwable cause) {
        super(message, cause);
    }
}
