package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.CanStopReply;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.PlannedMove;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.RemoveRequest;
import io.cairn.common.proto.ReweightRequest;
import io.cairn.common.proto.Server;
import io.cairn.mds.map.MapChecks;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Four servers with two disks each, 10 and 11 to 40 and 41; server 5 has none. */
class DrainsTest {
    private final MapUpdate.Builder update =
            MapUpdate.newBuilder()
                    .setEpoch(1)
                    .addPools(
                            Pool.newBuilder()
                                    .setId(1)
                                    .setName("data")
                                    .setSize(3)
                                    .setMinSize(2)
                                    .setPgCount(2)
                                    .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER))
                    .addServers(server(5));

    DrainsTest() {
        for (int id = 1; id <= 4; id++) {
            update.addServers(server(id)).addDisks(disk(id, 0)).addDisks(disk(id, 1));
        }
    }

    private static Server server(int id) {
        return Server.newBuilder().setId(id).setAddress("h:" + id).setUp(true).build();
    }

    private static Disk disk(int server, int index) {
        return Disk.newBuilder()
                .setId(10 * server + index)
                .setServer(server)
                .setCapacityBytes(1 << 30)
                .build();
    }

    private static PlacementGroup.Builder group(int index, Integer... replicas) {
        return PlacementGroup.newBuilder()
                .setPg(PgHash.pg(1, index))
                .setEpoch(1)
                .addAllReplicas(List.of(replicas))
                .addAllInSync(List.of(replicas));
    }

    private ClusterMap map() {
        return ClusterMap.of(update.build());
    }

    // ---- draining -----------------------------------------------------------

    private List<Integer> changed(DrainRequest.Builder wanted) {
        MapUpdate.Builder change = Drains.update(map(), wanted.build());
        if (change == null) {
            return List.of();
        }
        assertThat(change.getDisksList()).allMatch(d -> d.getOut() != wanted.getRestore());
        return change.getDisksList().stream().map(Disk::getId).toList();
    }

    private static DrainRequest.Builder drain(Integer... disks) {
        return DrainRequest.newBuilder().addAllDisks(List.of(disks));
    }

    private void refused(DrainRequest.Builder wanted, Errno errno, String message) {
        assertThatThrownBy(() -> Drains.update(map(), wanted.build()))
                .isInstanceOfSatisfying(
                        FsException.class,
                        e -> {
                            assertThat(e.errno()).isEqualTo(errno);
                            assertThat(e.detail()).isEqualTo(message);
                        });
    }

    @Test
    void disksAndServersAreDrainedAndRestored() {
        assertThat(changed(drain(10, 20))).containsExactly(10, 20);
        assertThat(changed(drain(31).addServers(3))).containsExactly(30, 31);
        update.setDisks(0, disk(1, 0).toBuilder().setOut(true));
        assertThat(changed(drain(10, 11))).containsExactly(11);
        assertThat(changed(drain(10))).isEmpty();
        assertThat(changed(drain(10, 20).setRestore(true))).containsExactly(10);
    }

    @Test
    void whatIsNotThereIsNamed() {
        refused(drain(10, 7).addServers(9), Errno.ENOENT, "there is no disk 7, no data server 9");
        refused(
                drain().addServers(5),
                Errno.EINVAL,
                "no disk is meant: these data servers have none");
    }

    @Test
    void aPoolKeepsEnoughFailureDomains() {
        String end = ", and 2 would be left: add ";
        refused(
                drain(10, 20, 21).addServers(1),
                Errno.ENOSPC,
                "pool data keeps its 3 replicas on different data servers"
                        + end
                        + "a data server with a disk first");
        update.getPoolsBuilder(0).setFailureDomain(FailureDomain.FAILURE_DOMAIN_DISK);
        refused(
                drain(10, 11, 20, 21, 30, 31),
                Errno.ENOSPC,
                "pool data keeps its 3 replicas on different disks" + end + "a disk first");
        update.getPoolsBuilder(0).setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER);
        // Disks that are away for long are none to place on, and take nothing away.
        for (int i = 0; i < 4; i++) {
            update.getDisksBuilder(i).setAbsent(true);
        }
        assertThat(changed(drain().addServers(1))).containsExactly(10, 11);
        assertThat(changed(drain(30, 31, 10).setRestore(true))).isEmpty();
    }

    // ---- room ---------------------------------------------------------------

    private static DiskStatus uses(long used, long free) {
        return DiskStatus.newBuilder().setUsedBytes(used).setFreeBytes(free).build();
    }

    private void checkRoom(Map<Integer, DiskStatus> reported, Integer... disks) {
        MapUpdate.Builder drain =
                Objects.requireNonNull(Drains.update(map(), drain(disks).build()));
        new DrainRoom(map(), reported).check(drain.setEpoch(2).build());
    }

    @Test
    void whatIsDrainedHasRoomElsewhere() {
        update.getPoolsBuilder(0).setSize(1).setMinSize(1).setPgCount(8);
        for (int i = 0; i < 8; i++) {
            update.addPgs(group(i, 10 * (1 + i / 2) + i % 2));
        }
        long gib = 1L << 30;
        Map<Integer, DiskStatus> reported = new HashMap<>();
        update.getDisksList().forEach(d -> reported.put(d.getId(), uses(gib, 2 * gib)));
        checkRoom(reported, 10, 11);
        update.getDisksList().forEach(d -> reported.put(d.getId(), uses(gib, gib / 2)));
        assertThatThrownBy(() -> checkRoom(reported, 10, 11))
                .isInstanceOfSatisfying(
                        FsException.class,
                        e -> {
                            assertThat(e.errno()).isEqualTo(Errno.ENOSPC);
                            assertThat(e.detail())
                                    .contains("would get 2.00 GiB and has room for 1.50 GiB")
                                    .contains("--force");
                        });
        reported.keySet().removeIf(d -> d >= 20); // nothing is known of them
        checkRoom(reported, 10, 11);
    }

    // ---- weights ------------------------------------------------------------

    @Test
    void weightsAreSetAndPoolsKeepTheirFailureDomains() {
        ReweightRequest.Builder half = ReweightRequest.newBuilder().setWeightPermille(500);
        MapUpdate.Builder change =
                Objects.requireNonNull(Drains.update(map(), half.addServers(1).build()));
        assertThat(change.getDisksList())
                .extracting(Disk::getWeightPermille)
                .containsExactly(500, 500);
        update.setDisks(0, change.getDisks(0)).setDisks(1, change.getDisks(1));
        assertThat(Drains.update(map(), half.build())).isNull();
        ReweightRequest none = ReweightRequest.newBuilder().addServers(1).addServers(2).build();
        assertThatThrownBy(() -> Drains.update(map(), none))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("and 2 would be left");
        assertThatThrownBy(() ->
                        Drains.update(map(), none.toBuilder().setWeightPermille(100_001).build()))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("weights are 0 to 100");
    }

    // ---- removal ------------------------------------------------------------

    private MapUpdate removed(RemoveRequest.Builder wanted, Integer... away) {
        List<Integer> all = List.of(away);
        return Removals.update(map(), wanted.build(), d -> all.contains(d.getId())).build();
    }

    private void notRemoved(RemoveRequest.Builder wanted, String message, Integer... away) {
        assertThatThrownBy(() -> removed(wanted, away))
                .isInstanceOfSatisfying(
                        FsException.class,
                        e -> {
                            assertThat(e.errno()).isEqualTo(Errno.EBUSY);
                            assertThat(e.detail()).isEqualTo(message);
                        });
    }

    @Test
    void whatIsNeededOrUpIsNotRemoved() {
        update.addPgs(group(0, 10, 20, 30)).addPgs(group(1, 20, 30, 40).addInSync(11));
        RemoveRequest.Builder disk = RemoveRequest.newBuilder().addDisks(11);
        notRemoved(disk, "disk 11 is in placement: drain it first", 11);
        update.getDisksBuilder(1).setOut(true);
        notRemoved(
                disk,
                "disk 11 has 1 placement groups yet: wait until they are elsewhere, see 'cairn disk ls'",
                11);
        update.setPgs(1, group(1, 20, 30, 40));
        notRemoved(
                disk,
                "disk 11 is in service: stop data server 1, or start it again without this disk");
        assertThat(removed(disk, 11).getDisksList())
                .containsExactly(update.getDisks(1).toBuilder().setRemoved(true).build());

        RemoveRequest.Builder server = RemoveRequest.newBuilder().addServers(1);
        notRemoved(
                server,
                "data server 1 is up: stop it first; disk 10 is in placement: drain it first",
                10,
                11);
        update.getDisksBuilder(0).setAbsent(true);
        update.setPgs(0, group(0, 20, 30, 40)).setServers(1, server(1).toBuilder().setUp(false));
        MapUpdate gone = removed(server, 10, 11);
        assertThat(gone.getServersList()).extracting(Server::getRemoved).containsExactly(true);
        assertThat(gone.getDisksList()).extracting(Disk::getId).containsExactly(10, 11);
        assertThatThrownBy(() -> removed(RemoveRequest.newBuilder().addDisks(99)))
                .hasMessageContaining("there is no disk 99");
    }

    @Test
    void theMapRefusesToLoseWhatAGroupHas() {
        update.addPgs(group(0, 10, 20, 30)).addPgs(group(1, 20, 30, 40).addInSync(11));
        ClusterMap base = ClusterMap.of(update.build());
        for (int disk : List.of(10, 11)) {
            MapUpdate wrong =
                    MapUpdate.newBuilder()
                            .setEpoch(2)
                            .addDisks(
                                    Objects.requireNonNull(base.disk(disk)).toBuilder()
                                            .setRemoved(true))
                            .build();
            assertThat(MapChecks.objection(base, wrong)).startsWith("disk " + disk + " is removed");
        }
        MapUpdate server =
                MapUpdate.newBuilder()
                        .setEpoch(2)
                        .addServers(server(1).toBuilder().setRemoved(true))
                        .build();
        assertThat(MapChecks.objection(base, server))
                .isEqualTo("server 1 is removed, and has disks");
        assertThat(base.with(server).server(1)).isNull();
    }

    // ---- stopping -----------------------------------------------------------

    private CanStopReply stop(Set<Integer> disks, Integer... notServing) {
        List<Integer> not = List.of(notServing);
        return new StopCheck(map(), disks, d -> !not.contains(d), (_, d) -> !not.contains(d))
                .reply();
    }

    @Test
    void whatIsWholeCanLoseOneMember() {
        update.addPgs(group(0, 10, 20, 30)).addPgs(group(1, 11, 30, 40));
        assertThat(stop(Set.of(10, 11)))
                .isEqualTo(CanStopReply.newBuilder().setAllGroups(2).build());
        CanStopReply two = stop(Set.of(10, 11, 20, 21));
        assertThat(two.getStopping()).isEqualTo(1);
        assertThat(two.getStopped()).isZero();
        assertThat(two.getStepsList())
                .containsExactly(
                        "pool data has 3 replicas and needs 2 in sync: stop fewer at once");
        update.getPoolsBuilder(0).setMinSize(3);
        assertThat(stop(Set.of(40, 41)).getStepsList())
                .containsExactly(
                        "pool data has 3 replicas and needs 3 in sync: drain what is to be stopped first");
    }

    @Test
    void whatToWaitForIsSaid() {
        update.addPgs(group(0, 10, 20, 30).clearInSync().addInSync(10).addInSync(20))
                .addPgs(group(1, 11, 30, 40));
        CanStopReply learning = stop(Set.of(10, 11));
        assertThat(learning.getStopping()).isEqualTo(1);
        assertThat(learning.getStepsList())
                .containsExactly(
                        "replicas of pool data that are brought up to date: 1; wait for them");
        CanStopReply silent = stop(Set.of(40, 41), 20, 30);
        assertThat(silent.getStopping()).isEqualTo(2);
        assertThat(silent.getStopped()).as("of which one did already").isEqualTo(1);
        assertThat(silent.getStepsList())
                .containsExactly(
                        "disk 20 of data server 2 (h:2) does not serve: see 'cairn disk ls'",
                        "disk 30 of data server 3 (h:3) does not serve: see 'cairn disk ls'");
        update.setServers(3, server(3).toBuilder().setUp(false));
        assertThat(stop(Set.of(10), 30).getStepsList())
                .containsExactly("data server 3 (h:3) is down: start it");
    }

    /** It is in sync by the map, and is about to leave. */
    @Test
    void aServerThatWasStartedAnewDoesNotCount() {
        update.addPgs(group(0, 10, 20, 30));
        CanStopReply reply =
                new StopCheck(map(), Set.of(10, 11), _ -> true, (_, d) -> d != 20).reply();
        assertThat(reply.getStopping()).isEqualTo(1);
        assertThat(reply.getStopped()).isZero();
        assertThat(reply.getStepsList())
                .containsExactly(
                        "replicas of pool data that are brought up to date: 1; wait for them");
    }

    // ---- the plan -----------------------------------------------------------

    @Test
    void thePlanCountsWhatIsCopied() {
        update.addPgs(group(0, 10, 20, 30)).addPgs(group(1, 11, 30, 40).addInSync(21));
        update.setDisks(1, disk(1, 1).toBuilder().setOut(true));
        Map<Integer, List<Integer>> targets =
                Map.of(
                        PgHash.pg(1, 0), List.of(20, 10, 30),
                        PgHash.pg(1, 1), List.of(31, 21, 40));
        Map<Integer, DiskStatus> used = Map.of(30, uses(4000, 0), 40, uses(1000, 0));
        BalancePlanReply plan =
                new BalancePlan(map(), used)
                        .reply(g -> targets.getOrDefault(g.getPg(), List.of()), List.of("held"));
        assertThat(plan.getGroups()).isEqualTo(1);
        assertThat(plan.getPrimaries()).isEqualTo(1);
        assertThat(plan.getReplicas()).as("disk 21 is in sync").isEqualTo(1);
        assertThat(plan.getBytes()).as("of 2000 and 1000 a replica").isEqualTo(1500);
        assertThat(plan.getMovesList())
                .containsExactly(
                        move(PgHash.pg(1, 1), 11, 31, 1500), move(PgHash.pg(1, 1), 30, 21, 0));
        assertThat(plan.getAllMoves()).isEqualTo(2);
        assertThat(plan.getHoldsList()).containsExactly("held");
        assertThat(plan.getDisks(1).getPlaceable()).isFalse();
        assertThat(plan.getDisks(1).getReplicasNow()).isEqualTo(1);
        assertThat(plan.getDisks(1).getReplicasThen()).isZero();
        assertThat(plan.getDisks(1).getShare()).isZero();
        assertThat(plan.getDisks(3).getReplicasThen()).isEqualTo(1);
        assertThat(plan.getDisks(3).getShare()).isEqualTo(6 / 7.0);
    }

    private static PlannedMove move(int pg, int from, int to, long bytes) {
        return PlannedMove.newBuilder().setPg(pg).setFrom(from).setTo(to).setBytes(bytes).build();
    }

    @Test
    void groupsThatGetMoreOrFewerReplicas() {
        update.addPgs(group(0, 10, 20)).addPgs(group(1, 10, 20, 30, 40));
        Map<Integer, List<Integer>> targets =
                Map.of(
                        PgHash.pg(1, 0), List.of(40, 10, 30),
                        PgHash.pg(1, 1), List.of(10, 20, 30));
        BalancePlanReply plan =
                new BalancePlan(map(), Map.of())
                        .reply(g -> targets.getOrDefault(g.getPg(), List.of()), List.of());
        assertThat(plan.getMovesList())
                .as("nothing is copied for a replica that only goes")
                .containsExactly(move(PgHash.pg(1, 0), 20, 40, 0), move(PgHash.pg(1, 0), 0, 30, 0));
        assertThat(plan.getAllMoves()).isEqualTo(2);
    }

    @Test
    void ofVeryManyMovesTheFirstAreNamed() {
        int groups = BalancePlan.MAX_MOVES / 2 + 1;
        update.getPoolsBuilder(0).setPgCount(groups);
        for (int i = 0; i < groups; i++) {
            update.addPgs(group(i, 10, 20, 30));
        }
        BalancePlanReply plan =
                new BalancePlan(map(), Map.of()).reply(g -> List.of(10, 21, 31), List.of());
        assertThat(plan.getMovesList()).hasSize(BalancePlan.MAX_MOVES);
        assertThat(plan.getMovesList().getLast().getPg()).isEqualTo(PgHash.pg(1, groups - 2));
        assertThat(plan.getAllMoves()).isEqualTo(2 * groups);
        assertThat(plan.getReplicas()).isEqualTo(2 * groups);
    }
}
