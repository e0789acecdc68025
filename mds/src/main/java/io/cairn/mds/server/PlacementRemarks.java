package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.Disk;
import io.cairn.mds.leader.Held;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What the administrator should know of disks that are drained or away, and what is held back. */
final class PlacementRemarks {
    private PlacementRemarks() {}

    /**
     * @param withheld disks of which nothing is placed elsewhere though they are away for long
     */
    static List<String> warnings(Held held, ClusterMap map, Set<Integer> withheld) {
        List<String> warnings = new ArrayList<>();
        String names =
                map.disks().stream()
                        .filter(d -> withheld.contains(d.getId()))
                        .map(PlacementRemarks::name)
                        .collect(Collectors.joining(", "));
        if (!names.isEmpty()) {
            warnings.add(
                    "%s: away for long, and yet nothing is placed elsewhere: either too few failure domains would be left for the replicas of a pool, or more than a quarter of all disks is away, of several data servers; start what is down, add data servers, or drain what does not come back"
                            .formatted(names));
        }
        if (held.noOut()) {
            warnings.add(
                    "noout is on: what a disk has is not placed elsewhere, however long it is away; 'cairn set noout off' ends that");
        }
        if (held.noRebalance()) {
            warnings.add(
                    "norebalance is on: placement groups move off drained and absent disks only; 'cairn set norebalance off' ends that");
        }
        if (held.noDown()) {
            warnings.add(
                    "nodown is on: placement groups wait for data servers that are silent, and are not served without them; 'cairn set nodown off' ends that");
        }
        if (held.noRecover()) {
            warnings.add(
                    "norecover is on: no replica is brought up to date; 'cairn set norecover off' ends that");
        }
        if (held.pause()) {
            warnings.add(
                    "pause is on: what clients read and write waits; 'cairn set pause off' ends that");
        }
        return warnings;
    }

    static List<String> notes(ClusterMap map) {
        DiskLoads loads = DiskLoads.of(map.pgs());
        List<String> notes = new ArrayList<>();
        for (Disk disk : map.disks()) {
            String name = name(disk);
            int left = loads.of(disk.getId()).groups();
            if (loads.isDrained(disk)) {
                notes.add(name + " is drained: no placement group has it, it can be removed");
            } else if (disk.getOut()) {
                notes.add(name + " is being drained: it has " + count(left) + " yet");
            } else if (disk.getAbsent()) {
                notes.add(
                        "%s is away for long: what it had is placed elsewhere%s"
                                .formatted(
                                        name,
                                        left == 0 ? "" : ", but for " + count(left) + " yet"));
            }
        }
        return notes;
    }

    private static String name(Disk disk) {
        return "disk %d of data server %d".formatted(disk.getId(), disk.getServer());
    }

    private static String count(int groups) {
        return groups + " placement group" + (groups == 1 ? "" : "s");
    }
}
