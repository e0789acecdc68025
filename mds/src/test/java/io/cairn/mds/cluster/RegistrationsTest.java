package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What many registrations change together is what they change one after the other. */
class RegistrationsTest {
    private static final Registrations.Terms TERMS =
            new Registrations.Terms(3000, true, true, true, true);

    private static final class Machine {
        private final ByteString uuid = Uuids.random();
        private final List<ByteString> disks = new ArrayList<>();
        private ByteString incarnation = Uuids.random();

        Machine(int number) {
            for (int i = 0; i < number; i++) {
                disks.add(Uuids.random());
            }
        }

        RegisterServerRequest request() {
            RegisterServerRequest.Builder request =
                    RegisterServerRequest.newBuilder()
                            .setServerUuid(uuid)
                            .setIncarnation(incarnation)
                            .setAddress("10.0.0.1:7100")
                            .setRecovers(true);
            disks.forEach(
                    d -> request.addDisks(DiskReport.newBuilder().setUuid(d).setCapacityBytes(7)));
            return request.build();
        }
    }

    private ClusterMap map =
            ClusterMap.of(
                    MapUpdate.newBuilder()
                            .setClusterId(Uuids.random())
                            .setEpoch(1)
                            .addAllPools(pools())
                            .build());

    private static List<Pool> pools() {
        return IntStream.rangeClosed(1, 10)
                .mapToObj(id ->
                        Pool.newBuilder()
                                .setId(id)
                                .setName("pool" + id)
                                .setSize(1)
                                .setMinSize(1)
                                .setPgCount(Registrations.MAX_PGS)
                                .build())
                .toList();
    }

    /** How many were taken. */
    private int register(List<RegisterServerRequest> wanted) {
        Registrations all = new Registrations(map, TERMS);
        int taken = 0;
        while (taken < wanted.size() && all.add(wanted.get(taken))) {
            taken++;
        }
        MapUpdate.Builder update = all.update();
        if (update != null) {
            map = map.with(update.setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1).build());
        }
        return taken;
    }

    private Server server(Machine machine) {
        return Objects.requireNonNull(Registration.find(map, machine.uuid));
    }

    private List<Integer> disks(Machine machine) {
        return map.disks().stream()
                .filter(d -> d.getServer() == server(machine).getId())
                .map(Disk::getId)
                .toList();
    }

    private void group(int pg, int... disks) {
        PlacementGroup.Builder group = PlacementGroup.newBuilder().setPg(pg);
        for (int disk : disks) {
            group.addReplicas(disk).addInSync(disk);
        }
        map =
                map.with(
                        MapUpdate.newBuilder()
                                .setBaseEpoch(map.epoch())
                                .setEpoch(map.epoch() + 1)
                                .addPgs(group.setEpoch(map.epoch() + 1))
                                .build());
    }

    private long epochOf(int pg) {
        return Objects.requireNonNull(map.pg(pg)).getEpoch();
    }

    @Test
    void newOnesGetIdsOfTheirOwnInOneEpoch() {
        Machine a = new Machine(2);
        Machine b = new Machine(3);
        long before = map.epoch();
        assertThat(register(List.of(a.request(), b.request()))).isEqualTo(2);
        assertThat(map.epoch()).isEqualTo(before + 1);
        assertThat(map.servers()).extracting(Server::getId).containsExactlyInAnyOrder(1, 2);
        assertThat(disks(a)).hasSize(2).doesNotContainAnyElementsOf(disks(b));
        assertThat(disks(b)).hasSize(3);
        assertThat(map.servers()).allMatch(Server::getUp);
    }

    /** An answer was lost, or the server was started again meanwhile. */
    @Test
    void oneServerTwice() {
        Machine a = new Machine(1);
        RegisterServerRequest first = a.request();
        Registrations all = new Registrations(map, TERMS);
        assertThat(all.isNewProcess(first)).isTrue();
        assertThat(all.add(first)).isTrue();
        assertThat(all.isNewProcess(first)).isFalse();
        a.incarnation = Uuids.random();
        assertThat(all.isNewProcess(a.request())).isTrue();
        register(List.of(first, first, a.request()));
        assertThat(map.servers()).hasSize(1);
        assertThat(map.disks()).hasSize(1);
        assertThat(server(a).getIncarnation()).isEqualTo(a.incarnation);
        long epoch = map.epoch();
        register(List.of(a.request(), a.request()));
        assertThat(map.epoch()).as("nothing is new").isEqualTo(epoch);
    }

    @Test
    void groupsOfProcessesThatAreNewBeginAnEpoch() {
        Machine a = new Machine(1);
        Machine b = new Machine(1);
        Machine c = new Machine(1);
        register(List.of(a.request(), b.request(), c.request()));
        group(1 << 16, disks(a).getFirst(), disks(b).getFirst());
        group(1 << 16 | 1, disks(c).getFirst());
        long untouched = epochOf(1 << 16 | 1);
        a.incarnation = Uuids.random();
        b.incarnation = Uuids.random();
        register(List.of(a.request(), c.request(), b.request()));
        assertThat(epochOf(1 << 16)).isEqualTo(map.epoch());
        assertThat(epochOf(1 << 16 | 1)).isEqualTo(untouched);
    }

    /** A disk was put into another machine, and both start. */
    @Test
    void aDiskThatMovedIsOfWhoeverNamesItLast() {
        Machine a = new Machine(1);
        Machine b = new Machine(1);
        register(List.of(a.request(), b.request()));
        int moved = disks(a).getFirst();
        group(1 << 16, moved);
        b.disks.add(a.disks.removeFirst());
        register(List.of(a.request(), b.request()));
        assertThat(disks(b)).hasSize(2).contains(moved);
        assertThat(disks(a)).isEmpty();
        assertThat(epochOf(1 << 16)).isEqualTo(map.epoch());
    }

    @Test
    void whatIsTooMuchForOneEntryComesWithTheNext() {
        List<Machine> machines = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            machines.add(new Machine(1));
        }
        List<RegisterServerRequest> all =
                new ArrayList<>(machines.stream().map(Machine::request).toList());
        assertThat(register(all)).isEqualTo(10);
        MapUpdate.Builder groups =
                MapUpdate.newBuilder().setBaseEpoch(map.epoch()).setEpoch(map.epoch() + 1);
        int each = Registrations.MAX_PGS * 2 / 5; // two fit, and not three
        for (int m = 0; m < machines.size(); m++) {
            int disk = disks(machines.get(m)).getFirst();
            for (int i = 0; i < each; i++) {
                groups.addPgs(
                        PlacementGroup.newBuilder()
                                .setPg((m + 1) << 16 | i)
                                .setEpoch(map.epoch() + 1)
                                .addReplicas(disk)
                                .addInSync(disk));
            }
        }
        map = map.with(groups.build());
        all.clear();
        for (Machine machine : machines) {
            machine.incarnation = Uuids.random();
            all.add(machine.request());
        }
        int steps = 0;
        while (!all.isEmpty()) {
            assertThat(register(all)).isEqualTo(2);
            all.subList(0, 2).clear();
            steps++;
        }
        assertThat(steps).isEqualTo(5);
        assertThat(machines).allMatch(m -> server(m).getIncarnation().equals(m.incarnation));
    }
}
