package io.cairn.cli.local;

import io.cairn.cli.part.MountConfig;
import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.mds.server.MdsConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The parts of a local cluster as its directory was when it was read.
 *
 * @param all MDS members first, then data servers, then the mount
 */
record Parts(List<Part> all) {
    Parts {
        all = List.copyOf(all);
    }

    List<Part> mds() {
        return of(PartKind.MDS);
    }

    List<Part> data() {
        return of(PartKind.DATA);
    }

    private List<Part> of(PartKind kind) {
        return all.stream().filter(p -> p.kind() == kind).toList();
    }

    /** Those whose process is alive now. */
    List<Part> running() throws IOException {
        List<Part> running = new ArrayList<>();
        for (Part part : all) {
            if (part.process().isPresent()) {
                running.add(part);
            }
        }
        return running;
    }

    /** Where the MDS members listen, by their configurations. */
    List<HostPort> mdsAddresses() {
        List<HostPort> addresses = new ArrayList<>();
        for (Part part : mds()) {
            addresses.add(self(Config.load(part.config(), MdsConfig.class)).address());
        }
        return addresses;
    }

    /** Where each part's metrics are, by its name. */
    Map<String, HostPort> metricsAddresses() {
        Map<String, HostPort> addresses = new LinkedHashMap<>();
        for (Part part : all) {
            Optional<HostPort> address =
                    switch (part.kind()) {
                        case MDS -> Config.load(part.config(), MdsConfig.class).metricsAddress();
                        case DATA ->
                                Config.load(part.config(), DataServerConfig.class).metricsAddress();
                        case MOUNT ->
                                Config.load(part.config(), MountConfig.class).metricsAddress();
                        case EMBEDDED -> Optional.empty(); // those of its parts
                    };
            address.ifPresent(a -> addresses.put(part.name(), a));
        }
        return addresses;
    }

    /** The first data server's; all were made alike. */
    DataServerConfig.DiskTable firstDisk() {
        return Config.load(data().getFirst().config(), DataServerConfig.class).disk().getFirst();
    }

    /** The member that the configuration is of. */
    static MdsConfig.Member self(MdsConfig config) {
        return config.members().stream()
                .filter(m -> m.id() == config.memberId())
                .findFirst()
                .orElseThrow();
    }
}
