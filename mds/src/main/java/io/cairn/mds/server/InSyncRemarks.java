package io.cairn.mds.server;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.InSyncCounts;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.mds.cluster.ServerLeases.Known;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What the administrator should know of placement groups that lack replicas: how many, whether they
 * still take writes, and what brings the replicas back.
 */
final class InSyncRemarks {
    private InSyncRemarks() {}

    static List<String> warnings(ClusterMap map, Map<Integer, Known> heard) {
        InSyncCounts counts = InSyncCounts.of(map.pgs(), map.pools());
        List<String> warnings = new ArrayList<>();
        if (counts.degraded() > 0) {
            warnings.add(
                    "%d of %d placement groups have fewer replicas in sync than they should: %s"
                            .formatted(
                                    counts.degraded(),
                                    map.pgs().size(),
                                    String.join("; ", whatToDo(map, heard))));
        }
        if (counts.belowMinimum() > 0) {
            warnings.add(
                    "%d of %d placement groups have fewer replicas in sync than min_size of their pool: their writes wait, reads are served"
                            .formatted(counts.belowMinimum(), map.pgs().size()));
        }
        long tooFew = map.pgs().stream().filter(g -> hasTooFew(map, g)).count();
        if (tooFew > 0) {
            warnings.add(
                    "%d of %d placement groups have fewer replicas than the size of their pool: they get more, some at a time; what has to be there for it is said by 'cairn balance --plan'"
                            .formatted(tooFew, map.pgs().size()));
        }
        return warnings;
    }

    private static boolean hasTooFew(ClusterMap map, PlacementGroup group) {
        @Nullable Pool pool = map.pool(PgHash.poolOf(group.getPg()));
        return pool != null && group.getReplicasCount() < pool.getSize();
    }

    private static List<String> whatToDo(ClusterMap map, Map<Integer, Known> heard) {
        Set<String> steps = new TreeSet<>();
        for (int disk : missing(map)) {
            @Nullable Server server = map.serverOfDisk(disk);
            if (server == null || !server.getUp()) {
                steps.add(
                        "start %s, whose replicas are then brought up to date"
                                .formatted(
                                        server == null
                                                ? "the server of disk " + disk
                                                : DataServerRemarks.name(server.getId(), server)));
            } else if (!isServed(disk, heard.get(server.getId()))) {
                steps.add(
                        "disk %d of data server %d is out of service"
                                .formatted(disk, server.getId()));
            } else if (isSlow(map, disk)) {
                steps.add(
                        "disk %d of data server %d is slow, and is brought up to date when it has rested"
                                .formatted(disk, server.getId()));
            }
        }
        List<String> all = new ArrayList<>(steps);
        int recovering = recovering(map, heard);
        if (recovering > 0) {
            all.add(
                    "replicas that are being brought up to date: %d (nothing is to be done for these)"
                            .formatted(recovering));
        } else if (all.isEmpty()) {
            all.add(
                    "all their servers are up and about to bring them up to date; if this stays so for minutes, see the logs of the data servers");
        }
        return all;
    }

    private static boolean isSlow(ClusterMap map, int disk) {
        @Nullable Disk known = map.disk(disk);
        return known != null && known.getSlow();
    }

    /** The disks that have replicas which are not in sync. */
    private static Set<Integer> missing(ClusterMap map) {
        Set<Integer> missing = new TreeSet<>();
        for (PlacementGroup group : map.pgs()) {
            for (int disk : group.getReplicasList()) {
                if (!group.getInSyncList().contains(disk)) {
                    missing.add(disk);
                }
            }
        }
        return missing;
    }

    /** As its server reported, if that has reported its disks. */
    private static boolean isServed(int disk, @Nullable Known server) {
        if (server == null || server.report().disks().isEmpty()) {
            return true;
        }
        for (DiskStatus status : server.report().disks()) {
            if (status.getDisk() == disk) {
                return status.getCondition() != DiskCondition.DISK_OUT;
            }
        }
        return false;
    }

    private static int recovering(ClusterMap map, Map<Integer, Known> heard) {
        int recovering = 0;
        for (Server server : map.servers()) {
            @Nullable Known known = heard.get(server.getId());
            @Nullable PgReport pgs = known == null ? null : known.report().pgs();
            if (server.getUp() && pgs != null) {
                recovering += pgs.getRecovering();
            }
        }
        return recovering;
    }
}
