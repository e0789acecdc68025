package io.cairn.mds.map;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What every map holds to, checked on each change before it is applied: ids that are referred to
 * exist, a PG has as many different disks as its pool asks for, or did, and its in-sync set is part
 * of them and never empty. Pure; any thread.
 */
public final class MapChecks {
    private MapChecks() {}

    /** Why the map cannot change this way, as a sentence; null if it can. */
    public static @Nullable String objection(ClusterMap base, MapUpdate update) {
        ClusterMap next;
        try {
            next = base.with(update);
        } catch (IllegalArgumentException e) {
            return String.valueOf(e.getMessage());
        }
        String removal = objectionToRemoval(next, update);
        if (removal != null) {
            return removal;
        }
        for (Server server : update.getServersList()) {
            if (server.getId() == 0) {
                return "a server without an id";
            }
        }
        for (Disk disk : update.getDisksList()) {
            if (disk.getId() == 0
                    || (!disk.getRemoved() && next.server(disk.getServer()) == null)) {
                return "disk " + disk.getId() + " of unknown server " + disk.getServer();
            }
        }
        for (Pool pool : update.getPoolsList()) {
            String objection = objection(base, update, pool);
            if (objection != null) {
                return objection;
            }
        }
        for (PlacementGroup pg : update.getPgsList()) {
            String objection = objection(base, next, pg);
            if (objection != null) {
                return objection;
            }
            String merge = objectionToMerge(base, update, pg);
            if (merge != null) {
                return "PG %x %s".formatted(pg.getPg(), merge);
            }
        }
        return null;
    }

    /** What is removed is nobody's. */
    private static @Nullable String objectionToRemoval(ClusterMap next, MapUpdate update) {
        if (update.getDisksList().stream().anyMatch(Disk::getRemoved)) {
            for (PlacementGroup pg : next.pgs()) {
                for (Disk disk : update.getDisksList()) {
                    if (disk.getRemoved()
                            && (pg.getReplicasList().contains(disk.getId())
                                    || pg.getInSyncList().contains(disk.getId()))) {
                        return "disk %d is removed, and PG %x has it"
                                .formatted(disk.getId(), pg.getPg());
                    }
                }
            }
        }
        for (Server server : update.getServersList()) {
            if (server.getRemoved()
                    && next.disks().stream().anyMatch(d -> d.getServer() == server.getId())) {
                return "server %d is removed, and has disks".formatted(server.getId());
            }
        }
        return null;
    }

    /** Each PG more comes with the rows of both, which have the same members. */
    private static @Nullable String objectionToCount(
            ClusterMap base, MapUpdate update, Pool present, Pool pool) {
        if (pool.getPgCount() == present.getPgCount() - 1) {
            return objectionToEnd(base, update, pool);
        }
        if (pool.getPgCount() < present.getPgCount()) {
            return "%d PGs cannot become %d at once"
                    .formatted(present.getPgCount(), pool.getPgCount());
        }
        Set<Integer> parents = new HashSet<>();
        for (int index = present.getPgCount(); index < pool.getPgCount(); index++) {
            int parent = PgHash.parent(index, ClusterMap.baseOf(pool));
            if (!parents.add(parent)
                    || !isSplit(base, update, PgHash.pg(pool.getId(), parent), index)) {
                return "PG %d is not made of PG %x"
                        .formatted(index, PgHash.pg(pool.getId(), parent));
            }
        }
        return null;
    }

    private static boolean isSplit(ClusterMap base, MapUpdate update, int number, int index) {
        PlacementGroup child = row(update, PgHash.pg(PgHash.poolOf(number), index));
        PlacementGroup parent = row(update, number);
        PlacementGroup before = base.pg(number);
        long epoch = base.epoch() + 1;
        return child != null
                && parent != null
                && before != null
                && !base.isTied(before)
                && child.getSplitEpoch() == epoch
                && child.getEpoch() == epoch
                && parent.getEpoch() == epoch
                && parent.getInSyncList().equals(before.getInSyncList())
                && parent.getReplicasList().equals(before.getReplicasList())
                && child.getInSyncList().equals(before.getInSyncList())
                && child.getReplicasList().equals(before.getReplicasList());
    }

    /** A PG less: all members in sync have its content in the other one, which goes on. */
    private static @Nullable String objectionToEnd(ClusterMap base, MapUpdate update, Pool pool) {
        int number = PgHash.pg(pool.getId(), pool.getPgCount());
        PlacementGroup child = base.pg(number);
        PlacementGroup before = base.pg(base.parentOf(number));
        PlacementGroup parent = before == null ? null : row(update, before.getPg());
        boolean isEnd =
                child != null
                        && child.getMergeFlushed()
                        && before != null
                        && parent != null
                        && parent.getEpoch() == base.epoch() + 1
                        && hasSameMembers(parent, before);
        return isEnd ? null : "PG %x is not merged".formatted(number);
    }

