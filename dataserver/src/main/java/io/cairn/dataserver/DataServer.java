package io.cairn.dataserver;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.config.HostPort;
import io.cairn.common.data.BlockCrc;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DataServerStatusReply;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoop;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.time.BootClock;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.StateDirectory;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.ground.DataServerMeter;
import io.cairn.dataserver.mdslink.ClusterIdentity;
import io.cairn.dataserver.mdslink.MdsLink;
import io.cairn.dataserver.pg.Lease;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.ServerParts;
import io.cairn.dataserver.replication.PgLimits;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.replication.SpaceLedger;
import io.cairn.dataserver.service.DataService;
import io.cairn.dataserver.service.Repairs;
import io.cairn.dataserver.store.DiskStore;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One data server: its disks, its replicas, its port, and its link to the metadata service. {@link
 * #start} returns when it listens; it serves from when the metadata service has given it a map and
 * a lease. Any thread.
 */
public final class DataServer implements AutoCloseable, MdsLink.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(DataServer.class);

    private static final long DISK_TICK_NANOS = 50_000_000;
    private static final long CLOSE_SECONDS = 10;

    private final DataServerConfig config;
    private final StateDirectory state;
    private final List<LocalDisk> disks;
    private final ByteString incarnation = StateDirectory.randomId();
    private final RpcLoops loops;
    private final RpcClient peers;
    private final RpcClient mdsClient;
    private final RpcServer server;
    private final ExecutorService blocking;
    private final Lease lease;
    private final ServerParts parts;
    private final List<PgLoop> pgLoops = new ArrayList<>();
    private final MdsLink mds;
    private final CompletableFuture<DataServer> registered = new CompletableFuture<>();
    private final CompletableFuture<DataServerException> failure = new CompletableFuture<>();
    private final Object mapLock = new Object();
    private volatile ClusterMap map = ClusterMap.EMPTY;
    private volatile int serverId;
    private volatile boolean closed;

    private DataServer(
            DataServerConfig config, StateDirectory state, List<LocalDisk> disks, Meters meters)
            throws DataServerException {
        this.config = config;
        this.state = state;
        this.disks = disks;
        int threads = config.eventLoops() == 0 ? RpcLoops.defaultThreads() : config.eventLoops();
        loops = new RpcLoops(threads, "cairn-data", meters);
        peers = new RpcClient(loops, this::hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        mdsClient = new RpcClient(loops, this::mdsHello, this::checkMds, RpcOptions.DEFAULT);
        blocking = Executors.newFixedThreadPool(2, DataServer::thread);
        lease = new Lease(BootClock.INSTANCE);
        Map<Integer, LocalDisk> byId = new ConcurrentHashMap<>();
        parts =
                new ServerParts(
                        byId,
                        peers,
                        new SpaceLedger(config.reserve().bytes(), config.maxInFlight().bytes()),
                        lease,
                        PgLimits.DEFAULT,
                        blocking,
                        this::needMap,
                        meters.timer(DataServerMeter.PREPARE),
                        FatalHandler.halt());
        for (RpcLoop loop : loops.owned()) {
            pgLoops.add(new PgLoop(loop, parts));
        }
        Repairs repairs = new Repairs(meters);
        disks.forEach(d -> repairDamageOf(d, repairs));
        try {
            server =
                    RpcServer.bind(
                            loops,
                            config.listen().toSocketAddress(),
                            this::hello,
                            HelloPolicy.ACCEPT,
                            new DataService(this::owner, parts, this::status, repairs, meters),
                            RpcOptions.DEFAULT);
        } catch (IOException e) {
            blocking.shutdown();
            loops.close();
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
        mds =
                new MdsLink(
                        loops.owned().getFirst(),
                        mdsClient,
                        config.mds().stream().map(HostPort::toSocketAddress).toList(),
                        config.heartbeat(),
                        lease,
                        this);
        mdsClient.onPush(Method.MAP_PUSH_VALUE, (from, head) -> mapPushed(head));
        new ServerGauges(meters, disks, this::stateCount, parts, this::mapEpoch).register();
    }

    /**
     * Finds out which cluster this is, opens the disks (which may take as long as their recovery
     * does), listens, and begins to register.
     *
     * @throws DataServerException with one line for the administrator
     */
    public static DataServer start(DataServerConfig config, DiskOpener opener, Meters meters)
            throws DataServerException {
        if (config.mds().isEmpty()) {
            throw new DataServerException("no metadata server is configured: set 'mds'");
        }
        StateDirectory state = openState(config);
        List<LocalDisk> disks = new ArrayList<>();
        try {
            UUID cluster = ClusterIdentity.find(config, state);
            for (DataServerConfig.DiskTable table : config.disk()) {
                disks.add(new LocalDisk(opener.open(table, cluster)));
            }
            DataServer server = new DataServer(config, state, List.copyOf(disks), meters);
            server.begin();
            return server;
        } catch (DataServerException | RuntimeException e) {
            disks.forEach(d -> d.store().close());
            state.close();
            throw e;
        }
    }

    private static StateDirectory openState(DataServerConfig config) throws DataServerException {
        try {
            return StateDirectory.open(config.stateDir());
        } catch (DiskOpenException e) {
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
    }

    private void begin() {
        pgLoops.forEach(PgLoop::start);
        loops.owned().getFirst().every(DISK_TICK_NANOS, () -> disks.forEach(LocalDisk::measure));
        mds.start();
        LOG.info("Data server listens on {} with {} disks", address(), disks.size());
    }

    private void repairDamageOf(LocalDisk disk, Repairs repairs) {
        disk.store()
                .onDamage((pg, inode, chunk, block) ->
                        repairs.found(
                                owner(pg),
                                disk.id(),
                                pg,
                                inode,
                                chunk,
                                block * BlockCrc.BLOCK_BYTES,
                                BlockCrc.BLOCK_BYTES));
    }

    private static Thread thread(Runnable task) {
        return Thread.ofPlatform().daemon().name("cairn-data-blocking").unstarted(task);
    }

    /** Where it really listens. */
    public HostPort address() {
        InetSocketAddress bound = server.localAddress();
        return new HostPort(bound.getAddress().getHostAddress(), bound.getPort());
    }

    private String advertised() {
        return config.advertise().orElseGet(this::address).toString();
    }

    /**
     * Completes when the metadata service has taken this server, with a {@link DataServerException}
     * when it never will.
     */
    public CompletableFuture<DataServer> registered() {
        return registered.copy();
    }

    /**
     * Completed when this server cannot be a part of the cluster and repeating would not help, such
     * as with a metadata service of another cluster. Who started it should close it and say why.
     */
    public CompletableFuture<DataServerException> failure() {
        return failure.copy();
    }

    /** Number of replicas in a state. */
    public int stateCount(PgState pgState) {
        return pgLoops.stream().mapToInt(l -> l.stateCount(pgState)).sum();
    }

    private PgLoop owner(int pg) {
        return pgLoops.get((pg & 0xFFFF) % pgLoops.size());
    }

    private void needMap() {
        mds.needMap();
    }

    // ---- handshakes ---------------------------------------------------------------------------

    private Hello hello() {
        return mdsHello().toBuilder().setClusterId(state.clusterId()).build();
    }

    /**
     * Without the cluster id, so that the other side's can be judged here, with a clear message.
     */
    private Hello mdsHello() {
        return Hello.newBuilder()
                .setRole(Role.ROLE_DATA_SERVER)
                .setId(serverId)
                .setIncarnation(incarnation)
                .build();
    }

    private @Nullable String checkMds(Hello hello, InetSocketAddress address) {
        if (hello.getClusterId().isEmpty() || state.clusterId().isEmpty()) {
            return null;
        }
        try {
            ClusterIdentity.join(state, hello.getClusterId());
            return null;
        } catch (DataServerException e) {
            mds.stop();
            failed(e);
            return e.getMessage();
        }
    }

    // ---- the metadata service -----------------------------------------------------------------

    @Override
    public RegisterServerRequest registration() {
        RegisterServerRequest.Builder request =
                RegisterServerRequest.newBuilder()
                        .setServerUuid(state.serverUuid())
                        .setIncarnation(incarnation)
                        .setAddress(advertised())
                        .setHost(config.host())
                        .setRack(config.rack());
        for (LocalDisk disk : disks) {
            request.addDisks(
                    DiskReport.newBuilder()
                            .setUuid(disk.uuid())
                            .setCapacityBytes(disk.store().usage().capacityBytes()));
        }
        return request.build();
    }

    @Override
    public void registered(RegisterServerReply reply) throws DataServerException {
        if (reply.getDisksCount() != disks.size()) {
            throw new DataServerException(
                    "the metadata service answered for %d disks, this server has %d"
                            .formatted(reply.getDisksCount(), disks.size()));
        }
        ClusterIdentity.join(state, reply.getMap().getClusterId());
        serverId = reply.getServer();
        for (int i = 0; i < disks.size(); i++) {
            disks.get(i).registered(reply.getDisks(i));
            parts.disks().put(reply.getDisks(i), disks.get(i));
        }
        mapUpdated(reply.getMap());
        if (registered.complete(this)) {
            LOG.info("Registered as server {}, disks {}", serverId, reply.getDisksList());
        }
    }

    @Override
    public void failed(DataServerException cause) {
        registered.completeExceptionally(cause);
        failure.complete(cause);
    }

    @Override
    public HeartbeatRequest heartbeat() {
        long confirmed = Long.MAX_VALUE;
        for (PgLoop loop : pgLoops) {
            confirmed = Math.min(confirmed, loop.confirmedEpoch());
        }
        return HeartbeatRequest.newBuilder()
                .setServer(serverId)
                .setIncarnation(incarnation)
                .setMapEpoch(confirmed)
                .addAllDisks(diskStatus())
                .build();
    }

    private List<DiskStatus> diskStatus() {
        List<DiskStatus> all = new ArrayList<>();
        for (LocalDisk disk : disks) {
            DiskStore.DiskUsage usage = disk.store().usage();
            all.add(
                    DiskStatus.newBuilder()
                            .setDisk(disk.id())
                            .setCapacityBytes(usage.capacityBytes())
                            .setUsedBytes(usage.usedBytes())
                            .setFreeBytes(usage.freeBytes())
                            .setWalUsedBytes(usage.walUsedBytes())
                            .setWalCapacityBytes(usage.walCapacityBytes())
                            .build());
        }
        return all;
    }

    private DataServerStatusReply status() {
        int total = 0;
        for (PgState s : PgState.values()) {
            total += s == PgState.IDLE ? 0 : stateCount(s);
        }
        int damaged = stateCount(PgState.DAMAGED);
        DataServerStatusReply.Builder reply =
                DataServerStatusReply.newBuilder()
                        .setServer(serverId)
                        .setIncarnation(incarnation)
                        .setMapEpoch(map.epoch())
                        .setServing(lease.valid())
                        .addAllDisks(diskStatus())
                        .setPgsActive(stateCount(PgState.ACTIVE) + stateCount(PgState.BACKUP))
                        .setPgsTotal(total);
        if (damaged > 0) {
            reply.addWarnings(damaged + " placement groups lost operations and are out of service");
        }
        return reply.build();
    }

    // ---- map ----------------------------------------------------------------------------------

    @Override
    public long mapEpoch() {
        return map.epoch();
    }

    private void mapPushed(ByteBuf head) {
        try {
            mapUpdated(MapUpdate.parseFrom(new ByteBufInputStream(head)));
        } catch (InvalidProtocolBufferException e) {
            LOG.warn("The metadata service pushed something that is no map: {}", e.getMessage());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void mapUpdated(MapUpdate update) {
        synchronized (mapLock) {
            if (parts.disks().isEmpty() || update.getEpoch() <= map.epoch()) {
                return;
            }
            if (update.getBaseEpoch() > map.epoch()) {
                needMap();
                return;
            }
            ClusterMap newer = applied(update);
            if (newer == null) {
                return;
            }
            List<Long> forgotten = List.copyOf(update.getForgottenSessionsList());
            map = newer;
            shareLogs(newer);
            for (PgLoop loop : pgLoops) {
                loop.execute(() -> loop.onMap(newer, pg -> owner(pg) == loop, forgotten));
            }
        }
    }

    /** Disks of other servers are taken to have logs like those here. */
    private void shareLogs(ClusterMap newer) {
        long smallest = Long.MAX_VALUE;
        for (LocalDisk disk : disks) {
            smallest = Math.min(smallest, disk.store().usage().walCapacityBytes());
        }
        parts.ledger().shareOfLog(smallest, newer.servers().size());
    }

    private @Nullable ClusterMap applied(MapUpdate update) {
        try {
            return map.apply(update);
        } catch (IllegalArgumentException e) {
            LOG.error("The metadata service sent a map that is not valid: {}", e.getMessage());
            return null;
        }
    }

    // ---- end ----------------------------------------------------------------------------------

    /**
     * Stops serving and closes the disks; what was acknowledged is durable anyhow. Requests under
     * way go unanswered. Not on an event loop.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        mds.stop();
        server.close();
        CountDownLatch ended = new CountDownLatch(pgLoops.size());
        for (PgLoop loop : pgLoops) {
            loop.execute(() -> {
                loop.close();
                ended.countDown();
            });
        }
        try {
            if (!ended.await(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("An event loop did not end in time");
            }
            blocking.shutdown();
            if (!blocking.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("A store call did not end in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        disks.forEach(d -> d.store().close());
        mdsClient.close();
        peers.close();
        loops.close();
        state.close();
        LOG.info("Data server stopped");
    }
}
