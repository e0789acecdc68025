package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.SetPoolRequest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Four servers, each with one disk; that of the first is an SSD. */
class PoolsTest {
    private static final DeviceClass SSD = DeviceClass.DEVICE_CLASS_SSD;
    private static final DeviceClass HDD = DeviceClass.DEVICE_CLASS_HDD;

    private final MapUpdate.Builder update =
            MapUpdate.newBuilder()
                    .setEpoch(1)
                    .addPools(
                            Pool.newBuilder()
                                    .setId(1)
                                    .setName("default")
                                    .setSize(3)
                                    .setMinSize(2)
                                    .setPgCount(128))
                    .addPools(
                            Pool.newBuilder()
                                    .setId(5)
                                    .setName("gone")
                                    .setSize(1)
                                    .setMinSize(1)
                                    .setPgCount(8)
                                    .setRemoved(true));

    PoolsTest() {
        for (int id = 1; id <= 4; id++) {
            update.addServers(Server.newBuilder().setId(id).setAddress("h:" + id).setUp(true))
                    .addDisks(
                            Disk.newBuilder()
                                    .setId(id)
                                    .setServer(id)
                                    .setDeviceClass(id == 1 ? SSD : HDD)
                                    .setCapacityBytes(1 << 30));
        }
    }

    private ClusterMap map() {
        return ClusterMap.of(update.build());
    }

