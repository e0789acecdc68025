package io.cairn.common.rpc;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;

/**
 * How a call ended. On the wire: errno in the low 16 bits, {@link Advice} number in the next 8; the
 * detail is the reply's head.
 */
public record RpcStatus(Errno errno, Advice advice, String detail) {
    public static final RpcStatus OK = new RpcStatus(Errno.OK, Advice.GIVE_UP, "");

    public static RpcStatus fail(Errno errno, String detail) {
        return new RpcStatus(errno, Advice.GIVE_UP, detail);
    }

    public static RpcStatus fail(Errno errno, Advice advice, String detail) {
        return new RpcStatus(errno, advice, detail);
    }

    public boolean ok() {
        return errno == Errno.OK;
    }

    /** Whether no answer came: the request may have been executed or not. */
    public boolean unanswered() {
        return errno == Errno.EHOSTUNREACH || errno == Errno.ETIMEDOUT;
    }

    public FsException toException() {
        return new FsException(errno, detail);
    }
}
