package io.cairn.client.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ConfigRecordContract;
import io.cairn.common.config.HostPort;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ClientConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return ClientConfig.class;
    }

    @Test
    void defaultsForAddresses() {
        ClientConfig config = ClientConfig.of(List.of(new HostPort("::1", 7000)));
        assertThat(config.mds()).containsExactly(new HostPort("::1", 7000));
        assertThat(config.path()).isEqualTo("/");
        assertThat(config.clusterId()).isEmpty();
    }

    @Test
    void operationsAreRepeatedForEverUnlessAskedOtherwise() {
        ClientConfig config = ClientConfig.of(List.of(new HostPort("::1", 7000)));
        assertThat(config.ioTimeout()).isEmpty();
        assertThat(config.metadataTimeout()).isEmpty();
        ClientConfig limited = config.givingUpAfter(Optional.of(Duration.ofSeconds(3)));
        assertThat(limited.ioTimeout()).contains(Duration.ofSeconds(3));
        assertThat(limited.metadataTimeout()).contains(Duration.ofSeconds(3));
        assertThat(limited.attemptTimeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(limited.givingUpAfter(Optional.empty()).ioTimeout()).isEmpty();
    }
}
