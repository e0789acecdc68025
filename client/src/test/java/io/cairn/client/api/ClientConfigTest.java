package io.cairn.client.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ConfigRecordContract;
import io.cairn.common.config.HostPort;
import java.util.List;
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
}