    private static Pool.Builder pool(String name, int size, DeviceClass... classes) {
        return Pool.newBuilder()
                .setName(name)
                .setSize(size)
                .setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER)
                .addAllReplicaClasses(List.of(classes));
    }

    private void refused(Pool.Builder pool, Errno errno, String part) {
        assertThatThrownBy(() -> Pools.created(map(), pool.build(), true))
                .isInstanceOfSatisfying(
                        FsException.class,
                        e -> {
                            assertThat(e.errno()).isEqualTo(errno);
                            assertThat(e.detail()).contains(part);
                        });
    }

    @Test
    void whatIsLeftOpenIsFilledIn() {
        Pool made = Pools.created(map(), pool("gone", 3, SSD, HDD, HDD).build(), true);
        assertThat(made.getId()).as("no id is used again").isEqualTo(6);
        assertThat(made.getMinSize()).isEqualTo(2);
        assertThat(made.getPgCount()).as("50 replicas a disk").isEqualTo(128);
        assertThat(Pools.created(map(), pool("one", 1).build(), true).getMinSize()).isEqualTo(1);
    }

    private int groups(Pool.Builder pool) {
        return Pools.created(map(), pool.build(), true).getPgCount();
    }

    @Test
    void placementGroupsAreCountedByTier() {
        assertThat(groups(pool("any", 1))).as("200 for 4 disks").isEqualTo(256);
        assertThat(groups(pool("ssd", 1, SSD))).as("50 for 1 disk").isEqualTo(64);
        assertThat(groups(pool("hdd", 3, HDD))).as("50 for 3 disks").isEqualTo(64);
        assertThat(groups(pool("both", 2, SSD, HDD))).as("150 for 3 hard disks").isEqualTo(256);
        update.getDisksBuilder(1).setDeviceClass(SSD);
        assertThat(groups(pool("both", 2, SSD, HDD))).as("100 for 2 of each").isEqualTo(128);
    }

    @Test
    void whatCannotBeIsRefused() {
        refused(pool("default", 3), Errno.EEXIST, "there is a pool default already");
        refused(pool("7", 3), Errno.EINVAL, "a pool's name is a letter");
        refused(pool("a b", 3), Errno.EINVAL, "a pool's name is a letter");
        refused(pool("a", 0).setMinSize(1), Errno.EINVAL, "1 to 16 replicas");
        refused(
                pool("a", 2).setMinSize(3),
                Errno.EINVAL,
                "min size is 1 to the number of replicas");
        refused(pool("a", 2).setPgCount(65537), Errno.EINVAL, "1 to 65536 placement groups");
        refused(pool("a", 3, SSD, HDD), Errno.EINVAL, "one for each of 3 replicas, and not 2");
        refused(pool("a", 3, HDD, SSD, HDD), Errno.EINVAL, "side by side");
        refused(
                pool("a", 5),
                Errno.ENOSPC,
                "needs disks in 5 failure domains (server), there are 4");
        refused(pool("a", 2, SSD), Errno.ENOSPC, "there are 1 with the device classes it asks for");
    }

    private Pool changed(SetPoolRequest wanted) {
        return Pools.changed(map(), wanted, true);
    }

    @Test
    void whatIsChangedIsCheckedAsWhatIsNew() {
        SetPoolRequest.Builder set = SetPoolRequest.newBuilder().setName("default");
        Pool changed =
                changed(
                        set.setSize(2)
                                .setMinSize(1)
                                .setFailureDomain(FailureDomain.FAILURE_DOMAIN_HOST)
                                .setSetClasses(true)
                                .addReplicaClasses(HDD)
                                .setNewName("slow")
                                .build());
        assertThat(changed)
                .isEqualTo(
                        update.getPools(0).toBuilder()
                                .setName("slow")
                                .setSize(2)
                                .setMinSize(1)
                                .setFailureDomain(FailureDomain.FAILURE_DOMAIN_HOST)
                                .addReplicaClasses(HDD)
                                .build());
        assertThat(changed(SetPoolRequest.newBuilder().setName("default").build()))
                .isEqualTo(update.getPools(0));
        assertThatThrownBy(() ->
                        changed(SetPoolRequest.newBuilder().setName("default").setSize(1).build()))
                .hasMessageContaining("min size is 1 to the number of replicas, 1, and not 2");
        assertThatThrownBy(() -> changed(SetPoolRequest.newBuilder().setName("gone").build()))
                .hasMessageContaining("there is no pool gone");
    }

    @Test
    void fewerPlacementGroupsTakeMerges() {
        update.setPools(0, update.getPools(0).toBuilder().setPgBase(2).setPgCount(4))
                .addPgs(
                        PlacementGroup.newBuilder()
                                .setPg(PgHash.pg(update.getPools(0).getId(), 0)));
        SetPoolRequest three = SetPoolRequest.newBuilder().setName("default").setPgCount(3).build();
        assertThatThrownBy(() -> Pools.changed(map(), three, false))
                .hasMessageContaining("every metadata server");
        assertThatThrownBy(() -> changed(three))
                .hasMessageContaining("does not merge placement groups");
        update.getServersBuilderList().forEach(s -> s.setUnites(true));
        assertThat(changed(three).getPgTarget()).isEqualTo(3);
        assertThatThrownBy(() -> changed(three.toBuilder().setPgCount(1).build()))
                .hasMessageContaining("it cannot have fewer");
    }

    @Test
    void whatLacksDisksCanBeRenamedAllTheSame() {
        update.getPoolsBuilder(0).setSize(5).setFailureDomain(FailureDomain.FAILURE_DOMAIN_SERVER);
        SetPoolRequest.Builder set = SetPoolRequest.newBuilder().setName("default");
        assertThat(changed(set.setNewName("main").build()).getName()).isEqualTo("main");
        assertThatThrownBy(() -> changed(set.setSize(5).build()))
                .hasMessageContaining("needs disks in 5 failure domains");
    }

    @Test
    void theMapForgetsThePlacementGroupsOfARemovedPool() {
        ClusterMap map = map();
        assertThat(map.pool(5)).isNull();
        assertThat(map.isPoolRemoved(5)).isTrue();
        assertThat(map.pools()).hasSize(1);
        assertThat(map.present().getPoolsList()).hasSize(1);
        assertThat(map.toUpdate().getPoolsList()).hasSize(2);
    }
}
