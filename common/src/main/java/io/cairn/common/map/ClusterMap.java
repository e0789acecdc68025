package io.cairn.common.map;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map at one epoch, made for the questions of the data path: who is the primary of a
 * PG, is a session refused. Immutable; a newer map is another object, so one read of a volatile
 * field gives a consistent view. Any thread.
 */
public final class ClusterMap {
    /** What everybody knows before the first map: nothing, epoch 0. */
    public static final ClusterMap EMPTY = new ClusterMap(new MapBuilder());

    private final ByteString clusterId;
    private final long epoch;
    private final long sessionFloor;
    private final SortedMap<Integer, Server> servers;
    private final SortedMap<Integer, Disk> disks;
    private final SortedMap<Integer, Pool> pools;
    private final List<MdsMember> mds;
    private final long[] refused;
    private final @Nullable PoolTable[] tables;

    /** PGs of one pool by index. */
    private record PoolTable(@Nullable PlacementGroup[] pgs, @Nullable PrimaryDisk[] primaries) {}

    ClusterMap(MapBuilder from) {
        clusterId = from.clusterId;
        epoch = from.epoch;
        sessionFloor = from.sessionFloor;
        servers = new TreeMap<>(from.servers);
        disks = new TreeMap<>(from.disks);
        pools = new TreeMap<>(from.pools);
        mds = List.copyOf(from.mds);
        refused = from.refused.stream().mapToLong(Long::longValue).toArray();
        int lastPool = pools.isEmpty() ? 0 : pools.lastKey();
        tables = new @Nullable PoolTable[lastPool + 1];
        for (Pool pool : pools()) {
            tables[pool.getId()] =
                    new PoolTable(
                            new @Nullable PlacementGroup[pool.getPgCount()],
                            new @Nullable PrimaryDisk[pool.getPgCount()]);
        }
        var primaries = new PrimaryDisks(servers);
        for (PlacementGroup pg : from.pgs.values()) {
            fill(pg, primaries);
        }
    }

    private void fill(PlacementGroup pg, PrimaryDisks primaries) {
        PoolTable table = table(pg.getPg());
        int index = PgHash.indexOf(pg.getPg());
        if (table == null || index >= table.pgs.length) {
            throw new IllegalArgumentException("map has PG " + pg.getPg() + " but not its pool");
        }
        table.pgs[index] = pg;
        @Nullable Disk disk = disks.get(primaryOf(pg));
        table.primaries[index] = disk == null ? null : primaries.of(disk);
    }

    /**
     * @throws IllegalArgumentException if it is an increment or contradicts itself
     */
    public static ClusterMap of(MapUpdate full) {
        if (full.getBaseEpoch() != 0) {
            throw new IllegalArgumentException(
                    "map update since epoch " + full.getBaseEpoch() + " where all was expected");
        }
        return new ClusterMap(new MapBuilder().add(full));
    }

    /**
     * The map after an update, which may be full or an increment from this epoch. Old news gives
     * this map; null: the increment is from another epoch, a full map is needed.
     *
     * @throws IllegalArgumentException if it belongs to another cluster or contradicts itself
     */
    public @Nullable ClusterMap apply(MapUpdate update) {
        if (!clusterId.isEmpty()
                && !update.getClusterId().isEmpty()
                && !clusterId.equals(update.getClusterId())) {
            throw new IllegalArgumentException("map of another cluster");
        }
        if (update.getEpoch() <= epoch) {
            return this;
        }
        if (update.getBaseEpoch() == 0) {
            return of(update);
        }
        if (update.getBaseEpoch() != epoch) {
            // Not even from an older epoch: what changed there and back is not in it.
            return null;
        }
        return new ClusterMap(new MapBuilder().add(toUpdate()).add(update));
    }

    // ---- questions

    public long epoch() {
        return epoch;
    }

    /** 16 bytes, or empty before the first map. */
    public ByteString clusterId() {
        return clusterId;
    }

    /** The disk that is the primary of a PG of some map; 0 if it has none. */
    public static int primaryOf(PlacementGroup pg) {
        return pg.getInSyncCount() == 0 ? 0 : pg.getInSync(0);
    }

    /** The replicas of a PG of some map that are not in sync: they learn. */
    public static List<Integer> learnersOf(PlacementGroup pg) {
        List<Integer> learners = new ArrayList<>(pg.getReplicasList());
        learners.removeAll(pg.getInSyncList());
        return learners;
    }

    /** Where requests for this PG go; null: not known or nobody's. */
    public @Nullable InetSocketAddress primaryAddress(int pg) {
        @Nullable PrimaryDisk primary = primary(pg);
        return primary == null ? null : primary.address();
    }

    /** Who answers for this PG; null: not known or nobody. Allocates nothing. */
    public @Nullable PrimaryDisk primary(int pg) {
        @Nullable PoolTable table = table(pg);
        int index = PgHash.indexOf(pg);
        return table == null || index >= table.primaries.length ? null : table.primaries[index];
    }

    public @Nullable PlacementGroup pg(int pg) {
        @Nullable PoolTable table = table(pg);
        int index = PgHash.indexOf(pg);
        return table == null || index >= table.pgs.length ? null : table.pgs[index];
    }

    private @Nullable PoolTable table(int pg) {
        int pool = PgHash.poolOf(pg);
        return pool < tables.length ? tables[pool] : null;
    }

