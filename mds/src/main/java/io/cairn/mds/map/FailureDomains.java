package io.cairn.mds.map;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.Server;
import java.util.Locale;

/** What fails together. Stateless; any thread. */
final class FailureDomains {
    private FailureDomains() {}

    /**
     * Equal for disks that fail together. A server without a host or rack label stands alone in
     * that respect.
     */
    static String label(ClusterMap map, Disk disk, FailureDomain domain) {
        Server server = map.server(disk.getServer());
        String host = server == null ? "" : server.getHost();
        String rack = server == null ? "" : server.getRack();
        return switch (domain) {
            case FAILURE_DOMAIN_DISK, UNRECOGNIZED -> "disk " + disk.getId();
            case FAILURE_DOMAIN_SERVER -> "server " + disk.getServer();
            case FAILURE_DOMAIN_HOST ->
                    host.isEmpty() ? "server " + disk.getServer() : "host " + host;
            case FAILURE_DOMAIN_RACK ->
                    !rack.isEmpty()
                            ? "rack " + rack
                            : label(map, disk, FailureDomain.FAILURE_DOMAIN_HOST);
        };
    }

    static String name(FailureDomain domain) {
        return domain.name().replace("FAILURE_DOMAIN_", "").toLowerCase(Locale.ROOT);
    }
}
