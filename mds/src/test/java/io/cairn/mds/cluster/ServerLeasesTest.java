package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Server;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Every server that is up has a deadline, by a clock that only moves when told. */
class ServerLeasesTest {
    private static final long LEASE = 1_000;

    /** With what clocks may differ by. */
    private static final long OVER = LEASE * 102 / 100;

    private static final long EPOCH = 5;

    private final ServerLeases leases = new ServerLeases(LEASE);

    private static ClusterMap map(int... up) {
        MapUpdate.Builder map = MapUpdate.newBuilder().setEpoch(EPOCH);
        for (int id = 1; id <= 3; id++) {
            int server = id;
            boolean isUp = IntStream.of(up).anyMatch(u -> u == server);
            map.addServers(Server.newBuilder().setId(id).setAddress("h:1").setUp(isUp));
        }
        return ClusterMap.of(map.build());
    }

    @Test
    void aServerThatIsUpAndWasNeverHeardOfHoldsUpNoEviction() {
        leases.begin(ClusterMap.EMPTY, 0);
        ClusterMap map = map(1, 2);
        leases.heard(1, 100, EPOCH, ServerLeases.Report.NONE);
        assertThat(leases.silent(map, 200)).as("the deadline runs from here").isEmpty();
        assertThat(leases.allBeyond(map, EPOCH)).isFalse();
        leases.heard(1, 1_000, EPOCH, ServerLeases.Report.NONE);
        assertThat(leases.silent(map, 200 + OVER)).isEmpty();
        assertThat(leases.silent(map, 201 + OVER)).containsExactly(2);
        assertThat(leases.heardSince(2, 200 + OVER)).as("nothing stops its marking").isFalse();
        assertThat(leases.allBeyond(map(1), EPOCH)).as("with the second down").isTrue();
    }

    @Test
    void oneThatIsHeardOfAfterAllStaysUp() {
        leases.begin(ClusterMap.EMPTY, 0);
        ClusterMap map = map(1);
        assertThat(leases.silent(map, 200)).isEmpty();
        leases.heard(1, 900, EPOCH, ServerLeases.Report.NONE);
        assertThat(leases.silent(map, 201 + OVER)).isEmpty();
        assertThat(leases.allBeyond(map, EPOCH)).isTrue();
        assertThat(leases.silent(map, 901 + OVER)).containsExactly(1);
    }

    @Test
    void aServerIsCondemnedUntilItsMarkingIsDecided() {
        leases.begin(map(1), 0);
        assertThat(leases.condemn(1)).isTrue();
        assertThat(leases.condemn(1)).as("one decision at a time").isFalse();
        assertThat(leases.isCondemned(1)).isTrue();
        leases.decided(1);
        assertThat(leases.isCondemned(1)).isFalse();
        leases.condemn(1);
        leases.begin(map(1), 0);
        assertThat(leases.isCondemned(1)).as("by an earlier term").isFalse();
    }

    @Test
    void aHeartbeatIsAnsweredOrItsServerIsCondemnedNeverBoth() {
        ClusterMap map = map(1, 2);
        leases.begin(map, 0);
        assertThat(leases.answer(1, () -> 100, EPOCH, ServerLeases.Report.NONE)).isTrue();
        assertThat(leases.condemnSilent(map, 100 + OVER))
                .as("what was answered counts")
                .containsExactly(2);
        assertThat(leases.condemnSilent(map, 100 + OVER)).as("one decision at a time").isEmpty();
        assertThat(leases.answer(2, () -> 100 + OVER, EPOCH, ServerLeases.Report.NONE)).isFalse();
        assertThat(leases.heardSince(2, 0)).as("nothing stops its marking").isFalse();
        leases.decided(2);
        assertThat(leases.answer(2, () -> 200 + OVER, EPOCH, ServerLeases.Report.NONE)).isTrue();
    }

    @Test
    void manyAreMarkedDownInOneChange() {
        ClusterMap map = map(1, 2, 3);
        leases.begin(map, 0);
        leases.heard(3, 20, EPOCH, ServerLeases.Report.NONE);
        MapUpdate.Builder down = Objects.requireNonNull(leases.down(map, List.of(1, 2, 3), 10));
        assertThat(down.getServersList())
                .extracting(Server::getId)
                .as("the third was heard of since")
                .containsExactly(1, 2);
        assertThat(down.getServersList()).noneMatch(Server::getUp);
        assertThat(leases.down(map(), List.of(1, 2), 10)).as("they are").isNull();
    }

    @Test
    void whatTheMapSaysIsDownIsNotSilent() {
        leases.begin(map(1, 2, 3), 0);
        assertThat(leases.silent(map(1), 10 * OVER)).containsExactly(1);
        assertThat(leases.silent(map(), 10 * OVER)).isEmpty();
        assertThat(leases.allBeyond(map(), EPOCH)).isTrue();
        assertThat(leases.allBeyond(map(), EPOCH + 1)).as("a map not seen here yet").isFalse();
    }

    @Test
    void anEarlierLeaderMayHaveAnsweredUntilItsOwnLeaseEnded() {
        leases.begin(map(1), 500);
        assertThat(leases.silent(map(1), 500 + OVER)).isEmpty();
        assertThat(leases.silent(map(1), 501 + OVER)).containsExactly(1);
    }

    /** An earlier leader, configured otherwise, told it a longer one. */
    @Test
    void aServerIsSilentByTheLeaseThatItWasTold() {
        MapUpdate.Builder told = MapUpdate.newBuilder().setEpoch(EPOCH);
        told.addServersBuilder().setId(1).setAddress("h:1").setUp(true).setLeaseMillis(10);
        ClusterMap map = ClusterMap.of(told.build());
        leases.begin(map, 0);
        long over = 10_200_000;
        assertThat(leases.silent(map, over)).isEmpty();
        assertThat(leases.silent(map, over + 1)).containsExactly(1);
    }

    /** One that comes up again after it was down counts from when it was heard, or seen, again. */
    @Test
    void aNewProcessHasConfirmedNothing() {
        leases.begin(map(1), 0);
        leases.heard(1, 10, EPOCH, ServerLeases.Report.NONE);
        assertThat(leases.allBeyond(map(1), EPOCH)).isTrue();
        leases.heard(1, 20, 0, ServerLeases.Report.NONE);
        assertThat(leases.allBeyond(map(1), EPOCH)).isFalse();
    }
}
