package io.cairn.cli.output;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.InSyncCounts;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.StatusReply;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How many placement groups serve, by what the server of each one's primary reported last. Those of
 * a server that is down, or of a disk that its server does not serve, do not.
 *
 * @param unknown those of servers that do not report them, or that the leader has not heard of yet
 * @param inSync how many lack replicas, by the cluster map
 * @param recovering replicas that primaries bring up to date
 */
record PgCounts(
        int active, int notServing, int damaged, int unknown, InSyncCounts inSync, int recovering) {

    static PgCounts of(StatusReply status) {
        Map<Integer, Integer> serverOfDisk = new HashMap<>();
        for (Disk disk : status.getMap().getDisksList()) {
            serverOfDisk.put(disk.getId(), disk.getServer());
        }
        Map<Integer, Integer> primaries = new HashMap<>();
        for (PlacementGroup pg : status.getMap().getPgsList()) {
            primaries.merge(
                    serverOfDisk.getOrDefault(ClusterMap.primaryOf(pg), 0), 1, Integer::sum);
        }
        Map<Integer, PgReport> reports = new HashMap<>();
        for (ServerStatus server : status.getServersList()) {
            if (server.hasPgs()) {
                reports.put(server.getServer(), server.getPgs());
            }
        }
        int active = 0;
        int notServing = 0;
        int damaged = 0;
        int unknown = 0;
        int recovering = 0;
        for (Server server : status.getMap().getServersList()) {
            int mapped = primaries.getOrDefault(server.getId(), 0);
            @Nullable PgReport report = reports.get(server.getId());
            if (!server.getUp()) {
                notServing += mapped;
            } else if (report == null) {
                unknown += mapped;
            } else {
                active += report.getActive();
                damaged += report.getDamaged();
                recovering += report.getRecovering();
                notServing += Math.max(0, mapped - report.getActive() - report.getDamaged());
            }
        }
        InSyncCounts inSync =
                InSyncCounts.of(status.getMap().getPgsList(), status.getMap().getPoolsList());
        return new PgCounts(active, notServing, damaged, unknown, inSync, recovering);
    }

    /** {@code 62 active, 2 not serving, 40 degraded, 11 replicas recovering}. */
    String text() {
        return active
                + " active"
                + text(notServing, "not serving")
                + text(damaged, "DAMAGED")
                + text(unknown, "not known")
                + text(inSync.degraded(), "degraded")
                + text(inSync.belowMinimum(), "below min_size")
                + text(inSync.moving(), "moving")
                + text(recovering, "replicas recovering");
    }

    private static String text(int pgs, String what) {
        return pgs == 0 ? "" : ", " + pgs + " " + what;
    }

    Map<String, Integer> asMap() {
        Map<String, Integer> json = new LinkedHashMap<>();
        json.put("active", active);
        json.put("not_serving", notServing);
        json.put("damaged", damaged);
        json.put("unknown", unknown);
        json.put("degraded", inSync.degraded());
        json.put("below_min_size", inSync.belowMinimum());
        json.put("moving", inSync.moving());
        json.put("recovering", recovering);
        return json;
    }
}
