package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MergedPg;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.MapChecks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Every rule of merges, by a clock that only moves when told: servers 1 to 6, each with the disk of
 * ten times its number; a pool that was made with two groups and has four, of which the last one is
 * where the one is that it goes back into.
 */
class PgMergesTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long BEGUN = 100 * SECOND;
    private static final int SERVERS = 6;
    private static final DeviceClass SSD = DeviceClass.DEVICE_CLASS_SSD;
    private static final DeviceClass HDD = DeviceClass.DEVICE_CLASS_HDD;
    private static final Duration NEVER = Duration.ofHours(1);

    private final ServerLeases servers = new ServerLeases(60 * SECOND);
    private final InSyncSets sets = new InSyncSets(servers, () -> false);
    private Held held = Held.NONE;
    private boolean known = true;
    private final Placement placement =
            new Placement(sets, new Placement.Times(NEVER, NEVER), () -> held);
    private final PgMerges merges = new PgMerges(sets, servers, () -> held, () -> known);
    private final PgSplits splits =
            new PgSplits(sets, placement, servers, () -> held, () -> known, () -> known);
    private ClusterMap map;
    private long now = BEGUN;

    PgMergesTest() {
        MapUpdate.Builder first =
                MapUpdate.newBuilder()
                        .setEpoch(7)
                        .addPools(
                                Pool.newBuilder()
                                        .setId(1)
                                        .setName("p")
                                        .setSize(3)
                                        .setMinSize(2)
                                        .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER)
                                        .setPgBase(2)
                                        .setPgTarget(4)
                                        .setPgCount(4));
        for (int id = 1; id <= SERVERS; id++) {
            first.addServers(
                            Server.newBuilder()
                                    .setId(id)
                                    .setAddress("h:1")
                                    .setHost("h" + id)
                                    .setUp(true)
                                    .setRecovers(true)
                                    .setSplits(true)
                                    .setUnites(true))
                    .addDisks(
                            Disk.newBuilder()
                                    .setId(10 * id)
                                    .setServer(id)
                                    .setCapacityBytes(1 << 30));
        }
        first.addPgs(group(0, 10, 20, 30))
                .addPgs(group(1, 40, 50, 60))
                .addPgs(group(2, 20, 30, 40))
                .addPgs(group(3, 40, 50, 60));
        map = ClusterMap.of(first.build());
        servers.begin(map, BEGUN);
        sets.begin(BEGUN);
        now += SECOND;
        heard();
    }

    private static PlacementGroup group(int index, Integer... disks) {
        return PlacementGroup.newBuilder()
                .setPg(PgHash.pg(1, index))
                .setEpoch(5)
                .addAllReplicas(List.of(disks))
                .addAllInSync(List.of(disks))
                .build();
    }

    private void heard() {
        for (int id = 1; id <= SERVERS; id++) {
            servers.heard(id, now, map.epoch(), ServerLeases.Report.NONE);
        }
    }

    private void change(MapUpdate.Builder update) {
        MapUpdate made = update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build();
        assertThat(MapChecks.objection(map, made)).isNull();
        map = map.with(made);
        heard();
    }

    private Pool pool() {
        return Objects.requireNonNull(map.pool(1));
    }

    private PlacementGroup pg(int index) {
        return Objects.requireNonNull(map.pg(PgHash.pg(1, index)));
    }

    private void wanted(int target) {
        change(Pools.update(Pools.withTarget(pool(), target)));
    }

    /** Takes the next step; false if there is none. */
    private boolean step() {
        boolean any = merges.isAny(map, now);
        InSyncSets.@Nullable Change next = merges.change(map, now);
        assertThat(next != null).isEqualTo(any);
        if (next != null) {
            change(next.update());
        }
        return any;
    }

    private void says(int disk, int index, long epoch, boolean takenIn) {
        MergedPg merged =
                MergedPg.newBuilder()
                        .setPg(PgHash.pg(1, index))
                        .setDisk(disk)
                        .setMergeEpoch(epoch)
                        .setTakenIn(takenIn)
                        .build();
        servers.heard(
                disk / 10,
                now,
                map.epoch(),
                new ServerLeases.Report(
                        List.of(), PgReport.newBuilder().addMerged(merged).build(), null, ""));
    }

    @Test
    void nothingIsMergedUnlessThePoolIsToHaveFewer() {
        assertThat(step()).isFalse();
        wanted(5);
        assertThat(step()).isFalse();
    }

    @Test
    void theLastGroupGoesBackAndBothBeginAnEpoch() {
        wanted(3);
        assertThat(step()).isTrue();
        assertThat(pg(3).getMergeEpoch()).isEqualTo(map.epoch());
        assertThat(pg(3).getEpoch()).isEqualTo(map.epoch());
        assertThat(pg(1).getEpoch()).isEqualTo(map.epoch());
        assertThat(pg(1).getMergeEpoch()).isZero();
        assertThat(map.merging()).containsOnlyKeys(PgHash.pg(1, 1));
        assertThat(step()).isFalse();
    }

    @Test
    void allMembersHaveToSayHowFarTheyAre() {
        wanted(3);
        step();
        long epoch = pg(3).getMergeEpoch();
        says(40, 3, epoch, false);
        says(50, 3, epoch, false);
        assertThat(step()).as("one has said nothing").isFalse();
        says(60, 3, epoch - 1, false);
        assertThat(step()).as("of another merge").isFalse();
        says(60, 3, epoch, false);
        assertThat(step()).isTrue();
        assertThat(pg(3).getMergeFlushed()).isTrue();
        assertThat(pg(3).getEpoch()).as("it goes on").isEqualTo(epoch);
        says(40, 3, epoch, true);
        says(50, 3, epoch, true);
        says(60, 3, epoch, false);
        assertThat(step()).as("not taken in everywhere").isFalse();
        assertThat(map.pg(PgHash.pg(1, 3))).isNotNull();
        says(60, 3, epoch, true);
        assertThat(step()).isTrue();
        assertThat(map.pg(PgHash.pg(1, 3))).isNull();
        assertThat(pool().getPgCount()).isEqualTo(3);
        assertThat(pool().getMergedEpoch()).isEqualTo(map.epoch());
        assertThat(pg(1).getEpoch()).isEqualTo(map.epoch());
        assertThat(map.isMerged(PgHash.pg(1, 3))).isTrue();
        assertThat(map.merging()).isEmpty();
        ClusterMap whole = ClusterMap.of(map.toUpdate());
        assertThat(whole.pgs()).isEqualTo(map.pgs());
        assertThat(step()).isFalse();
    }

    @Test
    void theGroupIsFirstBroughtToTheOther() {
        wanted(2);
        assertThat(PgMerges.wanted(map, pg(2))).containsExactly(10, 20, 30);
        assertThat(PgMerges.wanted(map, pg(0))).containsExactly(10, 20, 30);
        assertThat(placement.target(map, pg(2))).containsExactly(10, 20, 30);
        wanted(4);
        assertThat(PgMerges.wanted(map, pg(2))).isNull();
    }

    /** Where both had been placed with their replicas in different orders, nothing followed. */
    @Test
    void theOrderOfReplicasDoesNotHoldItBack() {
        List<Integer> reversed = List.of(40, 60, 50);
        change(
                MapUpdate.newBuilder()
                        .addPgs(
                                pg(3).toBuilder()
                                        .clearReplicas()
                                        .addAllReplicas(reversed)
                                        .clearInSync()
                                        .addAllInSync(reversed)));
        wanted(3);
        assertThat(placement.isPlaced(map, pg(3))).isFalse();
        change(Objects.requireNonNull(placement.moving(map, now)).update());
        assertThat(pg(3).getReplicasList()).isEqualTo(pg(1).getReplicasList());
        assertThat(step()).isTrue();
        assertThat(pg(3).getMergeEpoch()).isPositive();
    }

    @Test
    void ofTwoThatAreNotInOnePlaceNothingIsMerged() {
        wanted(3);
        change(
                MapUpdate.newBuilder()
                        .addPgs(
                                pg(3).toBuilder()
                                        .clearReplicas()
                                        .addAllReplicas(List.of(50, 40, 60))
                                        .clearInSync()
                                        .addAllInSync(List.of(50, 40, 60))));
        assertThat(step()).as("another primary").isFalse();
        change(
                MapUpdate.newBuilder()
                        .addPgs(
                                pg(3).toBuilder()
                                        .clearReplicas()
                                        .addAllReplicas(List.of(40, 50, 10))
                                        .clearInSync()
                                        .addAllInSync(List.of(40, 50, 10))));
        assertThat(step()).as("another member").isFalse();
    }

    @Test
    void allReplicasMustBeThereAndServe() {
        wanted(3);
        change(
                MapUpdate.newBuilder()
                        .addPgs(pg(1).toBuilder().clearInSync().addInSync(40).addInSync(50)));
        assertThat(step()).isFalse();
        change(MapUpdate.newBuilder().addPgs(pg(1).toBuilder().addInSync(60)));
        now += 3 * SECOND;
        for (int id = 1; id < SERVERS; id++) {
            servers.heard(id, now, map.epoch(), ServerLeases.Report.NONE);
        }
        assertThat(merges.isAny(map, now)).isFalse();
        heard();
        assertThat(merges.isAny(map, now)).isTrue();
    }

    @Test
    void aBlockThatWaitsForItsRepairHoldsItBack() {
        wanted(3);
        DiskStatus waits = DiskStatus.newBuilder().setDisk(50).setWaitingForRepair(1).build();
        servers.heard(5, now, map.epoch(), new ServerLeases.Report(List.of(waits), null, null, ""));
        assertThat(merges.isAny(map, now)).isFalse();
    }

    @Test
    void anAdministratorHoldsItBack() {
        wanted(3);
        held = new Held(false, true, false, false, false, false, 4);
        assertThat(merges.isAny(map, now)).as("norebalance").isFalse();
        held = new Held(false, false, false, true, false, false, 4);
        assertThat(merges.isAny(map, now)).as("norecover").isFalse();
        held = new Held(false, false, false, false, false, true, 4);
        assertThat(merges.isAny(map, now)).as("pause").isFalse();
        held = Held.NONE;
        assertThat(merges.isAny(map, now)).isTrue();
    }

    @Test
    void membersAndServersOfOlderReleasesHoldItBack() {
        wanted(3);
        known = false;
        assertThat(merges.isAny(map, now)).isFalse();
        known = true;
        change(
                MapUpdate.newBuilder()
                        .addServers(
                                Objects.requireNonNull(map.server(2)).toBuilder()
                                        .setUnites(false)
                                        .setMerges(true)));
        assertThat(merges.isAny(map, now)).isFalse();
    }

    @Test
    void whoLeavesOneLeavesBothAndNobodyJoins() {
        wanted(3);
        step();
        sets.told(PgHash.pg(1, 3), pg(3).getEpoch(), 60, now);
        change(Objects.requireNonNull(sets.leaving(map, now)).update());
        for (int index : new int[] {1, 3}) {
            assertThat(pg(index).getInSyncList()).containsExactly(40, 50);
            JoinPgRequest join =
                    JoinPgRequest.newBuilder()
                            .setPg(PgHash.pg(1, index))
                            .setPgEpoch(pg(index).getEpoch())
                            .setDisk(60)
                            .build();
            change(Objects.requireNonNull(sets.joining(map, List.of(join), now)).update());
            assertThat(pg(index).getInSyncList()).containsExactly(40, 50);
        }
        assertThat(sets.isSettling(map, now)).isFalse();
        long epoch = pg(3).getMergeEpoch();
        says(40, 3, epoch, true);
        says(50, 3, epoch, true);
        assertThat(step()).as("whoever is in sync still").isTrue();
        assertThat(pg(3).getMergeFlushed()).isTrue();
        says(40, 3, epoch, true);
        says(50, 3, epoch, true);
        assertThat(step()).isTrue();
        assertThat(map.pg(PgHash.pg(1, 3))).isNull();
    }

    @Test
    void onceBegunItGoesThroughAndOnlyThenGroupsAreSplitAgain() {
        wanted(3);
        step();
        wanted(6);
        assertThat(splits.isAny(map, now)).isFalse();
        long epoch = pg(3).getMergeEpoch();
        for (int round = 0; round < 2; round++) {
            says(40, 3, epoch, true);
            says(50, 3, epoch, true);
            says(60, 3, epoch, true);
            assertThat(step()).isTrue();
        }
        assertThat(pool().getPgCount()).isEqualTo(3);
        InSyncSets.@Nullable Change split = splits.change(map, now);
        change(Objects.requireNonNull(split).update());
        assertThat(pg(3).getMadeEpoch()).isEqualTo(map.epoch());
        assertThat(pg(3).getMergeEpoch()).isZero();
        assertThat(pg(3).getMergeFlushed()).isFalse();
    }

    @Test
    void beforeItIsBegunItIsTakenBack() {
        wanted(3);
        wanted(4);
        assertThat(step()).isFalse();
    }

    @Test
    void theAutomaticTargetGoesDownOnlyWhereDisksHaveFarTooMany() {
        // Of 6 disks 400 replicas each are 800 groups of 3.
        change(Pools.update(pool().toBuilder().setPgAuto(true).setPgTarget(800).build()));
        held = new Held(false, true, false, false, false, false, 4);
        assertThat(step()).isFalse();
        change(Pools.update(pool().toBuilder().setPgTarget(801).build()));
        assertThat(step()).isTrue();
        // At least 100 replicas each, in a number that divides all groups as often.
        assertThat(pool().getPgTarget()).isEqualTo(256);
        assertThat(step()).isFalse();
        assertThat(splits.isAny(map, now)).as("nor up again").isFalse();
        change(Pools.update(pool().toBuilder().setPgAuto(false).setPgTarget(4000).build()));
        assertThat(step()).as("not automatic").isFalse();
    }

    /** The first disks are SSDs, the others hard disks. */
    private void classes(int ssds) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (int i = 0; i < SERVERS; i++) {
            update.addDisks(map.disks().get(i).toBuilder().setDeviceClass(i < ssds ? SSD : HDD));
        }
        change(update);
    }

    private void automatic(int target, DeviceClass... each) {
        change(
                Pools.update(
                        pool().toBuilder()
                                .setPgAuto(true)
                                .setPgTarget(target)
                                .clearReplicaClasses()
                                .addAllReplicaClasses(List.of(each))
                                .build()));
    }

    @Test
    void theAutomaticTargetGoesDownOnlyWhereDisksOfEveryTierHaveFarTooMany() {
        held = new Held(false, true, false, false, false, false, 4);
        classes(3);
        // 400 replicas on each of 3 disks: 1200 groups for the SSDs, 600 for the hard disks.
        automatic(1200, SSD, HDD, HDD);
        assertThat(step()).as("the SSDs have not too many").isFalse();
        automatic(1201, SSD, HDD, HDD);
        assertThat(step()).isTrue();
        // At least 100 on each SSD, too: 300 groups; 150 would do for the hard disks.
        assertThat(pool().getPgTarget()).isEqualTo(512);
        assertThat(step()).isFalse();
        assertThat(splits.isAny(map, now)).as("nor up again").isFalse();
    }

    @Test
    void disksOfOtherClassesDoNotKeepTheAutomaticTargetUp() {
        held = new Held(false, true, false, false, false, false, 4);
        classes(3);
        automatic(400, SSD);
        assertThat(step()).isFalse();
        automatic(401, SSD);
        assertThat(step()).as("of all disks 800").isTrue();
        assertThat(pool().getPgTarget()).isEqualTo(128);
    }

    /** Its disks may come back: until then nobody knows how many groups they need. */
    @Test
    void theAutomaticTargetStaysWhileATierHasNoDisks() {
        held = new Held(false, true, false, false, false, false, 4);
        classes(0);
        automatic(4000, SSD, HDD, HDD);
        assertThat(step()).isFalse();
        classes(1);
        assertThat(step()).isTrue();
    }

    @Test
    void noMapEndsAGroupOtherwise() {
        MapUpdate.Builder fewer =
                MapUpdate.newBuilder().addPools(pool().toBuilder().setPgCount(3).setPgTarget(3));
        assertThat(objection(fewer)).contains("is not merged");
        assertThat(objection(fewer.addPgs(pg(1).toBuilder().setEpoch(8))))
                .contains("is not merged");
        assertThat(
                        objection(
                                MapUpdate.newBuilder()
                                        .addPgs(pg(0).toBuilder().setEpoch(8))
                                        .addPgs(pg(2).toBuilder().setEpoch(8).setMergeEpoch(8))))
                .as("not the last one, nor in one place")
                .contains("cannot be merged so");
        wanted(3);
        step();
        assertThat(objection(MapUpdate.newBuilder().addPgs(pg(3).toBuilder().setMergeEpoch(0))))
                .as("it is not taken back")
                .contains("cannot be merged so");
    }

    private @Nullable String objection(MapUpdate.Builder update) {
        return MapChecks.objection(
                map, update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build());
    }
}
