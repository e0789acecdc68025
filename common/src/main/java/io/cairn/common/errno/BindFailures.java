package io.cairn.common.errno;

import java.net.BindException;

/** What a server says that cannot listen where its configuration tells it to. */
public final class BindFailures {
    private BindFailures() {}

    /**
     * An exception that names the address: the system's own does not.
     *
     * @param what the address is for, as in "the Raft address"
     */
    public static BindException named(String what, Object address, Throwable cause) {
        BindException named =
                new BindException(
                        "%s %s cannot be bound: %s".formatted(what, address, cause.getMessage()));
        named.initCause(cause);
        return named;
    }

    /**
     * Whether another program has the address; otherwise it is not this machine's, or forbidden.
     */
    public static boolean inUse(BindException e) {
        return String.valueOf(e.getMessage()).contains("Address already in use");
    }
}
