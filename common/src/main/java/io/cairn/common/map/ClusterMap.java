package io.cairn.common.map;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map at one epoch, made for the questions of the data path: who is the primary of a
 * PG, is a session refused. Immutable; a newer map is another object, so one read of a volatile
 * field gives a consistent view. It shares with the map before what the increment between them does
 * not change: an epoch costs what changes, not what the map has. Any thread.
 */
public final class ClusterMap {
    /** What everybody knows before the first map: nothing, epoch 0. */
    public static final ClusterMap EMPTY = new ClusterMap();

    private final ByteString clusterId;
    private final long epoch;
    private final long sessionFloor;
    private final IdTable<Server> servers;
    private final IdTable<Disk> disks;
    private final IdTable<Pool> pools;

    /** By pool id; none of a removed pool. */
    private final IdTable<PgTable> tables;

    /** Every disk whose server is known, by its id. */
    private final IdTable<PrimaryDisk> primaries;

    private final List<MdsMember> mds;
    private final long[] refused;

    /** Made when it is first asked for. */
    private volatile @Nullable List<PlacementGroup> allPgs;

    /** Likewise. */
    private volatile @Nullable Map<Integer, PlacementGroup> splitting;

    /** Likewise. */
    private volatile @Nullable Map<Integer, PlacementGroup> merging;

    /** PGs of one pool by index. */
    private record PgTable(boolean grows, int pgBase, int pgCount, IdTable<PlacementGroup> pgs) {
        PgTable(Pool pool, IdTable<PlacementGroup> pgs) {
            this(pool.getPgBase() != 0, baseOf(pool), pool.getPgCount(), pgs);
        }

        int pgOf(int pool, long inode, long chunk) {
            return PgHash.pg(pool, inode, chunk, pgBase, pgCount);
        }

        int rootOf(int pool, long inode, long chunk) {
            return PgHash.pg(pool, inode, chunk, pgBase);
        }
    }

    private ClusterMap() {
        clusterId = ByteString.EMPTY;
        epoch = 0;
        sessionFloor = 0;
        servers = IdTable.empty();
        disks = IdTable.empty();
        pools = IdTable.empty();
        tables = IdTable.empty();
        primaries = IdTable.empty();
        mds = List.of();
        refused = new long[0];
    }

    private ClusterMap(ClusterMap base, MapUpdate update) {
        clusterId = update.getClusterId().isEmpty() ? base.clusterId : update.getClusterId();
        epoch = update.getEpoch();
        sessionFloor = Math.max(base.sessionFloor, update.getSessionFloor());
        IdTable.Edit<Server> serverEdit = base.servers.edit();
        update.getServersList().forEach(s -> serverEdit.put(s.getId(), s));
        servers = serverEdit.done();
        IdTable.Edit<Disk> diskEdit = base.disks.edit();
        update.getDisksList().forEach(d -> diskEdit.put(d.getId(), d));
        disks = diskEdit.done();
        IdTable.Edit<Pool> poolEdit = base.pools.edit();
        update.getPoolsList().forEach(p -> poolEdit.put(checked(p).getId(), p));
        pools = poolEdit.done();
        tables = tables(base.tables, update);
        primaries = primaries(base, update);
        mds = update.getMdsCount() == 0 ? base.mds : List.copyOf(update.getMdsList());
        refused = refused(base.refused, update);
    }

    private static Pool checked(Pool pool) {
        if (pool.getId() < 1 || pool.getId() > PgHash.MAX_POOL) {
            throw new IllegalArgumentException("pool id " + pool.getId());
        }
        if (pool.getPgCount() < 1 || pool.getPgCount() > PgHash.MAX_PGS) {
            throw new IllegalArgumentException("pool of " + pool.getPgCount() + " PGs");
        }
        if (baseOf(pool) > pool.getPgCount()) {
            throw new IllegalArgumentException(
                    "pool of %d PGs, made with %d".formatted(pool.getPgCount(), baseOf(pool)));
        }
        return pool;
    }

    private static IdTable<PgTable> tables(IdTable<PgTable> base, MapUpdate update) {
        IdTable.Edit<PgTable> edit = base.edit();
        for (Pool pool : update.getPoolsList()) {
            @Nullable PgTable before = base.get(pool.getId());
            if (pool.getRemoved()) {
                edit.put(pool.getId(), null);
            } else if (before == null
                    || before.pgCount != pool.getPgCount()
                    || before.grows != (pool.getPgBase() != 0)) {
                edit.put(pool.getId(), new PgTable(pool, kept(before, pool)));
            }
        }
        Map<Integer, List<PlacementGroup>> byPool = new TreeMap<>();
        for (PlacementGroup pg : update.getPgsList()) {
            byPool.computeIfAbsent(PgHash.poolOf(pg.getPg()), _ -> new ArrayList<>()).add(pg);
        }
        IdTable<PgTable> withPools = edit.done();
        IdTable.Edit<PgTable> filled = withPools.edit();
        byPool.forEach((pool, pgs) -> filled.put(pool, filled(withPools.get(pool), pgs)));
        return filled.done();
    }

