package io.cairn.common.data;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;

/** What is thrown for a message whose bytes cannot be what they should be. Stateless. */
final class Malformed {
    private Malformed() {}

    /**
     * EPROTO with a sentence.
     *
     * @param message what it should be, such as "read reply"
     */
    static FsException of(String message, String why) {
        return new FsException(Errno.EPROTO, "malformed " + message + ": " + why);
    }
}
