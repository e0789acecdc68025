package io.cairn.common.rpc;

import io.netty.buffer.ByteBuf;

/**
 * Receives the outcome of one call, exactly once, normally on the connection's event loop; must not
 * block.
 */
@FunctionalInterface
public interface RpcCallback {
    /**
     * @param status how it ended; EHOSTUNREACH/RETRY when the connection was lost or never made,
     *     ETIMEDOUT/RETRY when the deadline passed: in both cases the request may have been
     *     executed
     * @param head the reply's head, empty when the call failed; released after the callback returns
     * @param payload likewise; retain it to keep it
     */
    void done(RpcStatus status, ByteBuf head, ByteBuf payload);
}
