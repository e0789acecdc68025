package io.cairn.common.rpc;

/** RPC on Java's own transport, which other systems than Linux use. */
class RpcNioTest extends RpcEndToEndContract {
    RpcNioTest() {
        super(false);
    }
}
