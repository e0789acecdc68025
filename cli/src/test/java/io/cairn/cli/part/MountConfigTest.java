package io.cairn.cli.part;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigRecordContract;
import org.junit.jupiter.api.Test;

class MountConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return MountConfig.class;
    }

    @Test
    void everythingHasDefaults() {
        MountConfig config = Config.parse("mount.toml", "", MountConfig.class);
        assertThat(config.metricsAddress()).isEmpty();
        assertThat(config.jmxAddress()).isEmpty();
        assertThat(config.client().mds()).isEmpty();
        assertThat(config.client().path()).isEqualTo("/");
    }
}
