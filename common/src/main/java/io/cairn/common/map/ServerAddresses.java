package io.cairn.common.map;

import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Addresses of servers, each parsed once. One thread. */
final class ServerAddresses {
    private final Map<Integer, Server> servers;
    private final Map<Integer, InetSocketAddress> parsed = new HashMap<>();

    ServerAddresses(Map<Integer, Server> servers) {
        this.servers = servers;
    }

    /** Null for an unknown server. */
    @Nullable InetSocketAddress of(int server) {
        @Nullable InetSocketAddress known = parsed.get(server);
        @Nullable Server entry = servers.get(server);
        if (known != null || entry == null) {
            return known;
        }
        InetSocketAddress address = RpcAddress.parse(entry.getAddress());
        parsed.put(server, address);
        return address;
    }
}
