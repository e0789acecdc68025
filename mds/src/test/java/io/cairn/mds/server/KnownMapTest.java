package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static io.cairn.mds.server.MemberCommands.transfer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.rpc.Heads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Data servers that register again and clients that open another session say which map they have,
 * and are sent what they lack of the present one, not the whole.
 */
final class KnownMapTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir Path directory;

    /**
     * Registers all and waits for the table; returns the first one's map, which lacks most of it.
     */
    private static ClusterMap registered(TestGroup group, FakeDataServers three) {
        List<FakeDataServer> servers = three.servers();
        servers.forEach(FakeDataServer::upgrade);
        ClusterMap first = ClusterMap.of(servers.getFirst().register().getMap());
        servers.subList(1, servers.size()).forEach(FakeDataServer::register);
        await().atMost(PATIENCE).until(() -> group.status().getMap().getPgsCount() == 16);
        return first;
    }

    private static OpenSessionReply openSession(TestGroup group, long mapEpoch) {
        OpenSessionRequest request =
                OpenSessionRequest.newBuilder()
                        .setClientUuid(Uuids.random())
                        .setDescription("test")
                        .setMapEpoch(mapEpoch)
                        .build();
        return group.call(Method.OPEN_SESSION, request, OpenSessionReply.parser()).get();
    }

    private static long wholeMaps(TestGroup group, int leader) {
        return group.server(leader).duties().map().wholeMaps();
    }

    /** What a holder of the map has after these. */
    private static ClusterMap after(ClusterMap map, List<MapUpdate> pushed) {
        ClusterMap reached = map;
        for (MapUpdate update : pushed) {
            assertThat(update.getBaseEpoch()).as("an increment").isPositive();
            reached = Objects.requireNonNull(reached.apply(update), "a gap");
        }
        return reached;
    }

    @Test
    void anotherLeaderSendsWhatIsMissedOfTheMapNotTheWhole() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            int before = group.awaitServing();
            ClusterMap first = registered(group, three);
            int leader = before % 3 + 1;
            transfer(group, leader);
            await().atMost(PATIENCE).until(() -> group.server(leader).serving());

            FakeDataServer one = three.servers().getFirst();
            one.pushed.clear();
            RegisterServerReply again = one.register(first.epoch());
            assertThat(again.hasMap()).isFalse();
            assertThat(again.getDisksList()).containsExactly(one.disk);
            ClusterMap reached = after(first, one.pushed);
            assertThat(reached.epoch()).as("before the answer").isEqualTo(again.getMapEpoch());
            assertThat(reached.pgs()).hasSize(16);

            List<MapUpdate> followed =
                    group.record(Method.MAP_PUSH, head -> Heads.parse(MapUpdate.parser(), head));
            assertThat(openSession(group, first.epoch()).hasMap()).isFalse();
            await().atMost(PATIENCE)
                    .untilAsserted(() ->
                            assertThat(after(first, followed).epoch())
                                    .isEqualTo(group.status().getMap().getEpoch()));
            assertThat(wholeMaps(group, leader)).isZero();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void whoHasThePresentMapIsSentNothing() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            registered(group, three);
            group.stop(1);
            group.start(1); // nothing is known of what led to the map
            group.awaitServing();
            long present = group.status().getMap().getEpoch();
            FakeDataServer one = three.servers().getFirst();
            one.pushed.clear();
            RegisterServerReply again = one.register(present);
            assertThat(again.hasMap()).isFalse();
            assertThat(again.getMapEpoch()).isEqualTo(present);
            assertThat(one.pushed).isEmpty();
            assertThat(openSession(group, present).hasMap()).isFalse();
            assertThat(wholeMaps(group, 1)).isZero();
        }
    }

    @Test
    void theWholeMapIsForWhoHasNoneOrOneThatLeadsNowhere() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            ClusterMap first = registered(group, three);
            FakeDataServer one = three.servers().getFirst();
            long present = group.status().getMap().getEpoch();
            for (long none : new long[] {0, present + 1}) {
                assertThat(one.register(none).getMap().getEpoch()).isEqualTo(present);
                assertThat(openSession(group, none).getMap().getEpoch()).isEqualTo(present);
            }
            one.incarnation = Uuids.random();
            assertThat(one.register(present).getMap().getPgsList())
                    .as("no process that the map does not know has that map")
                    .hasSize(16);

            group.stop(1);
            group.start(1);
            group.awaitServing();
            assertThat(three.servers().getLast().register(first.epoch()).getMap().getPgsList())
                    .as("what it missed is not known any more")
                    .hasSize(16);
            assertThat(wholeMaps(group, 1)).isEqualTo(1);
        }
    }
}
