package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.rpc.RpcAddress;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What data servers report of their placement groups is in the status, and a warning. */
final class PgWarningsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir Path directory;

    @Test
    void placementGroupsThatDoNotServeAreAWarningPerServerAndKind() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServer one = new FakeDataServer(group);
                FakeDataServer two = new FakeDataServer(group);
                FakeDataServer three = new FakeDataServer(group)) {
            one.register();
            two.register();
            three.register();
            await().atMost(PATIENCE).until(() -> group.status().getMap().getPgsCount() == 16);
            long epoch = group.status().getMap().getEpoch();
            PgReport starting = PgReport.newBuilder().setActive(3).setNotServing(2).build();
            one.heartbeat(epoch, starting);
            two.heartbeat(epoch); // of an older release: no word on placement groups
            assertThat(group.status().getWarningsList()).as("only just").isEmpty();
            assertThat(server(group, one).getPgs()).isEqualTo(starting);
            assertThat(server(group, two).hasPgs()).isFalse();

            one.heartbeat(
                    epoch,
                    PgReport.newBuilder()
                            .setDamaged(1)
                            .setNotServing(4)
                            .setStalled(3)
                            .addProblems(problem(0x10003, "it lost operations").setDamaged(true))
                            .addProblems(problem(0x10001, "waits for disk 7 of data server 9"))
                            .addProblems(problem(0x10004, "waits for disk 7 of data server 9"))
                            .build());
            String where =
                    "data server %d (%s)"
                            .formatted(one.id, RpcAddress.format(one.rpc.localAddress()));
            assertThat(group.status().getWarningsList())
                    .containsExactly(
                            where
                                    + ": 1 placement group is damaged (10003: it lost operations): what is read or written there waits; bring back the disks that lost operations as they were, this version cannot rebuild them",
                            where
                                    + ": 3 placement groups are not served for up to 12 s (10001, 10004 and others: waits for disk 7 of data server 9): see to the servers and disks that they wait for");
        }
    }

    private static ServerStatus server(TestGroup group, FakeDataServer server) {
        return group.status().getServersList().stream()
                .filter(s -> s.getServer() == server.id)
                .findFirst()
                .orElseThrow();
    }

    private static PgProblem.Builder problem(int pg, String cause) {
        return PgProblem.newBuilder().setPg(pg).setSinceMillis(12_345).setCause(cause);
    }
}
