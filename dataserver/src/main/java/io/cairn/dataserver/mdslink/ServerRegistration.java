package io.cairn.dataserver.mdslink;

import io.cairn.common.config.HostPort;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.ServerParts;
import io.cairn.dataserver.scrub.Scrubs;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this server reports of itself and its disks to the metadata service, and what follows from
 * the answer: ids and a map, or the end of the server. {@link MdsLink} calls it on its loop; public
 * methods may be called by any thread.
 */
public final class ServerRegistration implements MdsLink.Reporter {
    private static final Logger LOG = LoggerFactory.getLogger(ServerRegistration.class);

    private final DataServerConfig config;
    private final ServerIdentity identity;
    private final List<ConfiguredDisk> configured;

    /** Those that the newest request names, in its order. */
    private List<LocalDisk> asked = List.of();

    /** The increments that were to bring the map up to date did not. */
    private boolean wantsWholeMap;

    private final ServerParts parts;
    private final MapFollower maps;
    private final Scrubs scrubs;
    private final Removed removed;
    private final Supplier<HostPort> address;
    private final CompletableFuture<Void> registered = new CompletableFuture<>();
    private final CompletableFuture<DataServerException> failure = new CompletableFuture<>();

    /** What becomes of a disk that the cluster has removed. */
    @FunctionalInterface
    public interface Removed {
        /**
         * @throws DataServerException when it was the last disk that served
         */
        void refuse(ConfiguredDisk disk) throws DataServerException;
    }

    /**
     * @param configured all disks, opened or not, in the order of the configuration; may get more
     * @param removed takes out a disk that the cluster has removed
     * @param address where this server listens
     */
    public ServerRegistration(
            DataServerConfig config,
            ServerIdentity identity,
            List<ConfiguredDisk> configured,
            ServerParts parts,
            MapFollower maps,
            Scrubs scrubs,
            Removed removed,
            Supplier<HostPort> address) {
        this.config = config;
        this.identity = identity;
        this.configured = configured;
        this.parts = parts;
        this.maps = maps;
        this.scrubs = scrubs;
        this.removed = removed;
        this.address = address;
    }

    /**
     * Completes when the metadata service has accepted this server, with a {@link
     * DataServerException} when it never will.
     */
    public CompletableFuture<Void> registered() {
        return registered.copy();
    }

    /** Completed when this server cannot be part of the cluster and repeating would not help. */
    public CompletableFuture<DataServerException> failure() {
        return failure.copy();
    }

    /** Who waits for it is told. */
    @Override
    public void failed(DataServerException cause) {
        registered.completeExceptionally(cause);
        failure.complete(cause);
    }

    @Override
    public RegisterServerRequest request() {
        RegisterServerRequest.Builder request =
                RegisterServerRequest.newBuilder()
                        .setServerUuid(identity.serverUuid())
                        .setIncarnation(identity.incarnation())
                        .setAddress(config.advertise().orElseGet(address).toString())
                        .setHost(config.host())
                        .setRack(config.rack())
                        .setRecovers(true)
                        .setSplits(true)
                        .setUnites(true)
                        .setMapEpoch(wantsWholeMap ? 0 : maps.epoch());
        asked = ConfiguredDisk.opened(configured);
        for (LocalDisk disk : asked) {
            request.addDisks(
                    DiskReport.newBuilder()
                            .setUuid(disk.uuid())
                            .setCapacityBytes(disk.store().usage().capacityBytes())
                            .setDeviceClass(disk.deviceClass()));
        }
        return request.build();
    }

    @Override
    public boolean registered(RegisterServerReply reply) throws DataServerException {
        wantsWholeMap = !reply.hasMap() && maps.epoch() < reply.getMapEpoch();
        if (wantsWholeMap) {
            LOG.info(
                    "What led from map {} to {} was not received: asking for all of it",
                    maps.epoch(),
                    reply.getMapEpoch());
            return false;
        }
        if (reply.getDisksCount() != asked.size()) {
            throw new DataServerException(
                    "the metadata service answered for %d disks, this server has %d"
                            .formatted(reply.getDisksCount(), asked.size()));
        }
        if (reply.hasMap()) {
            identity.join(reply.getMap().getClusterId());
        }
        identity.registered(reply.getServer());
        for (int i = 0; i < asked.size(); i++) {
            registered(asked.get(i), reply.getDisks(i));
        }
        Collection<Disk> inMap = reply.hasMap() ? reply.getMap().getDisksList() : maps.disksEver();
        configured.forEach(d -> d.registered(inMap));
        for (Disk disk : inMap) {
            if (!disk.getRemoved()
                    && disk.getServer() == reply.getServer()
                    && !parts.disks().containsKey(disk.getId())) {
                parts.lost().put(disk.getId(), reply.getServer());
            }
        }
        if (reply.hasMap()) {
            maps.update(reply.getMap());
        }
        if (registered.complete(null)) {
            LOG.info("Registered as server {}, disks {}", reply.getServer(), reply.getDisksList());
        }
        return true;
    }

    private void registered(LocalDisk disk, int id) throws DataServerException {
        if (id == 0) {
            for (ConfiguredDisk refused : configured) {
                if (refused.disk() == disk) {
                    removed.refuse(refused);
                }
            }
        } else {
            disk.registered(id);
            parts.disks().put(id, disk);
        }
    }

    @Override
    public HeartbeatRequest heartbeat() {
        HeartbeatRequest.Builder beat =
                HeartbeatRequest.newBuilder()
                        .setServer(identity.serverId())
                        .setIncarnation(identity.incarnation())
                        .setMapEpoch(maps.confirmedEpoch())
                        .addAllDisks(configured.stream().map(ConfiguredDisk::status).toList())
                        .setScrub(scrubs.report());
        PgReport pgs = maps.pgReport();
        if (pgs != null) {
            beat.setPgs(pgs);
        }
        return beat.build();
    }

    @Override
    public void answered(HeartbeatReply reply) {
        scrubs.hold(reply.getNoScrub());
        parts.holds().said(reply.getClientsPaused(), reply.getRecoveryPaused());
        parts.pace()
                .limit(reply.getRecoveryBytesPerSecond(), reply.getRecoveryOperationsPerSecond());
    }

    @Override
    public long mapEpoch() {
        return maps.epoch();
    }

    @Override
    public List<String> metadataServers() {
        return maps.metadataServers();
    }

    @Override
    public long appliedEpoch() {
        return maps.confirmedEpoch();
    }
}