    /** The PGs of a pool whose number of PGs is another one now. */
    private static IdTable<PlacementGroup> kept(@Nullable PgTable before, Pool pool) {
        if (before == null) {
            return IdTable.empty();
        }
        List<PlacementGroup> left =
                before.pgs.values().stream()
                        .filter(g -> PgHash.indexOf(g.getPg()) < pool.getPgCount())
                        .toList(); // others were merged into these
        return filled(new PgTable(pool, IdTable.empty()), left).pgs;
    }

    private static PgTable filled(@Nullable PgTable table, List<PlacementGroup> pgs) {
        IdTable.Edit<PlacementGroup> edit =
                table == null ? IdTable.<PlacementGroup>empty().edit() : table.pgs.edit();
        for (PlacementGroup pg : pgs) {
            int index = PgHash.indexOf(pg.getPg());
            if (table == null || index >= table.pgCount) {
                throw new IllegalArgumentException(
                        "map has PG " + pg.getPg() + " but not its pool");
            }
            edit.put(index, pg);
        }
        return table == null
                ? new PgTable(false, 0, 0, edit.done())
                : new PgTable(table.grows, table.pgBase, table.pgCount, edit.done());
    }

    /** Those of disks that have changed, or whose server has, are made anew. */
    private IdTable<PrimaryDisk> primaries(ClusterMap base, MapUpdate update) {
        IdTable.Edit<PrimaryDisk> edit = base.primaries.edit();
        Set<Integer> changed = new HashSet<>();
        for (Server server : update.getServersList()) {
            @Nullable Server before = base.servers.get(server.getId());
            @Nullable Server now = servers.get(server.getId());
            if (before == null
                    || now == null
                    || !before.getAddress().equals(now.getAddress())
                    || !before.getIncarnation().equals(now.getIncarnation())) {
                changed.add(server.getId());
            }
        }
        if (!changed.isEmpty()) {
            disks.forEach(d -> {
                if (changed.contains(d.getServer())) {
                    edit.put(d.getId(), primary(d));
                }
            });
        }
        update.getDisksList().forEach(d -> edit.put(d.getId(), primary(d)));
        return edit.done();
    }

    /** Null for a disk of a server that is unknown, or has no address. */
    private @Nullable PrimaryDisk primary(Disk disk) {
        @Nullable Server server = servers.get(disk.getServer());
        return server == null || server.getAddress().isEmpty()
                ? null
                : new PrimaryDisk(
                        disk.getId(),
                        server.getId(),
                        server.getIncarnation(),
                        RpcAddress.parse(server.getAddress()));
    }

    private static long[] refused(long[] base, MapUpdate update) {
        if (update.getRefusedSessionsCount() == 0 && update.getForgottenSessionsCount() == 0) {
            return base;
        }
        NavigableSet<Long> sessions = new TreeSet<>();
        for (long session : base) {
            sessions.add(session);
        }
        sessions.addAll(update.getRefusedSessionsList());
        update.getForgottenSessionsList().forEach(sessions::remove);
        return sessions.stream().mapToLong(Long::longValue).toArray();
    }

    /**
     * @throws IllegalArgumentException if it is an increment or contradicts itself
     */
    public static ClusterMap of(MapUpdate full) {
        if (full.getBaseEpoch() != 0) {
            throw new IllegalArgumentException(
                    "map update since epoch " + full.getBaseEpoch() + " where all was expected");
        }
        return EMPTY.with(full);
    }

    /**
     * The map after an increment that was made for this one, whatever epochs it names.
     *
     * @throws IllegalArgumentException if they contradict each other
     */
    public ClusterMap with(MapUpdate increment) {
        return new ClusterMap(this, increment);
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
        // Not even from an older epoch: what changed there and back is not in it.
        return update.getBaseEpoch() == epoch ? with(update) : null;
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
        @Nullable PlacementGroup group = pg(pg);
        return group == null ? null : primaries.get(primaryOf(group));
    }

    public @Nullable PlacementGroup pg(int pg) {
        @Nullable PgTable table = tables.get(PgHash.poolOf(pg));
        return table == null ? null : table.pgs.get(PgHash.indexOf(pg));
    }

    /** The PG of a chunk; the pool must exist. */
    public int pgOf(int pool, long inode, long chunk) {
        @Nullable PgTable table = tables.get(pool);
        if (table == null) {
            throw new IllegalArgumentException("pool " + pool + " is not in the map");
        }
        return table.pgOf(pool, inode, chunk);
    }

    /**
     * The PG that the chunk was in when the pool was made; the pool must exist. However PGs split,
     * a chunk is in this one or in one that was made of it, directly or not. So it is the same in
     * all maps.
     */
    public int rootOf(int pool, long inode, long chunk) {
        @Nullable PgTable table = tables.get(pool);
        if (table == null) {
            throw new IllegalArgumentException("pool " + pool + " is not in the map");
        }
        return table.rootOf(pool, inode, chunk);
    }

