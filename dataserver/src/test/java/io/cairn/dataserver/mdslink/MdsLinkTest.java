package io.cairn.dataserver.mdslink;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.HostPort;
import io.cairn.common.rpc.LeaderFinder;
import java.util.List;
import org.junit.jupiter.api.Test;

class MdsLinkTest {
    /** What a name stood for at the start may be another machine's address by now. */
    @Test
    void namesAreNotLookedUpOnceForEver() {
        LeaderFinder finder =
                MdsLink.finder(
                        List.of(HostPort.parse("localhost:7000"), HostPort.parse("[::1]:7")));
        assertThat(finder.current().isUnresolved()).isTrue();
        finder.learn(List.of("localhost:7000"));
        assertThat(finder).as("each once").hasToString("localhost:7000, [0:0:0:0:0:0:0:1]:7");
    }
}
