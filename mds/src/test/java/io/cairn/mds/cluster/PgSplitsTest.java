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
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.MapChecks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Every rule of splits, by a clock that only moves when told: servers 1 to 6, each with the disk of
 * ten times its number; a pool of two groups, on the first three disks and on the last three.
 */
class PgSplitsTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long BEGUN = 100 * SECOND;
    private static final int SERVERS = 6;
    private static final DeviceClass SSD = DeviceClass.DEVICE_CLASS_SSD;
    private static final DeviceClass HDD = DeviceClass.DEVICE_CLASS_HDD;
    private static final Duration NEVER = Duration.ofHours(1);

    private final ServerLeases servers = new ServerLeases(60 * SECOND);
    private final InSyncSets sets = new InSyncSets(servers, () -> false);
    private Held held = Held.NONE;
    private final Placement placement =
            new Placement(sets, new Placement.Times(NEVER, NEVER), () -> held);
    private boolean together = true;
    private final PgSplits splits =
            new PgSplits(sets, placement, servers, () -> held, () -> true, () -> together);
    private ClusterMap map;
    private long now = BEGUN;

    PgSplitsTest() {
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
                                        .setPgCount(2));
        for (int id = 1; id <= SERVERS; id++) {
            first.addServers(
                            Server.newBuilder()
                                    .setId(id)
                                    .setAddress("h:1")
                                    .setHost("h" + id)
                                    .setUp(true)
                                    .setRecovers(true)
                                    .setSplits(true))
                    .addDisks(
                            Disk.newBuilder()
                                    .setId(10 * id)
                                    .setServer(id)
                                    .setCapacityBytes(1 << 30));
        }
        first.addPgs(group(0, 10, 20, 30)).addPgs(group(1, 40, 50, 60));
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
        boolean any = splits.isAny(map, now);
        InSyncSets.@Nullable Change next = splits.change(map, now);
        assertThat(next != null).isEqualTo(any);
        if (next != null) {
            change(next.update());
        }
        return any;
    }

    private void serves(int server, int index) {
        PgReport report = PgReport.newBuilder().addSplit(PgHash.pg(1, index)).build();
        servers.heard(
                server, now, map.epoch(), new ServerLeases.Report(List.of(), report, null, ""));
    }

    @Test
    void nothingIsSplitUnlessThePoolIsToHaveMore() {
        assertThat(step()).isFalse();
        wanted(2);
        assertThat(step()).isFalse();
    }

    @Test
    void theChildHasTheMembersOfItsParent() {
        wanted(3);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(3);
        assertThat(pool().getPgBase()).isEqualTo(2);
        assertThat(pg(2).getReplicasList()).containsExactly(10, 20, 30);
        assertThat(pg(2).getInSyncList()).containsExactly(10, 20, 30);
        assertThat(pg(2).getSplitEpoch()).isEqualTo(map.epoch());
        assertThat(pg(2).getEpoch()).isEqualTo(map.epoch());
        assertThat(pg(2).getMadeEpoch()).isEqualTo(map.epoch());
        assertThat(pg(0).getEpoch()).isEqualTo(map.epoch());
        assertThat(pg(0).getSplitEpoch()).isZero();
        assertThat(pg(1).getEpoch()).isEqualTo(5);
        assertThat(map.splitting()).containsOnlyKeys(PgHash.pg(1, 0));
    }

    @Test
    void itIsMadeOnceItsPrimaryServes() {
        wanted(3);
        step();
        assertThat(step()).isFalse();
        serves(2, 2);
        assertThat(step()).as("not the primary's word").isFalse();
        serves(1, 2);
        long epoch = pg(2).getEpoch();
        assertThat(step()).isTrue();
        assertThat(pg(2).getSplitEpoch()).isZero();
        assertThat(pg(2).getEpoch()).as("it goes on").isEqualTo(epoch);
        assertThat(step()).isFalse();
    }

    @Test
    void groupsOnDifferentDisksAreSplitInOneChange() {
        wanted(4);
        long before = map.epoch();
        assertThat(step()).isTrue();
        assertThat(map.epoch()).isEqualTo(before + 1);
        assertThat(pool().getPgCount()).isEqualTo(4);
        assertThat(pg(2).getReplicasList()).containsExactly(10, 20, 30);
        assertThat(pg(3).getReplicasList()).containsExactly(40, 50, 60);
        assertThat(map.pgs()).allMatch(g -> g.getEpoch() == map.epoch());
        assertThat(map.splitting()).containsOnlyKeys(PgHash.pg(1, 0), PgHash.pg(1, 1));
    }

    @Test
    void notMoreAreSplitThanAreWanted() {
        wanted(3);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(3);
    }

    @Test
    void oneIsSplitInAChangeUntilAllMembersKnowMore() {
        together = false;
        wanted(4);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(3);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(4);
    }

    @Test
    void eachDiskHasOneSplitAtATime() {
        change(
                MapUpdate.newBuilder()
                        .addPgs(group(1, 30, 40, 50).toBuilder().setEpoch(map.epoch() + 1)));
        wanted(4);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).as("they have a disk in common").isEqualTo(3);
        assertThat(step()).isFalse();
        serves(1, 2);
        assertThat(step()).as("it is made").isTrue();
        assertThat(step()).isTrue();
        assertThat(pg(3).getReplicasList()).containsExactly(30, 40, 50);
    }

    /** The next one of each has to wait for it. */
    @Test
    void aGroupIsSplitAgainOnceThatIsDone() {
        wanted(5);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(4);
        assertThat(step()).isFalse();
        serves(4, 3);
        serves(1, 2);
        assertThat(step()).isTrue();
        assertThat(map.splitting()).as("both in one change").isEmpty();
        assertThat(step()).isTrue();
        assertThat(pg(4).getReplicasList()).containsExactly(10, 20, 30);
    }

    @Test
    void whatServesWaitsASecondForTheOthers() {
        wanted(4);
        assertThat(step()).isTrue();
        serves(4, 3);
        assertThat(step()).isFalse();
        now += SECOND;
        assertThat(step()).isTrue();
        assertThat(map.splitting()).containsOnlyKeys(PgHash.pg(1, 0));
        assertThat(step()).isFalse();
        serves(1, 2);
        assertThat(step()).as("all that are left").isTrue();
    }

    /** To begin without that would only take another change of the map. */
    @Test
    void whatIsFreeWaitsForTheDisksOfWhatComesNext() {
        groups(4, 8, i -> i % 2 == 0 ? group(i, 10, 20, 30) : group(i, 40, 50, 60), 4);
        assertThat(step()).isTrue();
        serves(1, 4);
        assertThat(step()).isFalse();
        now += SECOND;
        assertThat(step()).isTrue();
        assertThat(step()).as("the one after it is not free").isFalse();
        serves(4, 5);
        assertThat(step()).isTrue();
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(8);
    }

    /** Another table of groups. */
    private void groups(int pgBase, int target, IntFunction<PlacementGroup> group, int pgCount) {
        MapUpdate.Builder other = map.toUpdate().toBuilder().clearPgs().clearPools();
        other.addPools(
                pool().toBuilder().setPgBase(pgBase).setPgCount(pgCount).setPgTarget(target));
        IntStream.range(0, pgCount).mapToObj(group).forEach(other::addPgs);
        map = ClusterMap.of(other.setEpoch(map.epoch() + 1).build());
        heard();
    }

    /** Groups are made in the order of their numbers. */
    @Test
    void whatComesAfterAGroupThatIsNotReadyWaitsToo() {
        wanted(4);
        change(
                MapUpdate.newBuilder()
                        .addPgs(pg(1).toBuilder().clearInSync().addInSync(40).addInSync(50)));
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).as("without the second").isEqualTo(3);
        assertThat(step()).isFalse();
    }

    @Test
    void allReplicasMustBeThere() {
        wanted(3);
        change(
                MapUpdate.newBuilder()
                        .addPgs(pg(0).toBuilder().clearInSync().addInSync(10).addInSync(20)));
        assertThat(step()).isFalse();
    }

    /** Of another size than the pool's no group can be made; so they get other replicas first. */
    @Test
    void groupsOfAnotherSizeThanTheirPoolsMoveBeforeTheyAreSplit() {
        for (int size : new int[] {2, 4}) {
            change(Pools.update(Pools.withTarget(pool().toBuilder().setSize(size).build(), 3)));
            assertThat(step()).as("size %d", size).isFalse();
            assertThat(placement.isMoving(map, now)).as("size %d", size).isTrue();
        }
    }

    @Test
    void allOfThemMustServe() {
        wanted(3);
        now += 3 * SECOND;
        for (int id = 2; id <= SERVERS; id++) {
            servers.heard(id, now, map.epoch(), ServerLeases.Report.NONE);
        }
        assertThat(splits.isAny(map, now)).isFalse();
        heard();
        assertThat(splits.isAny(map, now)).isTrue();
    }

    @Test
    void aBlockThatWaitsForItsRepairHoldsItBack() {
        wanted(3);
        DiskStatus waits = DiskStatus.newBuilder().setDisk(20).setWaitingForRepair(1).build();
        servers.heard(2, now, map.epoch(), new ServerLeases.Report(List.of(waits), null, null, ""));
        assertThat(splits.isAny(map, now)).isFalse();
    }

    @Test
    void anAdministratorHoldsItBack() {
        wanted(3);
        held = new Held(false, true, false, false, false, false, 4);
        assertThat(splits.isAny(map, now)).as("norebalance").isFalse();
        held = new Held(false, false, false, true, false, false, 4);
        assertThat(splits.isAny(map, now)).as("norecover").isFalse();
        held = new Held(false, false, false, false, false, true, 4);
        assertThat(splits.isAny(map, now)).as("pause").isFalse();
        held = Held.NONE;
        assertThat(splits.isAny(map, now)).isTrue();
    }

    @Test
    void aServerOfAnOlderReleaseHoldsItBack() {
        wanted(3);
        change(
                MapUpdate.newBuilder()
                        .addServers(
                                Objects.requireNonNull(map.server(6)).toBuilder()
                                        .setSplits(false)));
        assertThat(splits.isAny(map, now)).isFalse();
    }

    /** Or a member in sync with the child could get what is the child's by no split. */
    @Test
    void whoLeavesTheParentLeavesTheChild() {
        wanted(3);
        step();
        change(
                MapUpdate.newBuilder()
                        .addServers(
                                Objects.requireNonNull(map.server(1)).toBuilder().setUp(false)));
        InSyncSets.@Nullable Change leaving = sets.leaving(map, now);
        change(Objects.requireNonNull(leaving).update());
        assertThat(pg(0).getInSyncList()).containsExactly(20, 30);
        assertThat(pg(2).getInSyncList()).containsExactly(20, 30);
        assertThat(pg(2).getEpoch()).isEqualTo(map.epoch());
    }

    /** Such a map should not be: nothing that is made of it leaves a group without a member. */
    @Test
    void aGroupKeepsAMemberThoughItsChildHasOthers() {
        wanted(3);
        assertThat(step()).isTrue();
        PlacementGroup parent = pg(0).toBuilder().clearInSync().addInSync(10).build();
        PlacementGroup child = pg(2).toBuilder().clearInSync().addInSync(20).addInSync(10).build();
        MapUpdate.Builder other = map.toUpdate().toBuilder().clearPgs().clearServers();
        map.pgs().stream()
                .filter(g -> !Set.of(parent.getPg(), child.getPg()).contains(g.getPg()))
                .forEach(other::addPgs);
        map.servers().forEach(s -> other.addServers(s.toBuilder().setUp(s.getId() != 1)));
        map = ClusterMap.of(other.addPgs(parent).addPgs(child).build());
        assertThat(sets.leaving(map, now)).isNull();
    }

    @Test
    void whoIsSilentToTheChildLeavesBoth() {
        wanted(3);
        step();
        sets.told(PgHash.pg(1, 2), pg(2).getEpoch(), 30, now);
        InSyncSets.@Nullable Change leaving = sets.leaving(map, now);
        change(Objects.requireNonNull(leaving).update());
        assertThat(pg(0).getInSyncList()).containsExactly(10, 20);
        assertThat(pg(2).getInSyncList()).containsExactly(10, 20);
    }

    @Test
    void nobodyJoinsMeanwhile() {
        wanted(3);
        step();
        sets.told(PgHash.pg(1, 0), pg(0).getEpoch(), 30, now);
        change(Objects.requireNonNull(sets.leaving(map, now)).update());
        for (int index : new int[] {0, 2}) {
            JoinPgRequest join =
                    JoinPgRequest.newBuilder()
                            .setPg(PgHash.pg(1, index))
                            .setPgEpoch(pg(index).getEpoch())
                            .setDisk(30)
                            .build();
            change(Objects.requireNonNull(sets.joining(map, List.of(join), now)).update());
            assertThat(pg(index).getInSyncList()).containsExactly(10, 20);
            assertThat(pg(index).getEpoch()).as("it is told so").isEqualTo(map.epoch());
        }
        assertThat(sets.isSettling(map, now)).isFalse();
    }

    @Test
    void theTargetFollowsTheDisks() {
        change(Pools.update(pool().toBuilder().setPgAuto(true).build()));
        assertThat(step()).isTrue();
        // Of 6 disks each is to have at least 50 replicas: 100 groups of 3, and 2 times 2 to the n.
        assertThat(pool().getPgTarget()).isEqualTo(128);
        assertThat(pool().getPgCount()).isEqualTo(2);
        assertThat(step()).isTrue();
        assertThat(pool().getPgCount()).isEqualTo(4);
        change(Pools.update(pool().toBuilder().setPgTarget(1000).build()));
        step();
        assertThat(pool().getPgTarget()).as("it does not go down here").isEqualTo(1000);
    }

    private void onThreeDisks(int pgCount) {
        groups(2, 1024, i -> group(i, 10, 20, 30), pgCount);
    }

    @Test
    void movesGoFirstWhereADiskHasManyGroupsOfOneSize() {
        onThreeDisks(128);
        assertThat(placement.isMoving(map, now)).isFalse();
        assertThat(splits.isAny(map, now)).isTrue();
        onThreeDisks(256);
        assertThat(placement.isMoving(map, now)).isTrue();
        assertThat(splits.isAny(map, now)).isFalse();
        onThreeDisks(257);
        assertThat(placement.isMoving(map, now)).as("of two sizes").isFalse();
        assertThat(splits.isAny(map, now)).isTrue();
    }

    /** That other disks have few of them, as they just came, does not count. */
    @Test
    void theDiskThatHasMostCounts() {
        onThreeDisks(256);
        while (placement.isMoving(map, now)) {
            change(Objects.requireNonNull(placement.moving(map, now)).update());
        }
        assertThat(map.pgs()).anyMatch(g -> g.getReplicasList().contains(60));
        assertThat(splits.isAny(map, now)).as("they only begin to move").isFalse();
    }

    /** Gives the first disks these classes. */
    private void classes(DeviceClass... classes) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (int i = 0; i < classes.length; i++) {
            update.addDisks(map.disks().get(i).toBuilder().setDeviceClass(classes[i]));
        }
        change(update);
    }

    private void isAutomatic(DeviceClass... each) {
        change(
                Pools.update(
                        pool().toBuilder()
                                .setPgAuto(true)
                                .addAllReplicaClasses(List.of(each))
                                .build()));
    }

    @Test
    void theTierThatNeedsMostGroupsDecides() {
        classes(SSD, SSD, SSD, HDD, HDD, HDD);
        isAutomatic(SSD, HDD, HDD);
        assertThat(step()).isTrue();
        // Of 3 SSDs each is to have at least 50 replicas, of 1 in a group: 150 groups.
        assertThat(pool().getPgTarget()).isEqualTo(256);
    }

    @Test
    void aTierOfManyDisksDecidesThoughItHasMoreReplicas() {
        classes(SSD, HDD, HDD, HDD, HDD, HDD);
        isAutomatic(SSD, HDD, HDD);
        assertThat(step()).isTrue();
        // Of 5 hard disks each is to have at least 50 replicas, of 2 in a group: 125 groups.
        assertThat(pool().getPgTarget()).isEqualTo(128);
    }

    @Test
    void disksOfOtherClassesDoNotCount() {
        classes(SSD, SSD, SSD, HDD, HDD);
        isAutomatic(SSD);
        assertThat(step()).isTrue();
        // 3 SSDs are 50 groups of 3; all 6 disks would be 100.
        assertThat(pool().getPgTarget()).isEqualTo(64);
    }

    @Test
    void noMapAddsAGroupOtherwise() {
        Pool more = pool().toBuilder().setPgBase(2).setPgCount(3).build();
        assertThat(objection(MapUpdate.newBuilder().addPools(more))).contains("is not made of");
        assertThat(objection(MapUpdate.newBuilder().addPools(more.toBuilder().setPgCount(1))))
                .contains("made with");
        assertThat(objection(MapUpdate.newBuilder().addPools(pool().toBuilder().setPgBase(1))))
                .contains("cannot change");
        assertThat(
                        objection(
                                MapUpdate.newBuilder()
                                        .addPools(more)
                                        .addPgs(pg(0).toBuilder().setEpoch(8))
                                        .addPgs(
                                                pg(1).toBuilder()
                                                        .setPg(PgHash.pg(1, 2))
                                                        .setEpoch(8)
                                                        .setSplitEpoch(8))))
                .contains("is not made of");
    }

    @Test
    void noMapSplitsAGroupTwice() {
        wanted(5);
        MapUpdate.Builder split =
                Objects.requireNonNull(splits.change(map, now))
                        .update()
                        .addPgs(child(0, 4, map.epoch() + 1));
        Pool.Builder five = split.getPoolsBuilder(0).setPgCount(5);
        assertThat(objection(split)).contains("PG 4 is not made of");
        five.setPgCount(4);
        split.removePgs(split.getPgsCount() - 1);
        assertThat(objection(split)).isNull();
        assertThat(step()).isTrue();
        long epoch = map.epoch() + 1;
        MapUpdate.Builder again =
                MapUpdate.newBuilder()
                        .addPools(pool().toBuilder().setPgCount(5))
                        .addPgs(pg(0).toBuilder().setEpoch(epoch))
                        .addPgs(child(0, 4, epoch));
        assertThat(objection(again)).as("while it is").contains("PG 4 is not made of");
    }

    private PlacementGroup.Builder child(int parent, int index, long epoch) {
        return pg(parent).toBuilder()
                .setPg(PgHash.pg(1, index))
                .setEpoch(epoch)
                .setSplitEpoch(epoch);
    }

    private @Nullable String objection(MapUpdate.Builder update) {
        return MapChecks.objection(
                map, update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build());
    }
}
