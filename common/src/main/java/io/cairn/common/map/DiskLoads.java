package io.cairn.common.map;

import io.cairn.common.proto.Disk;
import io.cairn.common.proto.PlacementGroup;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/** What each disk has of the placement groups of a map. Immutable; any thread. */
public final class DiskLoads {
    private static final Load NONE = new Load(0, 0, 0, 0);

    private final Map<Integer, Load> loads = new HashMap<>();

    /**
     * @param replicas of groups that are placed there
     * @param inSync those that are members of the in-sync sets, also of groups placed elsewhere
     * @param primaries groups that it leads
     * @param groups it is replica or member of
     */
    public record Load(int replicas, int inSync, int primaries, int groups) {
        public Load plus(Load other) {
            return new Load(
                    replicas + other.replicas,
                    inSync + other.inSync,
                    primaries + other.primaries,
                    groups + other.groups);
        }
    }

    private DiskLoads() {}

    public static DiskLoads of(Collection<PlacementGroup> groups) {
        DiskLoads all = new DiskLoads();
        for (PlacementGroup group : groups) {
            int primary = ClusterMap.primaryOf(group);
            for (int disk : group.getReplicasList()) {
                all.add(disk, new Load(1, 0, 0, 1));
            }
            for (int disk : group.getInSyncList()) {
                boolean isReplica = group.getReplicasList().contains(disk);
                all.add(disk, new Load(0, 1, disk == primary ? 1 : 0, isReplica ? 0 : 1));
            }
        }
        return all;
    }

    private void add(int disk, Load load) {
        loads.merge(disk, load, Load::plus);
    }

    public Load of(int disk) {
        return loads.getOrDefault(disk, NONE);
    }

    /** Of all disks of a server together. */
    public Load ofServer(int server, Collection<Disk> disks) {
        return disks.stream()
                .filter(d -> d.getServer() == server)
                .map(d -> of(d.getId()))
                .reduce(NONE, Load::plus);
    }

    /** Whether nothing is lost with the disk: it is out of placement, and no group has it. */
    public boolean isDrained(Disk disk) {
        return disk.getOut() && of(disk.getId()).groups == 0;
    }

    /** Whether nothing is lost with the server: it has disks, and all are drained. */
    public boolean isServerDrained(int server, Collection<Disk> disks) {
        return disks.stream().anyMatch(d -> d.getServer() == server)
                && disks.stream().filter(d -> d.getServer() == server).allMatch(this::isDrained);
    }
}
