package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leaders that are configured with different leases of data servers. */
final class DataServerLeaseTest {
    @TempDir Path directory;

    private static String lease(String time) {
        return "[data_servers]\nlease = \""
                + time
                + "\"\n[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";
    }

    /** It may not hear of a shorter one, and would serve by the longer when it counts as down. */
    @Test
    void aDataServerKeepsTheLeaseThatItWasTold() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, lease("30s"));
                FakeDataServer server = new FakeDataServer(group)) {
            group.awaitServing();
            assertThat(server.register().getLeaseMillis()).isEqualTo(30_000);
            group.stop(1);
            group.configure(1, lease("1s"));
            group.start(1);
            group.awaitServing();
            assertThat(server.register().getLeaseMillis()).isEqualTo(30_000);
            assertThat(server.restart().getLeaseMillis()).as("a new process").isEqualTo(1_000);
            assertThat(group.fatal).hasNullValue();
        }
    }
}