    /** The PG of a chunk; the pool must exist. */
    public int pgOf(int pool, long inode, long chunk) {
        @Nullable PoolTable table = pool >= 0 && pool < tables.length ? tables[pool] : null;
        if (table == null) {
            throw new IllegalArgumentException("pool " + pool + " is not in the map");
        }
        return PgHash.pg(pool, inode, chunk, table.pgs.length);
    }

    public @Nullable Pool pool(int id) {
        @Nullable Pool pool = pools.get(id);
        return pool == null || pool.getRemoved() ? null : pool;
    }

    /** Whether a pool was there and was removed, with its placement groups. */
    public boolean isPoolRemoved(int id) {
        @Nullable Pool pool = pools.get(id);
        return pool != null && pool.getRemoved();
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

    /** The server a disk is in; null when either is unknown. */
    public @Nullable Server serverOfDisk(int disk) {
        @Nullable Disk known = disk(disk);
        return known == null ? null : server(known.getServer());
    }

    /** Whether requests of the session are to be refused. Allocates nothing. */
    public boolean refused(long session) {
        return Arrays.binarySearch(refused, session) >= 0;
    }

    /**
     * Requests of sessions made under a map older than this epoch are refused whoever sends them:
     * sessions that were refused before and are forgotten now have no newer one.
     */
    public long sessionFloor() {
        return sessionFloor;
    }

    /** Ascending, as are the other collections. */
    public long[] refusedSessions() {
        return refused.clone();
    }

    public List<Server> servers() {
        return servers.values().stream().filter(s -> !s.getRemoved()).toList();
    }

    public List<Disk> disks() {
        return disks.values().stream().filter(d -> !d.getRemoved()).toList();
    }

    /** Also those that were removed: their ids and identities are not used again. */
    public Collection<Server> serversEver() {
        return Collections.unmodifiableCollection(servers.values());
    }

    /** As {@link #serversEver}. */
    public Collection<Disk> disksEver() {
        return Collections.unmodifiableCollection(disks.values());
    }

    public List<Pool> pools() {
        return pools.values().stream().filter(p -> !p.getRemoved()).toList();
    }

    /** As {@link #serversEver}. */
    public Collection<Pool> poolsEver() {
        return Collections.unmodifiableCollection(pools.values());
    }

    public List<MdsMember> mds() {
        return mds;
    }

    /** Every PG of every pool that the table has. */
    public List<PlacementGroup> pgs() {
        return Arrays.stream(tables)
                .filter(t -> t != null)
                .flatMap(t -> Arrays.stream(t.pgs))
                .filter(pg -> pg != null)
                .toList();
    }

    // ---- as messages

    /** The whole map, without what was removed: for people. */
    public MapUpdate present() {
        return toUpdate().toBuilder()
                .clearServers()
                .addAllServers(servers())
                .clearDisks()
                .addAllDisks(disks())
                .clearPools()
                .addAllPools(pools())
                .build();
    }

    /** The whole map; {@code of(m.toUpdate())} equals m in every answer. */
    public MapUpdate toUpdate() {
        return MapUpdate.newBuilder()
                .setClusterId(clusterId)
                .setEpoch(epoch)
                .addAllServers(servers.values())
                .addAllDisks(disks.values())
                .addAllPools(pools.values())
                .addAllPgs(pgs())
                .addAllRefusedSessions(Arrays.stream(refused).boxed().toList())
                .addAllMds(mds)
                .setSessionFloor(sessionFloor)
                .build();
    }

    /**
     * What takes a holder of the older map to the newer one, both of one cluster.
     *
     * @throws IllegalArgumentException if {@code from} is the newer one
     */
    public static MapUpdate diff(ClusterMap from, ClusterMap to) {
        if (from.epoch > to.epoch) {
            throw new IllegalArgumentException("from " + from.epoch + " back to " + to.epoch);
        }
        if (from.epoch == 0) {
            return to.toUpdate();
        }
        var update =
                MapUpdate.newBuilder()
                        .setClusterId(to.clusterId)
                        .setBaseEpoch(from.epoch)
                        .setEpoch(to.epoch);
        to.servers.forEach(
                (id, s) -> addIf(!s.equals(from.servers.get(id)), s, update::addServers));
        to.disks.forEach((id, d) -> addIf(!d.equals(from.disks.get(id)), d, update::addDisks));
        to.pools.forEach((id, p) -> addIf(!p.equals(from.pools.get(id)), p, update::addPools));
        for (PlacementGroup pg : to.pgs()) {
            addIf(!pg.equals(from.pg(pg.getPg())), pg, update::addPgs);
        }
        for (long session : to.refused) {
            addIf(!from.refused(session), session, update::addRefusedSessions);
        }
        for (long session : from.refused) {
            addIf(!to.refused(session), session, update::addForgottenSessions);
        }
        if (to.sessionFloor != from.sessionFloor) {
            update.setSessionFloor(to.sessionFloor);
        }
        if (!to.mds.equals(from.mds)) {
            update.addAllMds(to.mds);
        }
        return update.build();
    }

    private static <T> void addIf(boolean changed, T item, Consumer<T> update) {
        if (changed) {
            update.accept(item);
        }
    }

    @Override
    public String toString() {
        return "cluster map " + epoch;
    }
}
