package io.cairn.mds.server;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the PG table of a pool that has none once enough disks have registered. Moving PGs later
 * needs backfill, which does not exist yet: until then disks that come later stay unused. The
 * control thread only.
 */
final class PgTables {
    private static final Logger LOG = LoggerFactory.getLogger(PgTables.class);

    private final MapChanges changes;
    private final int bootstrapDisks;

    PgTables(MapChanges changes, int bootstrapDisks) {
        this.changes = changes;
        this.bootstrapDisks = bootstrapDisks;
    }

    /** Something has registered: makes the tables that can be made now. */
    void makeMissing() {
        changes.change(this::tables)
                .whenComplete((map, failure) -> {
                    if (failure != null) {
                        LOG.warn("no PG table could be made", failure);
                    }
                });
    }

    private MapUpdate.@Nullable Builder tables(ClusterMap base) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (Pool pool : base.pools()) {
            if (base.pg(PgHash.pg(pool.getId(), 0)) == null
                    && base.disks().size() >= Math.max(bootstrapDisks, pool.getSize())) {
                List<PlacementGroup> pgs = plan(base, pool);
                if (!pgs.isEmpty()) {
                    LOG.info("PG table of pool {} made of {} disks", pool.getName(), usable(base));
                    update.addAllPgs(pgs);
                }
            }
        }
        return update.getPgsCount() == 0 ? null : update;
    }

    private static int usable(ClusterMap map) {
        return (int) map.disks().stream().filter(d -> !d.getOut()).count();
    }

    private static List<PlacementGroup> plan(ClusterMap base, Pool pool) {
        List<Disk> disks = base.disks().stream().filter(d -> !d.getOut()).toList();
        List<PlacementGroup> pgs = new ArrayList<>();
        for (int i = 0; i < pool.getPgCount(); i++) {
            List<Integer> replicas = new ArrayList<>();
            Set<Integer> servers = new HashSet<>();
            for (int pass = 0; pass < 2; pass++) {
                for (int j = 0; j < disks.size() && replicas.size() < pool.getSize(); j++) {
                    Disk disk = disks.get((i + j) % disks.size());
                    if (!replicas.contains(disk.getId())
                            && (servers.add(disk.getServer()) || pass == 1)) {
                        replicas.add(disk.getId());
                    }
                }
            }
            if (replicas.size() < pool.getSize()) {
                return List.of();
            }
            pgs.add(
                    PlacementGroup.newBuilder()
                            .setPg(PgHash.pg(pool.getId(), i))
                            .setEpoch(base.epoch() + 1)
                            .addAllReplicas(replicas)
                            .addAllInSync(replicas)
                            .build());
        }
        return pgs;
    }

    /** What an administrator should know about placement. Any thread. */
    static List<String> warnings(ClusterMap map, int bootstrapDisks) {
        List<String> warnings = new ArrayList<>();
        Set<Integer> used = new HashSet<>();
        map.pgs().forEach(pg -> used.addAll(pg.getReplicasList()));
        for (Pool pool : map.pools()) {
            if (map.pg(PgHash.pg(pool.getId(), 0)) == null) {
                warnings.add(
                        "pool "
                                + pool.getName()
                                + " has no PG table yet: "
                                + map.disks().size()
                                + " disks have registered, "
                                + Math.max(bootstrapDisks, pool.getSize())
                                + " are needed");
            } else {
                long domains = domains(map, pool, used);
                if (domains < pool.getSize()) {
                    warnings.add(
                            "pool "
                                    + pool.getName()
                                    + " keeps "
                                    + pool.getSize()
                                    + " replicas in only "
                                    + domains
                                    + " failure domains");
                }
            }
        }
        if (!used.isEmpty()) {
            for (Disk disk : map.disks()) {
                if (!used.contains(disk.getId())) {
                    warnings.add(
                            "disk "
                                    + disk.getId()
                                    + " of data server "
                                    + disk.getServer()
                                    + " is unused: it came after the PG table was made");
                }
            }
        }
        return warnings;
    }

    private static long domains(ClusterMap map, Pool pool, Set<Integer> disks) {
        Set<String> domains = new HashSet<>();
        for (int id : disks) {
            @Nullable Disk disk = map.disk(id);
            @Nullable Server server = map.serverOfDisk(id);
            if (disk != null && server != null) {
                domains.add(
                        switch (pool.getFailureDomain()) {
                            case FAILURE_DOMAIN_DISK -> "" + id;
                            case FAILURE_DOMAIN_SERVER, UNRECOGNIZED -> "" + server.getId();
                            case FAILURE_DOMAIN_HOST -> server.getHost();
                            case FAILURE_DOMAIN_RACK -> server.getRack();
                        });
            }
        }
        return domains.size();
    }
}
