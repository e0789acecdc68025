package io.cairn.cli.part;

import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.HostPort;
import io.cairn.common.config.Key;
import java.util.Optional;

/** {@code mount.toml}: one mount. */
public record MountConfig(
        @Key(
                        value = "Address of the Prometheus endpoint; none if it is not given.",
                        example = "127.0.0.1:9102")
                Optional<HostPort> metricsAddress,
        @Key("The session with the cluster.") ClientConfig client) {}
