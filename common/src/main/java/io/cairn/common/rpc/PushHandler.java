package io.cairn.common.rpc;

import io.netty.buffer.ByteBuf;

/**
 * Receives a server's one-way messages of one method on the client. Called on the connection's
 * event loop, in the order sent; must not block.
 */
@FunctionalInterface
public interface PushHandler {
    /**
     * @param from the channel it came through
     * @param head released after the handler returns
     */
    void pushed(RpcChannel from, ByteBuf head);
}