    /**
     * Whether the chunk is in the PG, by what this map says of its pool. Of a pool whose number of
     * PGs was never to change, whoever asks knows that as well. Allocates nothing.
     */
    public boolean isIn(int pg, long inode, long chunk) {
        @Nullable PgTable table = tables.get(PgHash.poolOf(pg));
        return table != null && (!table.grows || table.pgOf(PgHash.poolOf(pg), inode, chunk) == pg);
    }

    /** The PG of which one was made; -1 if it was there from the beginning, or is not there. */
    public int parentOf(int pg) {
        @Nullable PgTable table = tables.get(PgHash.poolOf(pg));
        int parent = table == null ? -1 : PgHash.parent(PgHash.indexOf(pg), table.pgBase);
        return parent < 0 ? -1 : PgHash.pg(PgHash.poolOf(pg), parent);
    }

    /** How many PGs a pool was made with. */
    public static int baseOf(Pool pool) {
        return pool.getPgBase() == 0 ? pool.getPgCount() : pool.getPgBase();
    }

    /** How many PGs a pool is to have. */
    public static int targetOf(Pool pool) {
        return pool.getPgTarget() == 0 ? pool.getPgCount() : pool.getPgTarget();
    }

    public @Nullable Pool pool(int id) {
        @Nullable Pool pool = pools.get(id);
        return pool == null || pool.getRemoved() ? null : pool;
    }

    public @Nullable Pool pool(String name) {
        return pools().stream().filter(p -> p.getName().equals(name)).findFirst().orElse(null);
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
        return servers.values();
    }

    /** As {@link #serversEver}. */
    public Collection<Disk> disksEver() {
        return disks.values();
    }

    public List<Pool> pools() {
        return pools.values().stream().filter(p -> !p.getRemoved()).toList();
    }

    /** As {@link #serversEver}. */
    public Collection<Pool> poolsEver() {
        return pools.values();
    }

    public List<MdsMember> mds() {
        return mds;
    }

    /** Every PG of every pool that the table has; by pool and index. */
    public List<PlacementGroup> pgs() {
        @Nullable List<PlacementGroup> known = allPgs;
        if (known == null) {
            List<PlacementGroup> all = new ArrayList<>();
            tables.forEach(table -> table.pgs.forEach(all::add));
            known = Collections.unmodifiableList(all);
            allPgs = known;
        }
        return known;
    }

    /** The PGs that are being made of a part of another one, by that one. */
    public Map<Integer, PlacementGroup> splitting() {
        @Nullable Map<Integer, PlacementGroup> known = splitting;
        if (known == null) {
            known = byParent(pg -> pg.getSplitEpoch() != 0);
            splitting = known;
        }
        return known;
    }

    /** The PGs that are going back into the one of which they were made, by that one. */
    public Map<Integer, PlacementGroup> merging() {
        @Nullable Map<Integer, PlacementGroup> known = merging;
        if (known == null) {
            known = byParent(pg -> pg.getMergeEpoch() != 0);
            merging = known;
        }
        return known;
    }

    private Map<Integer, PlacementGroup> byParent(Predicate<PlacementGroup> which) {
        Map<Integer, PlacementGroup> children = new TreeMap<>();
        for (PlacementGroup pg : pgs()) {
            if (which.test(pg)) {
                children.put(parentOf(pg.getPg()), pg);
            }
        }
        return Collections.unmodifiableMap(children);
    }

    /** The PG that is being made of this one, or going back into it; null if there is none. */
    public @Nullable PlacementGroup tiedTo(int parent) {
        @Nullable PlacementGroup made = splitting().get(parent);
        return made == null ? merging().get(parent) : made;
    }

    /** Whether a PG is being made of a part of another one or goes back into it, or that one. */
    public boolean isTied(PlacementGroup pg) {
        return isTiedToParent(pg) || tiedTo(pg.getPg()) != null;
    }

    /** Whether the PG has the same members in sync as its parent, for as long as that is so. */
    public static boolean isTiedToParent(PlacementGroup pg) {
        return pg.getSplitEpoch() != 0 || pg.getMergeEpoch() != 0;
    }

    /** Whether there was a PG of this number in a pool that has fewer of them now. */
    public boolean isMerged(int pg) {
        @Nullable Pool pool = pool(PgHash.poolOf(pg));
        return pool != null
                && pool.getMergedEpoch() != 0
                && PgHash.indexOf(pg) >= pool.getPgCount();
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
                s -> addIf(!s.equals(from.servers.get(s.getId())), s, update::addServers));
        to.disks.forEach(d -> addIf(!d.equals(from.disks.get(d.getId())), d, update::addDisks));
        to.pools.forEach(p -> addIf(!p.equals(from.pools.get(p.getId())), p, update::addPools));
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
