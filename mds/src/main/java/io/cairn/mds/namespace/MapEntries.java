package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Pool;
import io.cairn.mds.map.MapChecks;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.FormatEntry;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.store.MapRecords;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import org.jspecify.annotations.Nullable;

/** The first entry of a cluster, and every change of the cluster map. The applying thread only. */
final class MapEntries {
    private MapEntries() {}

    /** EEXIST where there is a cluster already. */
    static ApplyReply.Builder format(StateTx tx, FormatEntry entry) {
        ByteString clusterId = entry.getClusterId();
        if (!tx.map.clusterId().isEmpty()) {
            throw new FsException(Errno.EEXIST, "the cluster has been formatted");
        }
        if (clusterId.size() != Uuids.BYTES) {
            throw new FsException(Errno.EINVAL, "a cluster id of " + clusterId.size() + " bytes");
        }
        ClusterMap named = ClusterMap.of(MapUpdate.newBuilder().setClusterId(clusterId).build());
        MapUpdate first =
                MapUpdate.newBuilder()
                        .setClusterId(clusterId)
                        .setEpoch(1)
                        .addPools(entry.getPool())
                        .build();
        check(MapChecks.objection(named, first));
        LayoutXattr.check(named.with(first), entry.getLayout());
        tx.map = named;
        tx.put(MetaKeys.clusterId(), clusterId.toByteArray());
        change(tx, first);
        Settings.change(tx, entry.getSettings());
        Creation.root(
                tx, entry.getRootMode(), entry.getRootUid(), entry.getRootGid(), entry.getLayout());
        return ApplyReply.newBuilder();
    }

    /**
     * EAGAIN where the map has moved on since the leader looked at it; EINVAL for what no map can
     * be. Refusing sessions is the business of evictions. Forgetting one that was refused by map E
     * raises the session floor to E + 1: it was never sent a newer map than E, so that whatever it
     * may have sent is refused for ever.
     */
    static ApplyReply.Builder change(StateTx tx, MapChangeEntry entry) {
        MapUpdate update = entry.getUpdate();
        if (entry.getBaseEpoch() != tx.map.epoch()) {
            throw new FsException(
                    Errno.EAGAIN,
                    "a change of map epoch " + entry.getBaseEpoch() + " at " + tx.map.epoch());
        }
        if (update.getEpoch() != entry.getBaseEpoch() + 1
                || update.getRefusedSessionsCount() > 0
                || update.getSessionFloor() != 0
                || (!update.getClusterId().isEmpty()
                        && !update.getClusterId().equals(tx.map.clusterId()))) {
            throw new FsException(Errno.EINVAL, "not a change of one epoch of this map");
        }
        long floor = 0;
        for (long session : update.getForgottenSessionsList()) {
            byte[] refusedSince = tx.get(MetaKeys.of(MetaKeys.MAP_REFUSED, session));
            if (tx.session(session) != null || refusedSince == null) {
                throw new FsException(
                        Errno.EINVAL, "session " + session + " cannot be forgotten yet");
            }
            floor = Math.max(floor, MetaKeys.longAt(refusedSince, 0) + 1);
        }
        check(MapChecks.objection(tx.map, update));
        requireUnused(tx, update);
        change(
                tx,
                update.toBuilder()
                        .setBaseEpoch(entry.getBaseEpoch())
                        .setSessionFloor(floor > tx.map.sessionFloor() ? floor : 0)
                        .build());
        return ApplyReply.newBuilder();
    }

    /** EBUSY for a pool that is removed while something may be in it, or may get into it. */
    private static void requireUnused(StateTx tx, MapUpdate update) {
        for (Pool pool : update.getPoolsList()) {
            long users = PoolUsers.of(tx, pool.getId());
            if (pool.getRemoved() && (users > 0 || pool.getId() == PoolUsers.FIRST_POOL)) {
                throw new FsException(
                        Errno.EBUSY,
                        users > 0
                                ? "pool %s is named by the layouts of %d files and directories, deleted ones counted until their data is gone"
                                        .formatted(pool.getName(), users)
                                : "pool %s is the first one, and stays".formatted(pool.getName()));
            }
        }
    }

    /** Makes an increment that has been checked the present map. */
    static void change(StateTx tx, MapUpdate update) {
        MapUpdate increment = update.toBuilder().setClusterId(tx.map.clusterId()).build();
        MapRecords.store(tx, increment);
        for (Pool pool : update.getPoolsList()) {
            if (pool.getRemoved()) {
                OrphanedData.poolRemoved(tx, pool.getId());
            }
        }
        tx.map = tx.map.with(increment);
        tx.tally.mapEpoch = tx.map.epoch();
        tx.announce(listener -> listener.mapChanged(increment));
    }

    private static void check(@Nullable String objection) {
        if (objection != null) {
            throw new FsException(Errno.EINVAL, objection);
        }
    }
}
