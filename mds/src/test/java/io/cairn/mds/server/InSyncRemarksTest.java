package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.cluster.ServerLeases.Known;
import io.cairn.mds.cluster.ServerLeases.Report;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Three servers with a disk each, and two placement groups on all of them. */
class InSyncRemarksTest {
    private final MapUpdate.Builder map =
            MapUpdate.newBuilder()
                    .setEpoch(1)
                    .addPools(Pool.newBuilder().setId(1).setSize(3).setMinSize(2).setPgCount(2));
    private final Map<Integer, Known> heard = new HashMap<>();

    InSyncRemarksTest() {
        for (int id = 1; id <= 3; id++) {
            map.addServers(Server.newBuilder().setId(id).setAddress("h:" + id).setUp(true))
                    .addDisks(Disk.newBuilder().setId(10 * id).setServer(id));
        }
    }

    private List<String> warnings(List<Integer> first, List<Integer> second) {
        map.clearPgs();
        for (List<Integer> inSync : List.of(first, second)) {
            map.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg((1 << 16) + map.getPgsCount())
                            .setEpoch(1)
                            .addAllReplicas(List.of(10, 20, 30))
                            .addAllInSync(inSync));
        }
        return InSyncRemarks.warnings(ClusterMap.of(map.build()), heard);
    }

    private void heard(int server, DiskCondition condition, int recovering) {
        DiskStatus disk =
                DiskStatus.newBuilder().setDisk(10 * server).setCondition(condition).build();
        PgReport pgs = PgReport.newBuilder().setRecovering(recovering).build();
        heard.put(server, new Known(0, 0, new Report(List.of(disk), pgs, null, "")));
    }

    @Test
    void nothingIsSaidWhileAllAreInSync() {
        assertThat(warnings(List.of(10, 20, 30), List.of(20, 10, 30))).isEmpty();
    }

    @Test
    void groupsOfAPoolWhoseSizeWasRaisedAreCounted() {
        map.getPoolsBuilder(0).setSize(4);
        assertThat(warnings(List.of(10, 20, 30), List.of(20, 10, 30)))
                .singleElement(STRING)
                .startsWith(
                        "2 of 2 placement groups have fewer replicas than the size of their pool");
    }

    @Test
    void aServerThatIsDownIsToBeStarted() {
        map.getServersBuilder(2).setUp(false);
        assertThat(warnings(List.of(10, 20, 30), List.of(20, 10)))
                .containsExactly(
                        "1 of 2 placement groups have fewer replicas in sync than they should: start data server 3 (h:3), whose replicas are then brought up to date");
    }

    @Test
    void aDiskThatIsOutIsNamed() {
        heard(3, DiskCondition.DISK_OUT, 0);
        assertThat(warnings(List.of(10, 20), List.of(20, 10)))
                .containsExactly(
                        "2 of 2 placement groups have fewer replicas in sync than they should: disk 30 of data server 3 is out of service");
    }

    @Test
    void nothingIsToBeDoneWhileReplicasRecover() {
        heard(1, DiskCondition.DISK_SERVING, 2);
        heard(2, DiskCondition.DISK_SERVING, 1);
        assertThat(warnings(List.of(10, 20), List.of(20)))
                .containsExactly(
                        "2 of 2 placement groups have fewer replicas in sync than they should: replicas that are being brought up to date: 3 (nothing is to be done for these)",
                        "1 of 2 placement groups have fewer replicas in sync than min_size of their pool: their writes wait, reads are served");
        map.getServersBuilder(0).setUp(false);
        assertThat(warnings(List.of(20), List.of(20, 30)).getFirst())
                .as("what a server that is down had reported is over")
                .contains("start data server 1 (h:1)")
                .contains("; replicas that are being brought up to date: 1 (");
    }

    @Test
    void whereAllIsUpTheLogsSayWhy() {
        assertThat(warnings(List.of(10, 20), List.of(10, 20, 30)).getFirst())
                .contains("all their servers are up");
    }
}
