package io.cairn.mds.server;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The data servers of a cluster, closed together. */
final class FakeDataServers implements AutoCloseable {
    /** Of a group that has 16 placement groups as soon as three disks are there. */
    static final String QUICK =
            """
            [data_servers]
            lease = "30s"
            bootstrap_disks = 3
            [pool]
            pg_count = 16
            [raft]
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            """;

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final TestGroup group;
    private final List<FakeDataServer> servers = new ArrayList<>();

    FakeDataServers(TestGroup group, int number) throws IOException {
        this.group = group;
        for (int i = 0; i < number; i++) {
            servers.add(new FakeDataServer(group));
        }
    }

    List<FakeDataServer> servers() {
        return servers;
    }

    /** Registers all; returns them when there are so many placement groups. */
    List<FakeDataServer> registered(int placementGroups) throws Exception {
        for (FakeDataServer server : servers) {
            server.register();
        }
        await().atMost(PATIENCE)
                .until(() -> group.status().getMap().getPgsCount() == placementGroups);
        return servers;
    }

    @Override
    public void close() {
        servers.forEach(FakeDataServer::close);
    }
}
