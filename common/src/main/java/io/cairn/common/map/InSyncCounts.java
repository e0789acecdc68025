package io.cairn.common.map;

import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * How many placement groups of a map lack replicas, or move.
 *
 * @param degraded have fewer members in sync than replicas
 * @param belowMinimum have fewer in sync than the {@code min_size} of their pool: writes wait
 * @param moving have as many in sync as replicas, and not all of their replicas are among these
 */
public record InSyncCounts(int degraded, int belowMinimum, int moving) {

    public static InSyncCounts of(Collection<PlacementGroup> groups, Collection<Pool> pools) {
        Map<Integer, Integer> minSizes = new HashMap<>();
        pools.forEach(pool -> minSizes.put(pool.getId(), pool.getMinSize()));
        int degraded = 0;
        int belowMinimum = 0;
        int moving = 0;
        for (PlacementGroup group : groups) {
            int inSync = group.getInSyncCount();
            if (inSync < group.getReplicasCount()) {
                degraded++;
            } else if (!group.getInSyncList().containsAll(group.getReplicasList())) {
                moving++;
            }
            if (inSync < minSizes.getOrDefault(PgHash.poolOf(group.getPg()), 1)) {
                belowMinimum++;
            }
        }
        return new InSyncCounts(degraded, belowMinimum, moving);
    }
}
