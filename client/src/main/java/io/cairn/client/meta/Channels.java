package io.cairn.client.meta;

import io.cairn.common.rpc.RpcChannel;

/** The connections of a client, one per server. Any thread. */
@FunctionalInterface
public interface Channels {
    /**
     * The channel to a server, the same for the same address.
     *
     * @param address host:port
     * @throws IllegalArgumentException when it is not an address
     */
    RpcChannel channel(String address);
}
