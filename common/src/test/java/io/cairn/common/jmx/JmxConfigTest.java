package io.cairn.common.jmx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigException;
import io.cairn.common.config.ConfigRecordContract;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JmxConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return JmxConfig.class;
    }

    @Test
    void withoutKeysThereAreNeitherPasswordsNorTls() {
        assertThat(Config.parse("jmx.toml", "", JmxConfig.class)).isEqualTo(JmxConfig.none());
    }

    @Test
    void whatNeedsAnotherKeyIsRefusedWithoutIt() {
        Map.of(
                        "access_file = 'a'", "needs password_file",
                        "keystore = 'k'", "needs keystore_password_file",
                        "keystore_password_file = 'k'", "needs keystore_password_file",
                        "truststore = 't'", "needs truststore_password_file",
                        "truststore = 't'\ntruststore_password_file = 'p'", "needs keystore")
                .forEach((text, problem) ->
                        assertThatThrownBy(() -> Config.parse("jmx.toml", text, JmxConfig.class))
                                .isInstanceOf(ConfigException.class)
                                .hasMessageContaining(problem));
    }
}
