package io.cairn.common.rpc;

/**
 * Serves the requests of every connection of an {@link RpcServer}. Called on the connection's event
 * loop, in the order of arrival; must not block. An exception it throws is logged and answered with
 * EIO.
 */
@FunctionalInterface
public interface RpcHandler {
    void handle(RpcRequest request);
}
