package io.cairn.cli.part;

import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.HostPort;
import io.cairn.common.config.Key;
import io.cairn.common.jmx.JmxConfig;
import java.util.List;
import java.util.Optional;

/** {@code mount.toml}: one mount. */
public record MountConfig(
        @Key(
                        value = "Address of the Prometheus endpoint; none if it is not given.",
                        example = "127.0.0.1:7200")
                Optional<HostPort> metricsAddress,
        @Key(
                        value =
                                "Address at which clients of JMX read the beans of the process; default:"
                                        + " none. `[jmx]` says who may.",
                        example = "127.0.0.1:9109")
                Optional<HostPort> jmxAddress,
        @Key("The session with the cluster.") ClientConfig client,
        @Key("Logins by JMX, and what protects them.") JmxConfig jmx) {
    /** The same, with a session with these metadata servers. */
    public MountConfig connectingTo(List<HostPort> mds) {
        return new MountConfig(metricsAddress, jmxAddress, client.connectingTo(mds), jmx);
    }
}
