package io.cairn.mds.cluster;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.mds.leader.Control;
import io.cairn.mds.map.PgPlanner;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the PG table of a pool that has none once enough disks have registered; {@link Placement}
 * moves PGs later. The control thread only.
 */
public final class PgTables {
    private static final Logger LOG = LoggerFactory.getLogger(PgTables.class);

    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final MapChanges changes;
    private final Control control;
    private final int bootstrapDisks;
    private boolean leading;
    private boolean retrying;

    public PgTables(MapChanges changes, Control control, int bootstrapDisks) {
        this.changes = changes;
        this.control = control;
        this.bootstrapDisks = bootstrapDisks;
    }

    public void begin() {
        leading = true;
        makeMissing();
    }

    public void end() {
        leading = false;
    }

    /** Makes the tables that can be made now; again later while that fails. */
    void makeMissing() {
        AtomicBoolean made = new AtomicBoolean();
        var _ =
                changes.change(
                                base -> {
                                    MapUpdate.@Nullable Builder update = table(base);
                                    made.set(update != null);
                                    return update;
                                })
                        .whenComplete((map, failure) -> {
                            if (failure != null) {
                                LOG.warn("no PG table could be made", failure);
                                retry();
                            } else if (made.get()) {
                                makeMissing(); // of the next pool
                            }
                        });
    }

    private void retry() {
        if (leading && !retrying) {
            retrying = true;
            var _ = control.after(RETRY_NANOS, this::again);
        }
    }

    private void again() {
        retrying = false;
        if (leading) {
            makeMissing();
        }
    }

    /** Of one pool: those of several may be more than an entry of the log can hold. */
    private MapUpdate.@Nullable Builder table(ClusterMap base) {
        for (Pool pool : base.pools()) {
            if (base.pg(PgHash.pg(pool.getId(), 0)) == null
                    && base.disks().size() >= bootstrapDisks
                    && PgPlanner.domainCount(base, pool) >= pool.getSize()) {
                LOG.info("the PG table of pool {} is made", pool.getName());
                MapUpdate.Builder update = MapUpdate.newBuilder();
                List<List<Integer>> table = PgPlanner.plan(base, pool);
                for (int i = 0; i < table.size(); i++) {
                    update.addPgs(
                            PlacementGroup.newBuilder()
                                    .setPg(PgHash.pg(pool.getId(), i))
                                    .setEpoch(base.epoch() + 1)
                                    .addAllReplicas(table.get(i))
                                    .addAllInSync(table.get(i)));
                }
                return update;
            }
        }
        return null;
    }

    /** What an administrator should know about placement. Any thread. */
    public static List<String> warnings(ClusterMap map, int bootstrapDisks) {
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
                                + " disks in "
                                + PgPlanner.domainCount(map, pool)
                                + " failure domains have registered, "
                                + bootstrapDisks
                                + " in "
                                + pool.getSize()
                                + " are needed");
            }
        }
        if (!used.isEmpty()) {
            for (Disk disk : map.disks()) {
                if (!used.contains(disk.getId()) && PgPlanner.isPlaceable(disk)) {
                    warnings.add(
                            "disk %d of data server %d has no placement groups yet: 'cairn balance --plan' says how many move to it, or what holds them"
                                    .formatted(disk.getId(), disk.getServer()));
                }
            }
        }
        return warnings;
    }
}
