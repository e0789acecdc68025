package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.leader.Held;
import io.cairn.mds.map.PgPlanner;
import io.cairn.mds.proto.ClusterSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Groups move to where the planner wants them, without ever having fewer copies than before. */
class PlacementTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int SIZE = 3;
    private static final int PGS = 64;
    private static final Pool POOL =
            Pool.newBuilder()
                    .setId(1)
                    .setName("data")
                    .setSize(SIZE)
                    .setMinSize(2)
                    .setPgCount(PGS)
                    .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER)
                    .build();

    private final ServerLeases servers = new ServerLeases(60 * SECOND);
    private final InSyncSets sets = new InSyncSets(servers, () -> false);
    private Held held = Held.NONE;
    private final Placement placement =
            new Placement(
                    sets,
                    new Placement.Times(Duration.ofMinutes(10), Duration.ofMinutes(1)),
                    () -> held);
    private ClusterMap map = ClusterMap.EMPTY;
    private long now = 100 * SECOND;

    /** What servers say of their disks, if anything. */
    private final Map<Integer, ServerLeases.Report> reports = new HashMap<>();

    /** Of the joins that were granted: how many replicas were copied to each disk. */
    private final Map<Integer, Integer> copied = new HashMap<>();

    /** A cluster of so many servers with one disk each, and its table. */
    private void cluster(int count) {
        MapUpdate.Builder first = MapUpdate.newBuilder().setEpoch(1).addPools(POOL);
        for (int id = 1; id <= count; id++) {
            first.addServers(server(id)).addDisks(disk(id));
        }
        List<List<Integer>> table = PgPlanner.plan(ClusterMap.of(first.build()), POOL);
        for (int i = 0; i < PGS; i++) {
            first.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(1, i))
                            .setEpoch(1)
                            .addAllReplicas(table.get(i))
                            .addAllInSync(table.get(i)));
        }
        map = ClusterMap.of(first.build());
        servers.begin(map, now);
        sets.begin(now);
        later(SECOND);
    }

    private static Server.Builder server(int id) {
        return Server.newBuilder().setId(id).setAddress("h:" + id).setUp(true).setRecovers(true);
    }

    private static Disk.Builder disk(int server) {
        return Disk.newBuilder().setId(10 * server).setServer(server).setCapacityBytes(1L << 40);
    }

    /** All that are up are heard of afterwards. */
    private void later(long nanos) {
        now += nanos;
        for (Server server : map.servers()) {
            if (server.getUp()) {
                servers.heard(
                        server.getId(),
                        now,
                        map.epoch(),
                        reports.getOrDefault(server.getId(), ServerLeases.Report.NONE));
            }
        }
    }

    private void change(MapUpdate.Builder update) {
        update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1);
        map = Objects.requireNonNull(map.apply(update.build()));
        later(SECOND / 2);
    }

    private boolean apply(InSyncSets.@Nullable Change change) {
        if (change != null) {
            change(change.update());
        }
        return change != null;
    }

    private void up(int id, boolean up) {
        change(MapUpdate.newBuilder().addServers(server(id).setUp(up)));
    }

    /** What a leader does at a tick, after which all learners that can have learnt ask to join. */
    private boolean step() {
        boolean did = sets.isLeaving(map, now) && apply(sets.leaving(map, now));
        did = did || (sets.isSettling(map, now) && apply(sets.settling(map, now)));
        did = did || (placement.isAnyToChange(map, now) && apply(placement.absent(map, now)));
        did = did || (placement.isMoving(map, now) && apply(placement.moving(map, now)));
        checkLimits();
        return did || learn();
    }

    private boolean learn() {
        List<JoinPgRequest> joins = new ArrayList<>();
        for (PlacementGroup group : map.pgs()) {
            for (int disk : group.getReplicasList()) {
                if (!group.getInSyncList().contains(disk) && sets.serves(map, disk, now)) {
                    joins.add(
                            JoinPgRequest.newBuilder()
                                    .setPg(group.getPg())
                                    .setPgEpoch(group.getEpoch())
                                    .setDisk(disk)
                                    .build());
                    copied.merge(disk, 1, Integer::sum);
                }
            }
        }
        return apply(sets.joining(map, joins, now));
    }

    private void checkLimits() {
        Map<Integer, Integer> learners = new HashMap<>();
        for (PlacementGroup group : map.pgs()) {
            for (int disk : group.getReplicasList()) {
                if (!group.getInSyncList().contains(disk) && sets.serves(map, disk, now)) {
                    learners.merge(disk, 1, Integer::sum);
                }
            }
        }
        assertThat(learners.values()).allMatch(n -> n <= held.movesPerDisk());
    }

    /** Until nothing is to be done; no group ever has fewer members in sync than that. */
    private void settle(int leastInSync) {
        for (int steps = 0; step(); steps++) {
            assertThat(steps).as("ends").isLessThan(5000);
            assertThat(map.pgs()).allMatch(g -> g.getInSyncCount() >= leastInSync);
        }
        assertThat(map.pgs()).allMatch(g -> g.getInSyncList().equals(g.getReplicasList()));
    }

    /** How many replicas each disk has, and how many groups it leads. */
    private Map<Integer, Integer> replicas() {
        Map<Integer, Integer> counts = new TreeMap<>();
        map.pgs().forEach(g -> g.getReplicasList().forEach(d -> counts.merge(d, 1, Integer::sum)));
        return counts;
    }

    @Test
    void whatIsBalancedStays() {
        cluster(4);
        assertThat(step()).isFalse();
    }

    /** No more than its share moves to it, and no copy is given up before. */
    @Test
    void aDiskThatComesGetsItsShare() {
        cluster(3);
        change(MapUpdate.newBuilder().addServers(server(4)).addDisks(disk(4)));
        settle(SIZE);
        int share = PGS * SIZE / 4;
        assertThat(replicas()).containsOnlyKeys(10, 20, 30, 40);
        assertThat(replicas().values()).allMatch(n -> Math.abs(n - share) <= 1);
        assertThat(copied).containsOnlyKeys(40);
        assertThat(copied.getOrDefault(40, 0)).isLessThanOrEqualTo((int) (1.1 * share));
    }

    @Test
    void aDrainedDiskIsEmptiedAndFilledAgain() {
        cluster(4);
        change(MapUpdate.newBuilder().addDisks(disk(2).setOut(true)));
        settle(SIZE);
        assertThat(replicas()).containsOnlyKeys(10, 30, 40);
        change(MapUpdate.newBuilder().addDisks(disk(2)));
        settle(SIZE);
        assertThat(replicas().values()).allMatch(n -> Math.abs(n - PGS * SIZE / 4) <= 1);
    }

    @Test
    void whatAServerHadThatIsAwayForLongIsCopiedElsewhere() {
        cluster(4);
        up(2, false);
        while (step()) {}
        assertThat(replicas()).as("not yet").containsOnlyKeys(10, 20, 30, 40);
        later(TimeUnit.MINUTES.toNanos(9));
        while (step()) {}
        assertThat(replicas()).as("not yet").containsOnlyKeys(10, 20, 30, 40);
        later(TimeUnit.MINUTES.toNanos(2));
        settle(SIZE - 1);
        assertThat(replicas()).containsOnlyKeys(10, 30, 40);
        up(2, true);
        settle(SIZE);
        assertThat(replicas()).as("it is back").containsOnlyKeys(10, 20, 30, 40);
    }

    /** However many disks it has: that one machine fails is what replicas are for. */
    @Test
    void whatOneLargeServerHadIsCopiedElsewhere() {
        cluster(4);
        change(
                MapUpdate.newBuilder()
                        .addDisks(disk(1).setId(11))
                        .addDisks(disk(1).setId(12))
                        .addDisks(disk(1).setId(13)));
        settle(SIZE);
        up(1, false);
        while (step()) {}
        later(TimeUnit.MINUTES.toNanos(11));
        settle(SIZE - 1);
        assertThat(replicas()).containsOnlyKeys(20, 30, 40);
        assertThat(placement.withheld()).isEmpty();
        up(2, false);
        while (step()) {}
        later(TimeUnit.MINUTES.toNanos(11));
        while (step()) {}
        assertThat(placement.withheld()).containsExactly(20);
        up(2, true);
        assertThat(placement.isAnyToChange(map, now)).isFalse();
        assertThat(placement.withheld()).isEmpty();
    }

    @Test
    void aFailedDiskIsReplacedSooner() {
        cluster(4);
        DiskStatus failed = DiskStatus.newBuilder().setDisk(20).setReleased(true).build();
        reports.put(2, new ServerLeases.Report(List.of(failed), null, null, ""));
        later(0);
        while (step()) {}
        later(TimeUnit.SECONDS.toNanos(50));
        while (step()) {}
        assertThat(replicas()).as("not yet").containsOnlyKeys(10, 20, 30, 40);
        later(TimeUnit.SECONDS.toNanos(60));
        settle(SIZE - 1);
        assertThat(replicas()).containsOnlyKeys(10, 30, 40);
    }

    /** Two of three could not keep three copies; and where half are away the network is. */
    @Test
    void nothingIsCopiedWhereTooFewAreLeftOrTooManyAway() {
        for (int count : new int[] {3, 6}) {
            cluster(count);
            placement.begin();
            for (int away = 1; away <= count / 2; away++) {
                up(away, false);
            }
            while (step()) {}
            List<List<Integer>> before =
                    map.pgs().stream().map(PlacementGroup::getReplicasList).toList();
            later(TimeUnit.MINUTES.toNanos(30));
            while (step()) {}
            long absent = map.disks().stream().filter(Disk::getAbsent).count();
            assertThat(absent).as("of " + count).isEqualTo(count == 3 ? 0 : 1);
            if (count == 3) {
                assertThat(map.pgs().stream().map(PlacementGroup::getReplicasList).toList())
                        .isEqualTo(before);
            }
        }
    }

    @Test
    void underNooutNothingIsPlacedElsewhere() {
        cluster(4);
        held = Held.of(ClusterSettings.newBuilder().setNoOut(true).build());
        up(2, false);
        while (step()) {}
        later(TimeUnit.MINUTES.toNanos(30));
        while (step()) {}
        assertThat(replicas()).containsOnlyKeys(10, 20, 30, 40);
        held = Held.NONE;
        settle(SIZE - 1);
        assertThat(replicas()).containsOnlyKeys(10, 30, 40);
    }

    @Test
    void underNorebalanceGroupsOnlyLeaveDrainedAndAbsentDisks() {
        cluster(4);
        held = Held.of(ClusterSettings.newBuilder().setNoRebalance(true).build());
        change(MapUpdate.newBuilder().addServers(server(5)).addDisks(disk(5)));
        List<PlacementGroup> before = map.pgs();
        assertThat(step()).isFalse();
        assertThat(placement.toCopy(map, true, now)).isEmpty();
        change(MapUpdate.newBuilder().addDisks(disk(2).setOut(true)));
        settle(SIZE);
        assertThat(replicas()).containsOnlyKeys(10, 30, 40, 50);
        for (PlacementGroup group : before) {
            if (!group.getReplicasList().contains(20)) {
                assertThat(map.pg(group.getPg())).isEqualTo(group);
            }
        }
        change(MapUpdate.newBuilder().addDisks(disk(2)));
        assertThat(step()).isFalse();
        held = Held.NONE;
        assertThat(placement.toCopy(map, true, now)).isNotEmpty();
        assertThat(placement.toCopy(map, false, now)).isEmpty();
        settle(SIZE);
        assertThat(replicas().values()).allMatch(n -> Math.abs(n - PGS * SIZE / 5) <= 1);
    }

    /** A drained disk that was taken away must not count against those that fail later. */
    @Test
    void aDrainedServerThatIsGoneLeavesOthersReplaceable() {
        cluster(5);
        change(MapUpdate.newBuilder().addDisks(disk(5).setOut(true)));
        settle(SIZE);
        up(5, false);
        later(TimeUnit.MINUTES.toNanos(11));
        while (step()) {}
        up(4, false);
        while (step()) {}
        later(TimeUnit.MINUTES.toNanos(11));
        settle(SIZE - 1);
        assertThat(replicas()).containsOnlyKeys(10, 20, 30);
    }

    private void fill(int server, Fill fill) {
        Disk present = Objects.requireNonNull(map.disk(10 * server));
        change(MapUpdate.newBuilder().addDisks(present.toBuilder().setFill(fill)));
    }

    @Test
    void aDiskThatIsNearFullGetsNothingMoreWhereOthersTakeIt() {
        for (Fill level : List.of(Fill.FILL_NEAR_FULL, Fill.FILL_FULL)) {
            cluster(5);
            copied.clear();
            fill(3, level);
            assertThat(step()).as("it keeps what it has").isFalse();
            int before = replicas().getOrDefault(30, 0);
            change(MapUpdate.newBuilder().addDisks(disk(2).setOut(true)));
            settle(SIZE);
            assertThat(replicas()).containsOnlyKeys(10, 30, 40, 50);
            assertThat(replicas().getOrDefault(30, 0)).isEqualTo(before);
            assertThat(copied).as("to others only").doesNotContainKey(30);
            fill(3, Fill.FILL_NORMAL);
            settle(SIZE);
            assertThat(replicas().values())
                    .as("its share, once it has room")
                    .allMatch(n -> Math.abs(n - PGS * SIZE / 4) <= 1);
        }
    }

    /** Two of three servers are near full: the third one alone cannot have three copies. */
    @Test
    void whereNobodyElseIsLeftADiskThatIsNearFullIsUsedAndAFullOneIsNot() {
        cluster(4);
        fill(3, Fill.FILL_NEAR_FULL);
        fill(4, Fill.FILL_FULL);
        int full = replicas().getOrDefault(40, 0);
        change(MapUpdate.newBuilder().addDisks(disk(2).setOut(true)));
        for (int steps = 0; step(); steps++) {
            assertThat(steps).as("ends").isLessThan(5000);
        }
        assertThat(replicas().getOrDefault(40, 0)).as("full").isEqualTo(full);
        assertThat(replicas().getOrDefault(20, 0))
                .as("what only a full disk could take stays where it is")
                .isEqualTo(PGS - full);
        assertThat(map.pgs()).allMatch(g -> g.getInSyncCount() == SIZE);
        assertThat(copied).containsKey(30).doesNotContainKey(40);
        fill(4, Fill.FILL_NEAR_FULL);
        settle(SIZE);
        assertThat(replicas()).as("it has room again").containsOnlyKeys(10, 30, 40);
    }

    /** Else it would be out of sync for as long as it is full. */
    @Test
    void whatAFullDiskHasIsBroughtUpToDate() {
        cluster(4);
        fill(2, Fill.FILL_FULL);
        up(2, false);
        while (step()) {}
        up(2, true);
        assertThat(learn()).isTrue();
        assertThat(map.pgs()).allMatch(g -> g.getInSyncCount() == SIZE);
        Map<Integer, Integer> before = replicas();
        while (step()) {} // primaries
        assertThat(replicas()).isEqualTo(before).containsOnlyKeys(10, 20, 30, 40);
    }

    /** It could not bring a learner up to date. */
    @Test
    void nothingMovesBesideAServerOfAnOlderRelease() {
        cluster(3);
        change(
                MapUpdate.newBuilder()
                        .addServers(server(1).setRecovers(false))
                        .addServers(server(4))
                        .addDisks(disk(4)));
        assertThat(step()).isFalse();
    }
}
