package io.cairn.dataserver.ground;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigException;
import io.cairn.common.config.ConfigRecordContract;
import org.junit.jupiter.api.Test;

class RecoveryConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return RecoveryConfig.class;
    }

    @Test
    void theLeastIsNotMoreThanTheMost() {
        String toml = "min_rate = '2MiB'\nmax_rate = '1MiB'\n";
        assertThatThrownBy(() -> Config.parse("d.toml", toml, RecoveryConfig.class))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("min_rate: must not be more than max_rate, which is 1MiB");
    }
}
