package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.RemoveRequest;
import io.cairn.common.proto.Server;
import io.cairn.mds.map.PgPlanner;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Forgets disks and data servers: all that are named, or none. The map keeps the identity of a disk
 * that was removed, so that it is refused when it comes back: what it holds may be old. A server
 * holds nothing itself, and gets its id back when it registers again. Pure; any thread.
 */
final class Removals {
    private Removals() {}

    /**
     * @param isAway whether nothing on a disk is served or acknowledged any more
     * @throws FsException ENOENT for what the map does not have, EBUSY for what has placement
     *     groups, may get some, or is up
     */
    static MapUpdate.Builder update(ClusterMap base, RemoveRequest wanted, Predicate<Disk> isAway) {
        Set<Integer> meant = Drains.meant(base, wanted.getDisksList(), wanted.getServersList());
        DiskLoads loads = DiskLoads.of(base.pgs());
        List<String> objections = new ArrayList<>();
        MapUpdate.Builder update = MapUpdate.newBuilder();
        for (int id : wanted.getServersList().stream().distinct().toList()) {
            Server server = Objects.requireNonNull(base.server(id));
            if (server.getUp()) {
                objections.add("data server %d is up: stop it first".formatted(id));
            }
            update.addServers(server.toBuilder().setRemoved(true));
        }
        for (int id : meant) {
            Disk disk = Objects.requireNonNull(base.disk(id));
            int groups = loads.of(id).groups();
            if (PgPlanner.isPlaceable(disk)) {
                objections.add("disk %d is in placement: drain it first".formatted(id));
            } else if (groups > 0) {
                objections.add(
                        "disk %d has %d placement groups yet: wait until they are elsewhere, see 'cairn disk ls'"
                                .formatted(id, groups));
            } else if (!isAway.test(disk)) {
                objections.add(
                        "disk %d is in service: stop data server %d, or start it again without this disk"
                                .formatted(id, disk.getServer()));
            }
            update.addDisks(disk.toBuilder().setRemoved(true));
        }
        if (!objections.isEmpty()) {
            throw new FsException(Errno.EBUSY, String.join("; ", objections));
        }
        return update;
    }
}
