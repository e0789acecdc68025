package io.cairn.common.map;

import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Server;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The disks of one map as primaries, one object each, however many PGs they serve. One thread. */
final class PrimaryDisks {
    private final Map<Integer, Server> servers;
    private final ServerAddresses addresses;
    private final Map<Integer, PrimaryDisk> made = new HashMap<>();

    PrimaryDisks(Map<Integer, Server> servers) {
        this.servers = servers;
        addresses = new ServerAddresses(servers);
    }

    /** Null for a disk of an unknown server. */
    @Nullable PrimaryDisk of(Disk disk) {
        @Nullable PrimaryDisk known = made.get(disk.getId());
        @Nullable Server server = servers.get(disk.getServer());
        @Nullable InetSocketAddress address = addresses.of(disk.getServer());
        if (known != null || server == null || address == null) {
            return known;
        }
        var primary =
                new PrimaryDisk(disk.getId(), server.getId(), server.getIncarnation(), address);
        made.put(disk.getId(), primary);
        return primary;
    }
}
