package io.cairn.mds.cluster;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What registrations of data servers change in the map, all of them in one epoch: each server is
 * up, at its address, with its disks; and if it is a new process, or a disk has changed servers,
 * the PGs of its disks begin a new epoch. Looks at servers, disks and PGs once for all. Pure; one
 * thread.
 */
public final class Registrations {
    /** In one change, but for those of a single server: it has to be an entry of the log. */
    static final int MAX_PGS = 20_000;

    static final int MAX_ROW_BYTES = 1 << 20;

    /**
     * What all of them go by.
     *
     * @param leaseMillis what a new process is told; 0 where the map cannot hold it yet
     * @param recoversInMap whether the map can say that a server recovers learners
     * @param classesInMap whether the map can say of which device class a disk is
     * @param splitsInMap whether the map can say that a server splits placement groups
     * @param unitesInMap whether the map can say that a server unites placement groups
     */
    public record Terms(
            int leaseMillis,
            boolean recoversInMap,
            boolean classesInMap,
            boolean splitsInMap,
            boolean unitesInMap) {}

    private final ClusterMap base;
    private final Terms terms;

    /** As they are in the map, or will be: by their uuids. */
    private final Map<ByteString, Server> servers = new HashMap<>();

    private final Map<ByteString, Disk> disks = new HashMap<>();
    private final Map<Integer, Server> changedServers = new LinkedHashMap<>();
    private final Map<Integer, Disk> changedDisks = new LinkedHashMap<>();

    /** Disks whose PGs begin a new epoch. */
    private final Set<Integer> restarted = new HashSet<>();

    private @Nullable Map<Integer, Integer> pgsOfDisk;
    private int highestServer;
    private int highestDisk;
    private int number;
    private long pgs;
    private long rowBytes;

    public Registrations(ClusterMap base, Terms terms) {
        this.base = base;
        this.terms = terms;
        for (Server server : base.serversEver()) {
            servers.put(server.getUuid(), server);
            highestServer = Math.max(highestServer, server.getId());
        }
        for (Disk disk : base.disksEver()) {
            disks.put(disk.getUuid(), disk);
            highestDisk = Math.max(highestDisk, disk.getId());
        }
    }

    /** What a registration adds to the change. */
    private record Part(
            Server server,
            boolean isNewProcess,
            Map<Integer, Disk> disks,
            Set<Integer> restarted) {}

    /** One more, unless the change is large enough: then it is not in it. */
    public boolean add(RegisterServerRequest wanted) {
        Part part = part(wanted);
        long morePgs =
                part.restarted.stream()
                        .filter(d -> !restarted.contains(d))
                        .mapToLong(d -> pgsOfDisk().getOrDefault(d, 0))
                        .sum();
        long moreBytes =
                part.server.getSerializedSize()
                        + part.disks.values().stream().mapToLong(Disk::getSerializedSize).sum();
        boolean fits = pgs + morePgs <= MAX_PGS && rowBytes + moreBytes <= MAX_ROW_BYTES;
        if (number > 0 && !fits) {
            return false;
        }
        number++;
        pgs += morePgs;
        rowBytes += moreBytes;
        @Nullable Server before = servers.put(part.server.getUuid(), part.server);
        if (!part.server.equals(before)) {
            changedServers.put(part.server.getId(), part.server);
            highestServer = Math.max(highestServer, part.server.getId());
        }
        part.disks.forEach((id, disk) -> {
            disks.put(disk.getUuid(), disk);
            changedDisks.put(id, disk);
            highestDisk = Math.max(highestDisk, id);
        });
        restarted.addAll(part.restarted);
        return true;
    }

    /** Whether the map, and what was added, has another process of the server, or none. */
    public boolean isNewProcess(RegisterServerRequest wanted) {
        return sameProcess(wanted) == null;
    }

    private @Nullable Server sameProcess(RegisterServerRequest wanted) {
        @Nullable Server before = servers.get(wanted.getServerUuid());
        return before != null && before.getIncarnation().equals(wanted.getIncarnation())
                ? before
                : null;
    }

    private Part part(RegisterServerRequest wanted) {
        @Nullable Server before = servers.get(wanted.getServerUuid());
        @Nullable Server sameProcess = sameProcess(wanted);
        int id = before != null ? before.getId() : highestServer + 1;
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
                                sameProcess != null
                                        ? sameProcess.getLeaseMillis()
                                        : terms.leaseMillis)
                        .setRecovers(terms.recoversInMap && wanted.getRecovers())
                        .setSplits(terms.splitsInMap && wanted.getSplits())
                        .setUnites(terms.unitesInMap && wanted.getUnites())
                        .build();
        Map<Integer, Disk> changed = new LinkedHashMap<>();
        Set<Integer> begunAnew = new HashSet<>();
        int newId = highestDisk;
        for (DiskReport report : wanted.getDisksList()) {
            @Nullable Disk known = disks.get(report.getUuid());
            if (known != null && known.getRemoved()) {
                continue; // what it holds may be old, and would be taken for the present
            }
            Disk.Builder disk =
                    known != null
                            ? known.toBuilder()
                            : Disk.newBuilder().setId(++newId).setUuid(report.getUuid());
            disk.setServer(id).setCapacityBytes(report.getCapacityBytes());
            if (terms.classesInMap) {
                disk.setDeviceClass(report.getDeviceClass());
            }
            if (known == null || !disk.build().equals(known)) {
                changed.put(disk.getId(), disk.build());
            }
            if (known != null && known.getServer() != id) {
                begunAnew.add(known.getId());
            }
        }
        if (before != null && sameProcess == null) {
            base.disks().stream()
                    .filter(d -> d.getServer() == id)
                    .forEach(d -> begunAnew.add(d.getId()));
        }
        return new Part(now, sameProcess == null, changed, begunAnew);
    }

    private Map<Integer, Integer> pgsOfDisk() {
        Map<Integer, Integer> counts = pgsOfDisk;
        if (counts == null) {
            counts = new HashMap<>();
            for (PlacementGroup pg : base.pgs()) {
                for (int disk : pg.getReplicasList()) {
                    counts.merge(disk, 1, Integer::sum);
                }
                for (int disk : pg.getInSyncList()) {
                    if (!pg.getReplicasList().contains(disk)) {
                        counts.merge(disk, 1, Integer::sum);
                    }
                }
            }
            pgsOfDisk = counts;
        }
        return counts;
    }

    /** The increment; null where the map says all that already. */
    public MapUpdate.@Nullable Builder update() {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        update.addAllServers(changedServers.values()).addAllDisks(changedDisks.values());
        if (!restarted.isEmpty()) {
            for (PlacementGroup pg : base.pgs()) {
                if (pg.getReplicasList().stream().anyMatch(restarted::contains)
                        || pg.getInSyncList().stream().anyMatch(restarted::contains)) {
                    update.addPgs(pg.toBuilder().setEpoch(base.epoch() + 1));
                }
            }
        }
        return update.getServersCount() + update.getDisksCount() + update.getPgsCount() == 0
                ? null
                : update;
    }
}
