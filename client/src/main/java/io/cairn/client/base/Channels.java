package io.cairn.client.base;

import io.cairn.common.rpc.RpcChannel;
import java.net.InetSocketAddress;

/** The connections of a client, one per server. Any thread. */
@FunctionalInterface
public interface Channels {
    /** The channel to a server, the same for the same address. */
    RpcChannel channel(InetSocketAddress address);
}
