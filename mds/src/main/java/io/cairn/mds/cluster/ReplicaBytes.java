package io.cairn.mds.cluster;

import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.PlacementGroup;
import java.util.Map;
import java.util.Objects;

/**
 * About how many bytes a replica has: nobody counts them by placement group, so what a disk uses is
 * divided by the groups that it has. Immutable; any thread.
 */
final class ReplicaBytes {
    private final DiskLoads loads;
    private final Map<Integer, DiskStatus> reported;

    /**
     * @param reported what disks say of themselves, as far as it is known
     */
    ReplicaBytes(DiskLoads loads, Map<Integer, DiskStatus> reported) {
        this.loads = loads;
        this.reported = reported;
    }

    /** As its members have on average; 0 where nothing is known of any. */
    double replicaOf(PlacementGroup group) {
        return group.getInSyncList().stream()
                .filter(reported::containsKey)
                .mapToDouble(d ->
                        (double) Objects.requireNonNull(reported.get(d)).getUsedBytes()
                                / Math.max(1, loads.of(d).groups()))
                .average()
                .orElse(0);
    }
}
