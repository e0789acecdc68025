package io.cairn.common.rpc;

/** RPC on the native transport. */
class RpcEpollTest extends RpcEndToEndContract {
    RpcEpollTest() {
        super(true);
    }
}
