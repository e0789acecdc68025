package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

final class MemberAddressesTest {
    private final Map<String, String> names = new ConcurrentHashMap<>(Map.of("a", "10.0.0.1"));

    @Test
    void aNameThatGotAnotherAddressIsLookedUpAgain() {
        MemberAddresses addresses = new MemberAddresses(List.of("a", "b"), this::resolve);
        assertThat(addresses.permits(from("10.0.0.1"))).isTrue();
        assertThat(addresses.permits(from("10.0.0.2"))).isFalse();
        // A member whose name had no address at first, and one in a new container.
        names.putAll(Map.of("a", "10.0.0.3", "b", "10.0.0.2"));
        await().atMost(LogMember.PATIENCE).until(() -> addresses.permits(from("10.0.0.2")));
        assertThat(addresses.permits(from("10.0.0.3"))).isTrue();
        assertThat(addresses.permits(from("10.0.0.1"))).isFalse();
    }

    private InetAddress[] resolve(String host) throws UnknownHostException {
        String address = names.get(host);
        if (address == null) {
            throw new UnknownHostException(host);
        }
        return new InetAddress[] {InetAddress.ofLiteral(address)};
    }

    private static InetSocketAddress from(String address) {
        return new InetSocketAddress(InetAddress.ofLiteral(address), 40_000);
    }
}
