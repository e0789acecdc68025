package io.cairn.mds.cluster;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a data server's registration changes in the map: it is up, at its address, with its disks;
 * and if this is a new process, or a disk has changed servers, the PGs of its disks begin a new
 * epoch. Pure; one thread.
 */
public final class Registration {
    /** Of a failure domain's label. */
    static final int MAX_LABEL_BYTES = 255;

    private final ClusterMap base;
    private final RegisterServerRequest wanted;
    private final int leaseMillis;
    private final boolean recoversInMap;
    private final boolean classesInMap;
    private final boolean splitsInMap;

    /**
     * @param leaseMillis what a new process is told; 0 where the map cannot hold it yet
     * @param recoversInMap whether the map can say that a server recovers learners
     * @param classesInMap whether the map can say of which device class a disk is
     * @param splitsInMap whether the map can say that a server splits placement groups
     */
    public Registration(
            ClusterMap base,
            RegisterServerRequest wanted,
            int leaseMillis,
            boolean recoversInMap,
            boolean classesInMap,
            boolean splitsInMap) {
        this.base = base;
        this.wanted = wanted;
        this.leaseMillis = leaseMillis;
        this.recoversInMap = recoversInMap;
        this.classesInMap = classesInMap;
        this.splitsInMap = splitsInMap;
    }

    /** Refuses what no map can hold: EINVAL. */
    static void check(RegisterServerRequest wanted) {
        if (wanted.getServerUuid().size() != Uuids.BYTES
                || wanted.getIncarnation().size() != Uuids.BYTES) {
            throw new FsException(Errno.EINVAL, "server uuid and incarnation are 16 bytes");
        }
        Set<ByteString> uuids = new HashSet<>();
        for (DiskReport disk : wanted.getDisksList()) {
            if (disk.getUuid().size() != Uuids.BYTES || !uuids.add(disk.getUuid())) {
                throw new FsException(Errno.EINVAL, "disk uuids are 16 bytes, each another");
            }
        }
        checkLabel("host", wanted.getHostBytes());
        checkLabel("rack", wanted.getRackBytes());
        try {
            RpcAddress.parse(wanted.getAddress());
        } catch (IllegalArgumentException e) {
            throw new FsException(Errno.EINVAL, String.valueOf(e.getMessage()));
        }
    }

    private static void checkLabel(String name, ByteString label) {
        if (label.size() > MAX_LABEL_BYTES) {
            throw new FsException(
                    Errno.EINVAL,
                    name + " has " + label.size() + " bytes, " + MAX_LABEL_BYTES + " are the most");
        }
    }

    /** Also if it was removed: it gets its id back. */
    public static @Nullable Server find(ClusterMap map, ByteString uuid) {
        for (Server server : map.serversEver()) {
            if (server.getUuid().equals(uuid)) {
                return server;
            }
        }
        return null;
    }

    /** Whether the map has another process of the server, or none. */
    boolean isNewProcess() {
        @Nullable Server before = find(base, wanted.getServerUuid());
        return before == null || !before.getIncarnation().equals(wanted.getIncarnation());
    }

    /** The increment; null where the map says all that already. */
    public MapUpdate.@Nullable Builder update() {
        @Nullable Server before = find(base, wanted.getServerUuid());
        int id = before != null ? before.getId() : 1 + highestServer();
        @Nullable Server sameProcess =
                before != null && before.getIncarnation().equals(wanted.getIncarnation())
                        ? before
                        : null;
        Server now =
                Server.newBuilder()
                        .setId(id)
                        .setUuid(wanted.getServerUuid())
                        .setAddress(wanted.getAddress())
                        .setHost(wanted.getHost())
                        .setRack(wanted.getRack())
                        .setIncarnation(wanted.getIncarnation())
                        .setUp(true)
                        // A process keeps what it was told first: it may not hear of a shorter one.
                        .setLeaseMillis(
                                sameProcess != null ? sameProcess.getLeaseMillis() : leaseMillis)
                        .setRecovers(recoversInMap && wanted.getRecovers())
                        .setSplits(splitsInMap && wanted.getSplits())
                        .build();
        MapUpdate.Builder update = MapUpdate.newBuilder();
        if (!now.equals(before)) {
            update.addServers(now);
        }
        Set<Integer> restarted = disks(id, update);
        if (sameProcess == null) {
            for (Disk disk : base.disks()) {
                if (disk.getServer() == id) {
                    restarted.add(disk.getId());
                }
            }
        }
        for (PlacementGroup pg : base.pgs()) {
            if (pg.getReplicasList().stream().anyMatch(restarted::contains)
                    || pg.getInSyncList().stream().anyMatch(restarted::contains)) {
                update.addPgs(pg.toBuilder().setEpoch(base.epoch() + 1));
            }
        }
        return update.getServersCount() + update.getDisksCount() + update.getPgsCount() == 0
                ? null
                : update;
    }

    /**
     * Adds the disks that are new or have changed, none that was removed; returns those that came
     * from elsewhere.
     */
    private Set<Integer> disks(int server, MapUpdate.Builder update) {
        Map<ByteString, Disk> known = new HashMap<>();
        int highest = 0;
        for (Disk disk : base.disksEver()) {
            known.put(disk.getUuid(), disk);
            highest = Math.max(highest, disk.getId());
        }
        Set<Integer> moved = new HashSet<>();
        for (DiskReport report : wanted.getDisksList()) {
            @Nullable Disk before = known.get(report.getUuid());
            if (before != null && before.getRemoved()) {
                continue; // what it holds may be old, and would be taken for the present
            }
            Disk.Builder now =
                    before != null
                            ? before.toBuilder()
                            : Disk.newBuilder().setId(++highest).setUuid(report.getUuid());
            now.setServer(server).setCapacityBytes(report.getCapacityBytes());
            if (classesInMap) {
                now.setDeviceClass(report.getDeviceClass());
            }
            if (before == null || !now.build().equals(before)) {
                update.addDisks(now);
            }
            if (before != null && before.getServer() != server) {
                moved.add(before.getId());
            }
        }
        return moved;
    }

    private int highestServer() {
        return base.serversEver().stream().mapToInt(Server::getId).max().orElse(0);
    }
}
