package io.cairn.mds.map;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.NavigableSet;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map as the MDS replicates it, at one epoch. Immutable; any thread. Ordered by id
 * throughout, so that every member makes the same bytes of it.
 */
public final class MapState {
    /** Before the cluster is formatted. */
    public static final MapState EMPTY = new MapState(MapUpdate.getDefaultInstance());

    private final ByteString clusterId;
    private final long epoch;
    private final SortedMap<Integer, Server> servers = new TreeMap<>();
    private final SortedMap<Integer, Disk> disks = new TreeMap<>();
    private final SortedMap<Integer, Pool> pools = new TreeMap<>();
    private final SortedMap<Integer, PlacementGroup> pgs = new TreeMap<>(Integer::compareUnsigned);
    private final SortedMap<Integer, MdsMember> members = new TreeMap<>();
    private final NavigableSet<Long> refused = new TreeSet<>();
    private final long sessionFloor;
    private final MapUpdate full;

    private MapState(MapUpdate full) {
        this.clusterId = full.getClusterId();
        this.epoch = full.getEpoch();
        this.sessionFloor = full.getSessionFloor();
        merge(full);
        this.full = build();
    }

    private MapState(MapState base, MapUpdate update) {
        this.clusterId = base.clusterId;
        this.epoch = update.getEpoch();
        servers.putAll(base.servers);
        disks.putAll(base.disks);
        pools.putAll(base.pools);
        pgs.putAll(base.pgs);
        members.putAll(base.members);
        refused.addAll(base.refused);
        sessionFloor = Math.max(base.sessionFloor, update.getSessionFloor());
        merge(update);
        this.full = build();
    }

    /** From a whole map (base_epoch 0). */
    public static MapState of(MapUpdate full) {
        return new MapState(full);
    }

    /** The map after an increment that was made for this epoch. */
    public MapState with(MapUpdate update) {
        return new MapState(this, update);
    }

    public ByteString clusterId() {
        return clusterId;
    }

    public long epoch() {
        return epoch;
    }

    /** Null also if it was removed, as for disks. */
    public @Nullable Server server(int id) {
        @Nullable Server server = servers.get(id);
        return server == null || server.getRemoved() ? null : server;
    }

    public @Nullable Disk disk(int id) {
        @Nullable Disk disk = disks.get(id);
        return disk == null || disk.getRemoved() ? null : disk;
    }

    public @Nullable Pool pool(int id) {
        @Nullable Pool pool = pools.get(id);
        return pool == null || pool.getRemoved() ? null : pool;
    }

    public @Nullable Pool pool(String name) {
        return pools.values().stream()
                .filter(p -> !p.getRemoved() && p.getName().equals(name))
                .findFirst()
                .orElse(null);
    }

    public @Nullable PlacementGroup pg(int pg) {
        return pgs.get(pg);
    }

    public boolean isRefused(long session) {
        return refused.contains(session);
    }

    /** Requests of sessions made under an older map than this epoch are refused. */
    public long sessionFloor() {
        return sessionFloor;
    }

    /** The whole map, base_epoch 0, with what was removed. */
    public MapUpdate toUpdate() {
        return full;
    }

    private void merge(MapUpdate update) {
        update.getServersList().forEach(s -> servers.put(s.getId(), s));
        update.getDisksList().forEach(d -> disks.put(d.getId(), d));
        for (Pool pool : update.getPoolsList()) {
            pools.put(pool.getId(), pool);
            if (pool.getRemoved()) {
                pgs.keySet().removeIf(pg -> PgHash.poolOf(pg) == pool.getId());
            }
        }
        update.getPgsList().forEach(g -> pgs.put(g.getPg(), g));
        if (update.getMdsCount() > 0) {
            members.clear(); // all are named whenever any is
        }
        update.getMdsList().forEach(m -> members.put(m.getId(), m));
        refused.addAll(update.getRefusedSessionsList());
        refused.removeAll(update.getForgottenSessionsList());
    }

    private MapUpdate build() {
        return MapUpdate.newBuilder()
                .setClusterId(clusterId)
                .setEpoch(epoch)
                .addAllServers(servers.values())
                .addAllDisks(disks.values())
                .addAllPools(pools.values())
                .addAllPgs(pgs.values())
                .addAllRefusedSessions(refused)
                .addAllMds(members.values())
                .setSessionFloor(sessionFloor)
                .build();
    }
}
