package io.cairn.common.map;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** Adds up map updates into what a {@link ClusterMap} is made from. One thread. */
final class MapBuilder {
    ByteString clusterId = ByteString.EMPTY;
    long epoch;
    long sessionFloor;
    final SortedMap<Integer, Server> servers = new TreeMap<>();
    final SortedMap<Integer, Disk> disks = new TreeMap<>();
    final SortedMap<Integer, Pool> pools = new TreeMap<>();
    final Map<Integer, PlacementGroup> pgs = new HashMap<>();
    final NavigableSet<Long> refused = new TreeSet<>();
    List<MdsMember> mds = new ArrayList<>();

    MapBuilder add(MapUpdate update) {
        if (!update.getClusterId().isEmpty()) {
            clusterId = update.getClusterId();
        }
        epoch = update.getEpoch();
        for (Server server : update.getServersList()) {
            servers.put(server.getId(), server);
        }
        for (Disk disk : update.getDisksList()) {
            disks.put(disk.getId(), disk);
        }
        for (Pool pool : update.getPoolsList()) {
            add(pool);
        }
        for (PlacementGroup pg : update.getPgsList()) {
            if (!pools.containsKey(PgHash.poolOf(pg.getPg()))) {
                throw new IllegalArgumentException(
                        "map has PG " + pg.getPg() + " but not its pool");
            }
            pgs.put(pg.getPg(), pg);
        }
        sessionFloor = Math.max(sessionFloor, update.getSessionFloor());
        refused.addAll(update.getRefusedSessionsList());
        update.getForgottenSessionsList().forEach(refused::remove);
        if (update.getMdsCount() > 0) {
            mds = update.getMdsList();
        }
        return this;
    }

    private void add(Pool pool) {
        if (pool.getId() < 1 || pool.getId() > PgHash.MAX_POOL) {
            throw new IllegalArgumentException("pool id " + pool.getId());
        }
        if (pool.getPgCount() < 1 || pool.getPgCount() > PgHash.MAX_PGS) {
            throw new IllegalArgumentException("pool of " + pool.getPgCount() + " PGs");
        }
        pools.put(pool.getId(), pool);
        if (pool.getRemoved()) {
            pgs.keySet().removeIf(pg -> PgHash.poolOf(pg) == pool.getId());
        }
    }
}
