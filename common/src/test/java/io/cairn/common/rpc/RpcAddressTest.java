package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.HostPort;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RpcAddressTest {
    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1:80", "[0:0:0:0:0:0:0:1]:65535", "mds-1.example:0"})
    void goThereAndBack(String text) {
        assertThat(RpcAddress.format(RpcAddress.parse(text))).isEqualTo(text);
    }

    @Test
    void namesAreNotLookedUp() {
        assertThat(RpcAddress.parse("localhost:1").isUnresolved()).isTrue();
        assertThat(RpcAddress.parse("127.0.0.1:1").isUnresolved()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "host",
                ":1",
                "host:",
                "host:x",
                "host:65536",
                "host:-1",
                "::1:5",
                "a b:1",
                "[]:1"
            })
    void nonsenseIsNamed(String text) {
        assertThatThrownBy(() -> RpcAddress.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("address '" + text + "'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1:80", "[::1]:65535", "mds-1.example:0"})
    void whatAConfigurationTakesIsAnAddress(String text) {
        InetSocketAddress address = RpcAddress.of(HostPort.parse(text));
        assertThat(address.getPort()).isEqualTo(HostPort.parse(text).port());
        assertThat(address.isUnresolved()).isEqualTo(text.startsWith("mds"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b:1", "a/b:1", "a\t:1", "[[::1]]:1", ":1"})
    void aConfigurationTakesNothingElse(String text) {
        assertThatThrownBy(() -> HostPort.parse(text)).isInstanceOf(IllegalArgumentException.class);
    }
}
