package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.FillLimits;
import io.cairn.mds.proto.ClusterSettings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Disks 1 to 3, each of a server of its own; pool 1 is on 1 and 2, pool 2 on 2 and 3. */
class FillLevelsTest {
    private static final long HOLDS = 1000;

    private final Map<Integer, DiskStatus> reported = new HashMap<>();
    private FillLimits limits = FillLimits.of(ClusterSettings.getDefaultInstance());
    private ClusterMap map;

    FillLevelsTest() {
        MapUpdate.Builder first = MapUpdate.newBuilder().setEpoch(1);
        for (int id = 1; id <= 3; id++) {
            first.addServers(Server.newBuilder().setId(id).setUp(true))
                    .addDisks(Disk.newBuilder().setId(id).setServer(id).setCapacityBytes(1 << 30));
            used(id, 0);
        }
        for (int id = 1; id <= 2; id++) {
            first.addPools(
                            Pool.newBuilder()
                                    .setId(id)
                                    .setName("p" + id)
                                    .setSize(2)
                                    .setMinSize(1)
                                    .setPgCount(1))
                    .addPgs(
                            PlacementGroup.newBuilder()
                                    .setPg(PgHash.pg(id, 0))
                                    .setEpoch(1)
                                    .addAllReplicas(List.of(id, id + 1))
                                    .addAllInSync(List.of(id, id + 1)));
        }
        map = ClusterMap.of(first.build());
    }

    /** Percent, in tenths. */
    private void used(int disk, long permille) {
        reported.put(
                disk,
                DiskStatus.newBuilder()
                        .setDisk(disk)
                        .setCapacityBytes(2 * HOLDS)
                        .setUsedBytes(permille)
                        .setFreeBytes(HOLDS - permille)
                        .build());
    }

    private void change(MapUpdate.Builder update) {
        update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1);
        map = Objects.requireNonNull(map.apply(update.build()));
    }

    /** What the leader does at its ticks, until nothing is to be said. */
    private void settle() {
        InSyncSets.Change change = FillLevels.changed(map, reported, limits);
        if (change != null) {
            change(change.update());
        }
        assertThat(FillLevels.changed(map, reported, limits)).as("said once").isNull();
    }

    private void is(int disk, Fill level) {
        assertThat(Objects.requireNonNull(map.disk(disk)).getFill()).isEqualTo(level);
    }

    private void isPool(int pool, Fill level) {
        assertThat(Objects.requireNonNull(map.pool(pool)).getFill()).isEqualTo(level);
    }

    @Test
    void aDiskAndThePoolsThatHaveItFillUpAndComeBackByThemselves() {
        used(1, 849);
        settle();
        is(1, Fill.FILL_NORMAL);
        used(1, 850);
        settle();
        is(1, Fill.FILL_NEAR_FULL);
        isPool(1, Fill.FILL_NEAR_FULL);
        isPool(2, Fill.FILL_NORMAL);
        used(1, 950);
        settle();
        is(1, Fill.FILL_FULL);
        isPool(1, Fill.FILL_FULL);
        isPool(2, Fill.FILL_NORMAL);

        used(1, 931);
        settle();
        is(1, Fill.FILL_FULL); // a little less is not room yet
        isPool(1, Fill.FILL_FULL);
        used(1, 930);
        settle();
        is(1, Fill.FILL_NEAR_FULL);
        isPool(1, Fill.FILL_NEAR_FULL);
        used(1, 831);
        settle();
        is(1, Fill.FILL_NEAR_FULL);
        used(1, 830);
        settle();
        is(1, Fill.FILL_NORMAL);
        isPool(1, Fill.FILL_NORMAL);
    }

    @Test
    void aDiskOfTwoPoolsFillsBoth() {
        used(2, 960);
        settle();
        isPool(1, Fill.FILL_FULL);
        isPool(2, Fill.FILL_FULL);
    }

    @Test
    void aPoolHasThresholdsOfItsOwn() {
        Pool strict = Objects.requireNonNull(map.pool(2));
        change(
                MapUpdate.newBuilder()
                        .addPools(strict.toBuilder().setNearFullPercent(30).setFullPercent(50)));
        used(2, 500);
        settle();
        is(2, Fill.FILL_NORMAL);
        isPool(1, Fill.FILL_NORMAL);
        isPool(2, Fill.FILL_FULL);
        used(2, 970);
        change(
                MapUpdate.newBuilder()
                        .addPools(
                                Objects.requireNonNull(map.pool(2)).toBuilder()
                                        .setNearFullPercent(90)
                                        .setFullPercent(100)));
        settle();
        is(2, Fill.FILL_FULL);
        isPool(1, Fill.FILL_FULL);
        isPool(2, Fill.FILL_NEAR_FULL);
    }

    @Test
    void aThresholdThatIsChangedCountsAtOnce() {
        used(3, 960);
        settle();
        is(3, Fill.FILL_FULL);
        limits = new FillLimits(97, 99);
        settle();
        is(3, Fill.FILL_NEAR_FULL);
        limits = new FillLimits(99, 99);
        settle();
        is(3, Fill.FILL_NORMAL);
        isPool(2, Fill.FILL_NORMAL);
    }

    /** A new leader has not heard of all of them: the full one may be among those. */
    @Test
    void whatIsNotKnownMakesNothingBetter() {
        used(1, 960);
        settle();
        reported.remove(1);
        settle();
        is(1, Fill.FILL_FULL);
        isPool(1, Fill.FILL_FULL);
        reported.clear();
        settle();
        isPool(1, Fill.FILL_FULL);
        used(3, 990);
        settle();
        isPool(2, Fill.FILL_FULL); // worse it can get
        used(1, 100);
        used(2, 100);
        settle();
        isPool(1, Fill.FILL_NORMAL);
    }

    /** Nothing is written to it, so it fills nobody's pool. */
    @Test
    void aDiskThatIsAwayCountsForNothing() {
        used(1, 960);
        settle();
        Server server = Objects.requireNonNull(map.server(1));
        change(MapUpdate.newBuilder().addServers(server.toBuilder().setUp(false)));
        settle();
        is(1, Fill.FILL_FULL);
        isPool(1, Fill.FILL_NORMAL);
    }

    /** Of one that is out of service nothing is known. */
    @Test
    void aDiskThatIsOutStaysAsItWas() {
        reported.put(
                1, DiskStatus.newBuilder().setDisk(1).setCondition(DiskCondition.DISK_OUT).build());
        settle();
        is(1, Fill.FILL_NORMAL);
        assertThat(FillLevels.percent(reported.get(1))).isNegative();
        assertThat(FillLevels.percent(null)).isNegative();
        assertThat(FillLevels.percent(DiskStatus.newBuilder().setUsedBytes(1).build()))
                .isEqualTo(100);
    }

    @Test
    void thresholdsAreInOrder() {
        new FillLimits(95, 95).check("of the cluster");
        assertThatThrownBy(() -> new FillLimits(96, 95).check("of the cluster"))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("change the other threshold first");
        assertThatThrownBy(() -> new FillLimits(9, 95).check("of the cluster"))
                .isInstanceOf(FsException.class);
        assertThatThrownBy(() -> new FillLimits(90, 101).check("of the cluster"))
                .isInstanceOf(FsException.class);
    }
}
