package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.ReweightRequest;
import io.cairn.mds.map.PgPlanner;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Takes disks out of placement, back into it, or gives them another weight in the cluster map: all
 * that are named, or none. {@link Placement} then moves what they have. Pure; any thread.
 */
public final class Drains {
    /** The largest weight, in thousandths. */
    static final int MAX_PERMILLE = 100_000;

    private Drains() {}

    /**
     * The ids of all disks that are meant, ascending. ENOENT for what the map does not have.
     *
     * @param servers all disks of each
     */
    static Set<Integer> meant(ClusterMap map, List<Integer> disks, List<Integer> servers) {
        List<String> unknown = new ArrayList<>();
        Set<Integer> meant = new TreeSet<>();
        for (int id : disks) {
            if (map.disk(id) == null) {
                unknown.add("disk " + Integer.toUnsignedString(id));
            }
            meant.add(id);
        }
        for (int id : servers) {
            if (map.server(id) == null) {
                unknown.add("data server " + Integer.toUnsignedString(id));
            }
            map.disks().stream()
                    .filter(d -> d.getServer() == id)
                    .forEach(d -> meant.add(d.getId()));
        }
        if (!unknown.isEmpty()) {
            throw new FsException(Errno.ENOENT, "there is no " + String.join(", no ", unknown));
        }
        return meant;
    }

    /**
     * Null where all is so already. Besides what {@link #meant} throws, EINVAL where no disk is
     * meant, and ENOSPC where a pool would be left with too few failure domains for its replicas.
     */
    public static MapUpdate.@Nullable Builder update(ClusterMap base, DrainRequest wanted) {
        Set<Integer> meant = meantDisks(base, wanted.getDisksList(), wanted.getServersList());
        boolean out = !wanted.getRestore();
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (Disk disk : base.disks()) {
            if (meant.contains(disk.getId()) && disk.getOut() != out) {
                update.addDisks(disk.toBuilder().setOut(out));
            }
        }
        if (update.getDisksCount() == 0) {
            return null;
        }
        checkDomains(base, update.build());
        return update;
    }

    /**
     * Null where all is so already.
     *
     * @throws FsException as {@link #update}; EINVAL for a weight above {@link #MAX_PERMILLE}
     */
    static MapUpdate.@Nullable Builder update(ClusterMap base, ReweightRequest wanted) {
        int permille = wanted.getWeightPermille();
        if (permille < 0 || permille > MAX_PERMILLE) {
            throw new FsException(Errno.EINVAL, "weights are 0 to " + MAX_PERMILLE / 1000);
        }
        Set<Integer> meant = meantDisks(base, wanted.getDisksList(), wanted.getServersList());
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (Disk disk : base.disks()) {
            if (meant.contains(disk.getId()) && permille(disk) != permille) {
                update.addDisks(disk.toBuilder().setWeightPermille(permille));
            }
        }
        if (update.getDisksCount() == 0) {
            return null;
        }
        checkDomains(base, update.build());
        return update;
    }

    /** Of a disk's weight. */
    static int permille(Disk disk) {
        return disk.hasWeightPermille() ? disk.getWeightPermille() : 1000;
    }

    private static Set<Integer> meantDisks(
            ClusterMap map, List<Integer> disks, List<Integer> servers) {
        Set<Integer> meant = meant(map, disks, servers);
        if (meant.isEmpty()) {
            throw new FsException(Errno.EINVAL, "no disk is meant: these data servers have none");
        }
        return meant;
    }

    private static void checkDomains(ClusterMap base, MapUpdate update) {
        ClusterMap then = base.with(update);
        for (Pool pool : base.pools()) {
            int left = PgPlanner.domainCount(then, pool);
            if (left < pool.getSize() && left < PgPlanner.domainCount(base, pool)) {
                throw new FsException(Errno.ENOSPC, tooFew(pool, left));
            }
        }
    }

    private static String tooFew(Pool pool, int left) {
        String apart =
                switch (pool.getFailureDomain()) {
                    case FAILURE_DOMAIN_DISK, UNRECOGNIZED -> "on different disks";
                    case FAILURE_DOMAIN_SERVER -> "on different data servers";
                    case FAILURE_DOMAIN_HOST -> "on different hosts";
                    case FAILURE_DOMAIN_RACK -> "in different racks";
                };
        String another =
                switch (pool.getFailureDomain()) {
                    case FAILURE_DOMAIN_DISK, UNRECOGNIZED -> "a disk";
                    case FAILURE_DOMAIN_SERVER -> "a data server with a disk";
                    case FAILURE_DOMAIN_HOST -> "a data server with a disk on another host";
                    case FAILURE_DOMAIN_RACK -> "a data server with a disk in another rack";
                };
        return "pool %s keeps its %d replicas %s, and %d would be left: add %s first"
                .formatted(pool.getName(), pool.getSize(), apart, left, another);
    }
}
