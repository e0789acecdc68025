package io.cairn.common.map;

import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which placement groups of a pool are split next. Groups are made in the order of their numbers,
 * so that is no choice. Stateless; any thread.
 */
public final class NextSplits {
    /** Groups that one change of the map splits. */
    private static final int MOST = 64;

    private NextSplits() {}

    /**
     * The groups that one change of the map may split, if all is well with them, in the order of
     * those that are made of them: up to the first one that shares a disk with one before it, and
     * not beyond the point where all have been divided as often. Empty for a pool that has as many
     * as it is to have.
     */
    public static List<PlacementGroup> parents(ClusterMap map, Pool pool) {
        List<PlacementGroup> parents = new ArrayList<>();
        Set<Integer> disks = new HashSet<>();
        int first = pool.getPgCount();
        int end = Math.min(ClusterMap.targetOf(pool), first + MOST);
        for (int index = first; index < end && (index == first || !isEven(pool, index)); index++) {
            int parent = PgHash.parent(index, ClusterMap.baseOf(pool));
            @Nullable PlacementGroup group = map.pg(PgHash.pg(pool.getId(), parent));
            if (group == null || !group.getReplicasList().stream().allMatch(disks::add)) {
                break;
            }
            parents.add(group);
        }
        return parents;
    }

    /** Whether all groups have been divided as often where a pool has so many. */
    public static boolean isEven(Pool pool, int pgCount) {
        int base = ClusterMap.baseOf(pool);
        return pgCount == base || PgHash.parent(pgCount, base) == 0;
    }
}