    /** The last PG of a pool goes back into the one that it was made of, with which it is one. */
    private static @Nullable String objectionToMerge(
            ClusterMap base, MapUpdate update, PlacementGroup child) {
        PlacementGroup before = base.pg(child.getPg());
        long epochBefore = before == null ? 0 : before.getMergeEpoch();
        if (child.getMergeEpoch() == epochBefore) {
            return child.getMergeFlushed() && epochBefore == 0 ? "is not merged" : null;
        }
        Pool pool = base.pool(PgHash.poolOf(child.getPg()));
        PlacementGroup parent = row(update, base.parentOf(child.getPg()));
        long epoch = base.epoch() + 1;
        boolean begins =
                before != null
                        && pool != null
                        && !base.isTied(before)
                        && PgHash.indexOf(child.getPg()) == pool.getPgCount() - 1
                        && child.getMergeEpoch() == epoch
                        && child.getEpoch() == epoch
                        && !child.getMergeFlushed()
                        && parent != null
                        && parent.getEpoch() == epoch
                        && hasSameMembers(child, before)
                        && hasSameMembers(parent, before);
        return begins ? null : "cannot be merged so";
    }

    private static boolean hasSameMembers(PlacementGroup one, PlacementGroup other) {
        return one.getReplicasList().equals(other.getReplicasList())
                && one.getInSync(0) == other.getInSync(0)
                && new HashSet<>(one.getInSyncList()).equals(new HashSet<>(other.getInSyncList()));
    }

    private static @Nullable PlacementGroup row(MapUpdate update, int pg) {
        return update.getPgsList().stream().filter(g -> g.getPg() == pg).findFirst().orElse(null);
    }

    private static @Nullable String objection(ClusterMap base, MapUpdate update, Pool pool) {
        String name = "pool " + pool.getId();
        if (pool.getId() < 1 || pool.getId() > PgHash.MAX_POOL) {
            return name + ": ids are 1 to " + PgHash.MAX_POOL;
        }
        if (pool.getSize() < 1 || pool.getMinSize() < 1 || pool.getMinSize() > pool.getSize()) {
            return name + ": size " + pool.getSize() + ", min_size " + pool.getMinSize();
        }
        if (pool.getPgCount() < 1 || pool.getPgCount() > PgHash.MAX_PGS) {
            return name + ": " + pool.getPgCount() + " PGs";
        }
        int classes = pool.getReplicaClassesCount();
        if (classes > 1 && classes != pool.getSize()) {
            return name + ": " + classes + " device classes of " + pool.getSize() + " replicas";
        }
        if (ClusterMap.baseOf(pool) > pool.getPgCount()) {
            return name + ": " + pool.getPgCount() + " PGs, made with " + pool.getPgBase();
        }
        Pool present = base.pool(pool.getId());
        if (present != null && base.pg(PgHash.pg(pool.getId(), 0)) != null) {
            if (ClusterMap.baseOf(present) != ClusterMap.baseOf(pool)) {
                return name + ": the number of PGs that it was made with cannot change";
            }
            if (present.getPgCount() != pool.getPgCount()) {
                String objection = objectionToCount(base, update, present, pool);
                if (objection != null) {
                    return name + ": " + objection;
                }
            }
        }
        Pool same = base.pool(pool.getName());
        return same != null && !pool.getRemoved() && same.getId() != pool.getId()
                ? name + ": name '" + pool.getName() + "' belongs to pool " + same.getId()
                : null;
    }

    private static @Nullable String objection(ClusterMap base, ClusterMap next, PlacementGroup pg) {
        String name = "PG " + Integer.toHexString(pg.getPg());
        Pool pool = next.pool(PgHash.poolOf(pg.getPg()));
        if (pool == null || PgHash.indexOf(pg.getPg()) >= pool.getPgCount()) {
            return name + " is of no pool";
        }
        List<Integer> replicas = pg.getReplicasList();
        PlacementGroup present = base.pg(pg.getPg());
        boolean isOfSize =
                replicas.size() == pool.getSize()
                        || (present != null && replicas.size() == present.getReplicasCount());
        if (!isOfSize || new HashSet<>(replicas).size() != replicas.size()) {
            return name + ": " + replicas + " are not " + pool.getSize() + " different disks";
        }
        for (int disk : replicas) {
            if (next.disk(disk) == null) {
                return name + ": unknown disk " + disk;
            }
        }
        for (int disk : pg.getInSyncList()) {
            if (next.disk(disk) == null) {
                return name + ": unknown disk " + disk;
            }
        }
        if (pg.getInSyncCount() == 0
                || new HashSet<>(pg.getInSyncList()).size() != pg.getInSyncCount()) {
            return name + ": in-sync set " + pg.getInSyncList() + " of " + replicas;
        }
        if (pg.getEpoch() < 1 || pg.getEpoch() > next.epoch()) {
            return name + ": epoch " + pg.getEpoch() + " in map epoch " + next.epoch();
        }
        return present != null && pg.getEpoch() < present.getEpoch()
                ? name + ": epoch " + pg.getEpoch() + " after " + present.getEpoch()
                : null;
    }
}
