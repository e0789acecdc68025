package io.cairn.mds.server;

import static io.cairn.mds.server.FakeDataServers.QUICK;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.JoinPgReply;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the in-sync sets are to become, the leader brings into the map. */
final class InSyncChangesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int PGS = 16;

    @TempDir Path directory;

    private static MapUpdate map(TestGroup group) {
        return group.status().getMap();
    }

    private static boolean has(MapUpdate map, FakeDataServer server) {
        return map.getPgsList().stream().anyMatch(pg -> pg.getInSyncList().contains(server.disk));
    }

    private static boolean isAsPlaced(PlacementGroup pg) {
        return pg.getInSyncCount() == 3 && pg.getInSync(0) == pg.getReplicas(0);
    }

    /** The map that is so at last; until then these servers send heartbeats. */
    private static MapUpdate await(
            TestGroup group, List<FakeDataServer> alive, Predicate<MapUpdate> what) {
        return Awaitility.await()
                .atMost(PATIENCE)
                .pollInSameThread()
                .until(
                        () -> {
                            MapUpdate map = map(group);
                            alive.forEach(s -> s.heartbeat(map.getEpoch()));
                            return map(group);
                        },
                        what);
    }

    @Test
    void disksLeaveAndJoinAndTheFirstReplicaIsPrimaryAgain() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.servers().forEach(s -> s.recovers = true);
            List<FakeDataServer> all = three.registered(PGS);
            assertThat(map(group).getServersList()).allMatch(Server::getRecovers);
            FakeDataServer out = all.getLast();
            List<FakeDataServer> others = all.subList(0, 2);
            await(group, all, map -> has(map, out));

            out.heartbeat(
                    map(group).getEpoch(),
                    DiskStatus.newBuilder()
                            .setDisk(out.disk)
                            .setCondition(DiskCondition.DISK_OUT)
                            .setReleased(true)
                            .build());
            MapUpdate without = await(group, others, map -> !has(map, out));
            assertThat(without.getPgsList())
                    .allMatch(pg -> pg.getInSyncCount() == 2 && pg.getReplicasCount() == 3);
            assertThat(group.status().getSpace().getFreeBytes())
                    .as("of the disks that are written to")
                    .isEqualTo(1 << 29);
            assertThat(group.status().getWarningsList())
                    .contains(
                            "16 of 16 placement groups have fewer replicas in sync than they should: disk %d of data server %d is out of service"
                                    .formatted(out.disk, out.id));

            FakeDataServer primary = others.getFirst();
            PlacementGroup one = without.getPgs(0);
            primary.join(one.toBuilder().setEpoch(one.getEpoch() - 1).build(), out.disk).get();
            assertThat(map(group).getEpoch())
                    .as("of an epoch before")
                    .isEqualTo(without.getEpoch());
            primary.join(one, out.disk).get();
            assertThat(map(group).getPgs(0).getInSyncList())
                    .as("its server still says that it is released")
                    .isEqualTo(one.getInSyncList());
            assertThat(map(group).getPgs(0).getEpoch()).isGreaterThan(one.getEpoch());

            out.heartbeat(map(group).getEpoch());
            for (PlacementGroup pg : map(group).getPgsList()) {
                primary.join(pg, out.disk).get();
            }
            await(
                    group,
                    all,
                    map -> map.getPgsList().stream().allMatch(InSyncChangesTest::isAsPlaced));

            out.restart();
            await(group, all, map -> !has(map, out));
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void aDiskThatStallsIsToldOfAndLeaves() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.servers().forEach(s -> s.recovers = true);
            List<FakeDataServer> all = three.registered(PGS);
            FakeDataServer stalls = all.getFirst();
            stalls.heartbeat(
                    map(group).getEpoch(),
                    DiskStatus.newBuilder()
                            .setDisk(stalls.disk)
                            .setData("/disks/a")
                            .setOldestCallMillis(4_000)
                            .build());
            MapUpdate without = await(group, all, map -> !has(map, stalls));
            assertThat(without.getPgsList()).allMatch(pg -> pg.getInSyncCount() == 2);
            assertThat(without.getDisksList())
                    .filteredOn(Disk::getSlow)
                    .extracting(Disk::getId)
                    .containsExactly(stalls.disk);
            stalls.heartbeat(
                    map(group).getEpoch(),
                    DiskStatus.newBuilder().setDisk(stalls.disk).setData("/disks/a").build());
            assertThat(group.status().getWarningsList())
                    .anyMatch(w ->
                            w.contains("disk %d (/disks/a) is slow".formatted(stalls.disk))
                                    && w.contains("has not come back for 4 s")
                                    && w.contains("cairn disk drain " + stalls.disk));
        }
    }

    @Test
    void nobodyLeavesWhileADataServerOfAnOlderReleaseHasGroups() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK);
                FakeDataServers three = new FakeDataServers(group, 3)) {
            three.servers().forEach(s -> s.recovers = true);
            three.servers().getFirst().recovers = false;
            List<FakeDataServer> all = three.registered(PGS);
            FakeDataServer out = all.getLast();
            DiskStatus released =
                    DiskStatus.newBuilder().setDisk(out.disk).setReleased(true).build();
            out.heartbeat(map(group).getEpoch(), released);
            long epoch = map(group).getEpoch();
            all.getFirst().recovers = true;
            all.getFirst().register();
            MapUpdate after = await(group, all.subList(0, 2), map -> !has(map, out));
            assertThat(after.getEpoch()).as("the registration, then who left").isEqualTo(epoch + 2);
        }
    }

    @Test
    void onlyDataServersMayAsk() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, QUICK)) {
            group.awaitServing();
            assertThat(
                            group.call(
                                            Method.JOIN_PG,
                                            JoinPgRequest.getDefaultInstance(),
                                            JoinPgReply.parser())
                                    .status()
                                    .errno())
                    .isEqualTo(Errno.EPERM);
        }
    }
}
