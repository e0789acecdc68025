package io.cairn.cli.local;

import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.mds.server.MdsConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

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

    /** The member that the configuration is of. */
    static MdsConfig.Member self(MdsConfig config) {
        return config.members().stream()
                .filter(m -> m.id() == config.memberId())
                .findFirst()
                .orElseThrow();
    }
}
