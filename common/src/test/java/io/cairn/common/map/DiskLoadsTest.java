package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Disk;
import io.cairn.common.proto.PlacementGroup;
import java.util.List;
import org.junit.jupiter.api.Test;

class DiskLoadsTest {
    private static final List<Disk> DISKS =
            List.of(disk(1, 1, true), disk(2, 1, true), disk(3, 2, true), disk(4, 3, false));

    private static Disk disk(int id, int server, boolean out) {
        return Disk.newBuilder().setId(id).setServer(server).setOut(out).build();
    }

    private static PlacementGroup group(List<Integer> replicas, List<Integer> inSync) {
        return PlacementGroup.newBuilder().addAllReplicas(replicas).addAllInSync(inSync).build();
    }

    @Test
    void replicasMembersAndPrimariesAreCounted() {
        DiskLoads loads =
                DiskLoads.of(
                        List.of(
                                group(List.of(1, 4), List.of(4, 1)),
                                group(List.of(1, 4), List.of(2, 4))));
        assertThat(loads.of(1)).isEqualTo(new DiskLoads.Load(2, 1, 0, 2));
        assertThat(loads.of(2)).isEqualTo(new DiskLoads.Load(0, 1, 1, 1));
        assertThat(loads.of(4)).isEqualTo(new DiskLoads.Load(2, 2, 1, 2));
        assertThat(loads.ofServer(1, DISKS)).isEqualTo(new DiskLoads.Load(2, 2, 1, 3));
    }

    /** A member that is no replica any more has what others may lack. */
    @Test
    void drainedIsWhatNoGroupHas() {
        DiskLoads loads = DiskLoads.of(List.of(group(List.of(4), List.of(4, 2))));
        assertThat(DISKS.stream().map(loads::isDrained)).containsExactly(true, false, true, false);
        assertThat(loads.isServerDrained(1, DISKS)).isFalse();
        assertThat(loads.isServerDrained(2, DISKS)).isTrue();
        assertThat(loads.isServerDrained(3, DISKS)).isFalse();
        assertThat(loads.isServerDrained(4, DISKS)).as("it has none").isFalse();
    }
}
