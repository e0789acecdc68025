package io.cairn.dataserver.pg;

import io.cairn.common.data.Merge;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.PgState;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the map says of merges, and when one is to be logged. Stateless. */
public final class Merges {
    /**
     * Where the history of a group that goes back into another one has come to its end: all members
     * in sync have it up to there, and nothing that follows changes anything.
     *
     * @param mergeEpoch of the map that has said that it goes back
     * @param epoch of the last operation, which is that of the group
     * @param sequence of the last operation
     */
    public record End(long mergeEpoch, long epoch, long sequence) {}

    private Merges() {}

    /** Null if it has not come to its end, as far as this replica can say. */
    public static @Nullable End endOf(PlacementGroup group, PgReplica replica) {
        boolean ended =
                group.getMergeEpoch() > 0
                        && replica.state() == PgState.ACTIVE
                        && replica.epoch() >= group.getMergeEpoch()
                        && replica.lastSequence() == replica.committedSequence();
        return ended
                ? new End(group.getMergeEpoch(), replica.epoch(), replica.lastSequence())
                : null;
    }

    /**
     * The merge that the group is to log; null if there is none. Who is in sync with it in its
     * epoch was in sync with the other one when that came to its end: only then all of them can
     * carry it out.
     *
     * @param epoch of the group
     * @param end of the other one; null if it is not known
     */
    public static @Nullable Merge due(ClusterMap map, int parent, long epoch, @Nullable End end) {
        PlacementGroup child = map.merging().get(parent);
        Pool pool = map.pool(PgHash.poolOf(parent));
        if (child == null || pool == null || end == null || !child.getMergeFlushed()) {
            return null;
        }
        return end.mergeEpoch != child.getMergeEpoch() || end.epoch > epoch
                ? null
                : new Merge(
                        child.getPg(),
                        ClusterMap.baseOf(pool),
                        end.mergeEpoch,
                        end.epoch,
                        end.sequence);
    }

    /** The groups that are merged, or are to be next, in the pools that are to have fewer. */
    static Set<Integer> next(ClusterMap map) {
        Set<Integer> next = new HashSet<>();
        map.merging().forEach((parent, child) -> next.add(child.getPg()));
        next.addAll(map.merging().keySet());
        for (Pool pool : map.pools()) {
            int index = pool.getPgCount() - 1;
            if (pool.getPgCount() > ClusterMap.targetOf(pool) && index >= ClusterMap.baseOf(pool)) {
                int parent = PgHash.parent(index, ClusterMap.baseOf(pool));
                next.add(PgHash.pg(pool.getId(), index));
                next.add(PgHash.pg(pool.getId(), parent));
            }
        }
        return next;
    }

    /**
     * Whether what a disk has of the group is of an earlier group of that number, which was merged.
     *
     * @param lastEpoch of the newest operation there; 0 if there is none
     */
    public static boolean isOfAnother(PlacementGroup group, long lastEpoch) {
        return lastEpoch > 0 && lastEpoch < group.getMadeEpoch();
    }

    /**
     * Whether what a disk has of the group, where no replica has begun, is of one that was merged.
     * A split may have made it by a newer map, which the loop of the parent has already: that is
     * none of it.
     *
     * @param lastEpoch of the newest operation there; 0 if there is none
     */
    public static boolean isEnded(ClusterMap map, int pg, long lastEpoch) {
        PlacementGroup group = map.pg(pg);
        return group == null
                ? map.isMerged(pg) && !isNewer(map, lastEpoch)
                : isOfAnother(group, lastEpoch);
    }

    /** Whether what a disk has is of a newer map, which says what it is. */
    public static boolean isNewer(ClusterMap map, long lastEpoch) {
        return lastEpoch > map.epoch();
    }

    /**
     * Whether the group of a replica was merged by the map. There may be another one of its number
     * by now, which the replica must not go on as: not every server sees each map.
     *
     * @param lastEpoch of the newest operation of the replica
     * @param lastSequence of that; 0 if there is none, then it belongs to either
     */
    public static boolean isGone(ClusterMap map, int pg, long lastEpoch, long lastSequence) {
        PlacementGroup group = map.pg(pg);
        return map.isMerged(pg)
                || (group != null && lastSequence > 0 && isOfAnother(group, lastEpoch));
    }
}
