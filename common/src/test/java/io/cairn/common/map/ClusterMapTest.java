package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ClusterMapTest {
    private static final ByteString ID = ByteString.copyFrom(new byte[] {1, 2, 3});

    private static Server server(int id, int port) {
        return Server.newBuilder().setId(id).setAddress("127.0.0.1:" + port).setUp(true).build();
    }

    private static Disk disk(int id, int server) {
        return Disk.newBuilder().setId(id).setServer(server).setCapacityBytes(1000).build();
    }

    private static Pool pool(int id, int pgs) {
        return Pool.newBuilder().setId(id).setName("p" + id).setPgCount(pgs).setSize(2).build();
    }

    private static PlacementGroup pg(int pool, int index, long epoch, Integer... disks) {
        return PlacementGroup.newBuilder()
                .setPg(PgHash.pg(pool, index))
                .setEpoch(epoch)
                .addAllReplicas(List.of(disks))
                .addAllInSync(List.of(disks))
                .build();
    }

    private static MapUpdate full() {
        return MapUpdate.newBuilder()
                .setClusterId(ID)
                .setEpoch(5)
                .addServers(server(1, 1001))
                .addServers(server(2, 1002))
                .addDisks(disk(10, 1))
                .addDisks(disk(20, 2))
                .addPools(pool(1, 4))
                .addPgs(pg(1, 0, 5, 10, 20))
                .addPgs(pg(1, 1, 5, 20, 10))
                .addRefusedSessions(77)
                .setSessionFloor(2)
                .addMds(MdsMember.newBuilder().setId(1).setAddress("127.0.0.1:900"))
                .build();
    }

    private static ClusterMap applied(ClusterMap map, MapUpdate update) {
        return Objects.requireNonNull(map.apply(update));
    }

    private static PrimaryDisk primary(MapUpdate.Builder map) {
        return Objects.requireNonNull(ClusterMap.of(map.build()).primary(PgHash.pg(1, 0)));
    }

    @Test
    void aPrimaryIsAnotherOneByDiskAddressAndIncarnation() {
        PrimaryDisk first = primary(full().toBuilder());
        assertThat(first).isEqualTo(primary(full().toBuilder().setEpoch(6)));
        assertThat(first)
                .isEqualTo(
                        primary(
                                full().toBuilder()
                                        .addServers(server(1, 1001).toBuilder().setUp(false))));
        assertThat(first).isEqualTo(primary(full().toBuilder().addPgs(pg(1, 0, 6, 10))));
        assertThat(first).isEqualTo(primary(full().toBuilder().addServers(server(2, 9))));
        assertThat(first)
                .isNotEqualTo(
                        primary(
                                full().toBuilder()
                                        .addServers(
                                                server(1, 1001).toBuilder().setIncarnation(ID))));
        assertThat(first).isNotEqualTo(primary(full().toBuilder().addServers(server(1, 9))));
        assertThat(first).isNotEqualTo(primary(full().toBuilder().addPgs(pg(1, 0, 6, 20, 10))));
        assertThat(first)
                .isNotEqualTo(
                        primary(
                                full().toBuilder()
                                        .addDisks(disk(11, 1))
                                        .addPgs(pg(1, 0, 6, 11, 20))));
        ClusterMap map = ClusterMap.of(full());
        assertThat(map.primary(PgHash.pg(1, 2))).isNull();
        assertThat(map.primary(-1)).isNull();
    }

    @Test
    void answersQuestions() {
        ClusterMap map = ClusterMap.of(full());
        assertThat(map.epoch()).isEqualTo(5);
        assertThat(map.primaryAddress(PgHash.pg(1, 0))).hasToString("/127.0.0.1:1001");
        assertThat(map.primaryAddress(PgHash.pg(1, 1))).hasToString("/127.0.0.1:1002");
        assertThat(map.primaryAddress(PgHash.pg(1, 2))).isNull();
        assertThat(ClusterMap.primaryOf(PlacementGroup.getDefaultInstance())).isZero();
        assertThat(map.primaryAddress(PgHash.pg(1, 4))).isNull();
        assertThat(map.primaryAddress(PgHash.pg(9, 0))).isNull();
        assertThat(map.primaryAddress(-1)).isNull();
        assertThat(map.serverOfDisk(20)).isEqualTo(server(2, 1002));
        assertThat(map.serverOfDisk(21)).isNull();
        assertThat(map.refused(77)).isTrue();
        assertThat(map.refused(78)).isFalse();
        assertThat(map.pgOf(1, 5, 6)).isEqualTo(PgHash.pg(1, 5, 6, 4));
        assertThat(map.pool(1)).isEqualTo(pool(1, 4));
        assertThat(map.toUpdate()).isEqualTo(full());
    }

    @Test
    void theFirstInSyncIsThePrimary() {
        PlacementGroup moved =
                pg(1, 0, 5, 10, 20).toBuilder().setInSync(0, 20).setInSync(1, 10).build();
        ClusterMap map = ClusterMap.of(full().toBuilder().setPgs(0, moved).build());
        assertThat(ClusterMap.primaryOf(moved)).isEqualTo(20);
        assertThat(map.primaryAddress(PgHash.pg(1, 0))).hasToString("/127.0.0.1:1002");
    }

    @Test
    void nothingIsKnownBeforeTheFirstMap() {
        assertThat(ClusterMap.EMPTY.epoch()).isZero();
        assertThat(ClusterMap.EMPTY.primaryAddress(PgHash.pg(1, 0))).isNull();
        assertThat(ClusterMap.EMPTY.refused(1)).isFalse();
        assertThat(applied(ClusterMap.EMPTY, full()).toUpdate()).isEqualTo(full());
    }

    @Test
    void increments() {
        ClusterMap map = ClusterMap.of(full());
        MapUpdate increment =
                MapUpdate.newBuilder()
                        .setClusterId(ID)
                        .setBaseEpoch(5)
                        .setEpoch(6)
                        .addServers(server(2, 2002))
                        .addPgs(pg(1, 2, 6, 20))
                        .addRefusedSessions(78)
                        .addForgottenSessions(77)
                        .setSessionFloor(4)
                        .build();
        ClusterMap next = applied(map, increment);
        assertThat(next.epoch()).isEqualTo(6);
        assertThat(next.primaryAddress(PgHash.pg(1, 1))).hasToString("/127.0.0.1:2002");
        assertThat(next.primaryAddress(PgHash.pg(1, 2))).hasToString("/127.0.0.1:2002");
        assertThat(next.refusedSessions()).containsExactly(78);
        assertThat(map.sessionFloor()).isEqualTo(2);
        assertThat(next.sessionFloor()).isEqualTo(4);
        assertThat(next.mds()).hasSize(1);
        assertThat(map.refused(77)).isTrue();
        assertThat(ClusterMap.diff(map, next)).isEqualTo(increment);

        assertThat(next.apply(increment)).isSameAs(next);
        assertThat(next.apply(full())).isSameAs(next);
        assertThat(map.apply(increment.toBuilder().setBaseEpoch(6).setEpoch(7).build())).isNull();
    }

    @Test
    void contradictionsAreRefused() {
        ClusterMap map = ClusterMap.of(full());
        assertRefused(
                map,
                full().toBuilder()
                        .setEpoch(9)
                        .setClusterId(ByteString.EMPTY.concat(ByteString.copyFromUtf8("x")))
                        .build());
        assertRefused(map, full().toBuilder().setEpoch(9).addPgs(pg(2, 0, 9, 10)).build());
        assertRefused(map, full().toBuilder().setEpoch(9).addPgs(pg(1, 4, 9, 10)).build());
        assertRefused(map, full().toBuilder().setEpoch(9).addPools(pool(0, 1)).build());
        assertRefused(map, full().toBuilder().setEpoch(9).addPools(pool(3, 65537)).build());
        assertThatThrownBy(() -> ClusterMap.of(full().toBuilder().setBaseEpoch(1).build()))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> ClusterMap.diff(map, ClusterMap.EMPTY))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static void assertRefused(ClusterMap map, MapUpdate update) {
        assertThatThrownBy(() -> map.apply(update)).isInstanceOf(IllegalArgumentException.class);
    }

    /** The difference of any two epochs leads to the same map. */
    @Test
    void randomHistories() {
        Random random = TestSeed.random("ClusterMapTest");
        List<ClusterMap> history = new ArrayList<>(List.of(ClusterMap.of(full())));
        for (int i = 0; i < 200; i++) {
            ClusterMap last = history.getLast();
            history.add(applied(last, randomChange(random, last.epoch())));
        }
        for (int i = 0; i < 500; i++) {
            int a = random.nextInt(history.size());
            int b = a + random.nextInt(history.size() - a);
            MapUpdate update = ClusterMap.diff(history.get(a), history.get(b));
            assertThat(applied(history.get(a), update).toUpdate())
                    .isEqualTo(history.get(b).toUpdate());
            if (a + 1 < b) {
                assertThat(history.get(a + 1).apply(update)).isNull();
            }
        }
    }

    private static MapUpdate randomChange(Random random, long epoch) {
        var update =
                MapUpdate.newBuilder().setClusterId(ID).setBaseEpoch(epoch).setEpoch(epoch + 1);
        switch (random.nextInt(6)) {
            case 0 -> update.addServers(server(1 + random.nextInt(5), 1 + random.nextInt(9999)));
            case 1 -> update.addDisks(disk(10 + random.nextInt(9), 1 + random.nextInt(6)));
            case 2 -> update.addPgs(pg(1, random.nextInt(4), epoch + 1, 10 + random.nextInt(9)));
            case 3 -> update.addRefusedSessions(random.nextInt(20));
            case 4 -> update.addForgottenSessions(random.nextInt(20)).setSessionFloor(epoch);
            default -> update.addPools(pool(2 + random.nextInt(3), 8));
        }
        return update.build();
    }
}
