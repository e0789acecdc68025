package io.cairn.dataserver.pg;

import io.cairn.common.data.Split;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.NextSplits;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the map says of splits, and when a replica of a group that was made by one begins on a disk.
 * Stateless.
 */
public final class Splits {
    /** What a disk knows of its groups. */
    public interface OnDisk {
        /** Whether there is anything of the group. */
        boolean has(int pg);

        /** See {@link io.cairn.dataserver.store.DiskStore#lastEpoch}. */
        long lastEpoch(int pg);

        /** See {@link io.cairn.dataserver.store.DiskStore#begin}. */
        boolean begin(int pg, int parent, boolean parentIsHere);
    }

    private Splits() {}

    /** The split of the group that is not carried out everywhere; null if there is none. */
    public static @Nullable Split of(ClusterMap map, int pg) {
        PlacementGroup child = map.splitting().get(pg);
        Pool pool = map.pool(PgHash.poolOf(pg));
        return child == null || pool == null
                ? null
                : new Split(child.getPg(), ClusterMap.baseOf(pool), child.getSplitEpoch());
    }

    /** The groups that are split next, of the pools that are to have more of them. */
    static Set<Integer> next(ClusterMap map) {
        Set<Integer> next = new HashSet<>();
        for (Pool pool : map.pools()) {
            NextSplits.parents(map, pool).forEach(g -> next.add(g.getPg()));
        }
        return next;
    }

    /**
     * Whether a replica of the group can begin on the disk. Where a split makes the group, it
     * begins when that is carried out. A replica of the other group that learns may still get the
     * split, and much content with it, which would have to be copied else: it is waited for too.
     */
    public static boolean mayBegin(ClusterMap map, PlacementGroup group, int disk, OnDisk there) {
        int parent = map.parentOf(group.getPg());
        if (Merges.isOfAnother(group, there.lastEpoch(group.getPg()))) {
            return false; // until that is removed
        }
        if (parent < 0 || there.has(group.getPg())) {
            return true;
        }
        PlacementGroup from = map.pg(parent);
        boolean learns = from != null && ClusterMap.learnersOf(from).contains(disk);
        boolean inSync = from != null && from.getInSyncList().contains(disk);
        if (learns || (inSync && group.getSplitEpoch() > 0)) {
            return false;
        }
        return there.begin(group.getPg(), parent, inSync);
    }
}
