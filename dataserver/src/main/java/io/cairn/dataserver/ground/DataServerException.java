package io.cairn.dataserver.ground;

/** The server cannot start or go on; the message is one line for the administrator. */
public final class DataServerException extends Exception {
    private static final long serialVersionUID = 1;

    public DataServerException(String message) {
        super(message);
    }

    public DataServerException(String message, Throwable cause) {
        super(message, cause);
    }
}
