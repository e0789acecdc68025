package io.cairn.dataserver;

import io.cairn.common.config.HostPort;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.DataServerStatusReply;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReportOrphansReply;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.common.rocks.DatabaseService;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.time.BootClock;
import io.cairn.common.time.NanoClock;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.ground.DirectMemory;
import io.cairn.dataserver.mdslink.ClusterIdentity;
import io.cairn.dataserver.mdslink.MapFollower;
import io.cairn.dataserver.mdslink.MdsLink;
import io.cairn.dataserver.mdslink.ServerIdentity;
import io.cairn.dataserver.mdslink.ServerRegistration;
import io.cairn.dataserver.pg.ClientLatency;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.pg.Holds;
import io.cairn.dataserver.pg.Lease;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.Membership;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.RecoveryPace;
import io.cairn.dataserver.pg.ServerParts;
import io.cairn.dataserver.replication.PgLimits;
import io.cairn.dataserver.replication.SpaceLedger;
import io.cairn.dataserver.scrub.InodeOwners;
import io.cairn.dataserver.scrub.Scrubs;
import io.cairn.dataserver.service.DataService;
import io.cairn.dataserver.service.Repairs;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One data server: its disks, its replicas, its port, and its link to the metadata service. {@link
 * #start} returns when it listens; it serves from when the metadata service has given it a map and
 * a lease. Any thread.
 */
public final class DataServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DataServer.class);

    private static final long DISK_TICK_NANOS = 50_000_000;
    private static final long QUARANTINE_NANOS = 10_000_000_000L;
    private static final long CLOSE_SECONDS = 10;

    private final IdentityDirectory state;
    private final Disks disks;
    private final ServerIdentity identity;
    private final RpcLoops loops;
    private final RpcClient peers;
    private final RpcClient mdsClient;
    private final RpcServer server;
    private final DataService service;
    private final Scrubs scrubs;
    private final ServerParts parts;
    private final PgLoops pgLoops;
    private final MapFollower maps;
    private final ServerRegistration registration;
    private final MdsLink mds;
    private final ServerGauges gauges;
    private volatile boolean closed;

    private DataServer(
            DataServerConfig config,
            IdentityDirectory state,
            Disks disks,
            Meters meters,
            Supplier<DataServerConfig> source,
            FatalHandler fatal)
            throws DataServerException {
        this.state = state;
        this.disks = disks;
        identity = new ServerIdentity(state);
        int threads = config.eventLoops() == 0 ? RpcLoops.defaultThreads() : config.eventLoops();
        loops = new RpcLoops(threads, "cairn-data", meters);
        peers = new RpcClient(loops, identity::hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        mdsClient = new RpcClient(loops, identity::mdsHello, this::checkMds, RpcOptions.DEFAULT);
        DataServerMeters recorded = new DataServerMeters(meters);
        Repairs repairs = new Repairs(recorded);
        parts =
                new ServerParts(
                        new ConcurrentHashMap<>(),
                        new ConcurrentHashMap<>(),
                        peers,
                        new SpaceLedger(config.reserve().bytes(), config.maxInFlight().bytes()),
                        new Lease(BootClock.INSTANCE),
                        new Holds(),
                        PgLimits.DEFAULT,
                        membership(),
                        repairs,
                        new ConcurrentHashMap<>(),
                        new RecoveryPace(
                                config.recovery(), recorded.waitedFor(), NanoClock.MONOTONIC),
                        clientsWait(config.recovery().clientLatency(), recorded),
                        this::needMap,
                        recorded.prepare(),
                        recorded.copied(),
                        recorded.resent(),
                        fatal);
        pgLoops = new PgLoops(loops, parts);
        DirectMemory memory = DirectMemory.ofProcess();
        maps = new MapFollower(pgLoops, parts, memory);
        scrubs = new Scrubs(pgLoops, disks.opened(), config.scrub(), owners(), recorded);
        service =
                new DataService(
                        pgLoops,
                        parts,
                        this::status,
                        new DatabaseService(() -> databases(disks.opened())),
                        scrubs,
                        repairs,
                        new DiskAdditions(source, disks, more())::answer,
                        recorded);
        disks.opened().forEach(service::repairDamageOf);
        try {
            server =
                    RpcServer.bind(
                            loops,
                            config.listen().toSocketAddress(),
                            identity::hello,
                            HelloPolicy.ACCEPT,
                            service,
                            RpcOptions.DEFAULT.withMaxClientBytes(memory.receiveBytes()));
        } catch (IOException e) {
            loops.close();
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
        registration =
                new ServerRegistration(
                        config,
                        identity,
                        disks.all(),
                        parts,
                        maps,
                        scrubs,
                        disks::removed,
                        this::address);
        mds =
                new MdsLink(
                        loops.owned().getFirst(),
                        mdsClient,
                        config.mds(),
                        config.heartbeat(),
                        parts.lease(),
                        registration);
        mdsClient.onPush(Method.MAP_PUSH_VALUE, (from, head) -> maps.pushed(head));
        mdsClient.onPush(Method.MAP_PART_VALUE, (from, head) -> maps.partPushed(head));
        gauges = new ServerGauges(meters, disks.all(), pgLoops, parts, maps, scrubs);
        gauges.register();
    }

    private static BooleanSupplier clientsWait(Duration limit, DataServerMeters recorded) {
        NanoClock clock = NanoClock.MONOTONIC;
        ClientLatency latency = new ClientLatency(limit, recorded.waitedFor(), clock.nanos());
        return () -> latency.isTooLong(clock.nanos());
    }

    /**
     * Finds out which cluster this is, opens the disks (which may take as long as their recovery
     * does), listens, and begins to register. A disk that does not open is out, the others serve.
     *
     * @throws DataServerException with one line for the administrator
     */
    public static DataServer start(DataServerConfig config, DiskOpener opener, Meters meters)
            throws DataServerException {
        return start(config, () -> config, opener, meters);
    }

    /**
     * As {@link #start(DataServerConfig, DiskOpener, Meters)}.
     *
     * @param source reads the configuration again: a disk that it has got since is added when an
     *     administrator wants it
     */
    public static DataServer start(
            DataServerConfig config,
            Supplier<DataServerConfig> source,
            DiskOpener opener,
            Meters meters)
            throws DataServerException {
        return start(config, source, opener, meters, FatalHandler.halt());
    }

    /**
     * As {@link #start(DataServerConfig, DiskOpener, Meters)}.
     *
     * @param fatal told when no disk is left, or an invariant does not hold: ends the process
     */
    static DataServer start(
            DataServerConfig config,
            Supplier<DataServerConfig> source,
            DiskOpener opener,
            Meters meters,
            FatalHandler fatal)
            throws DataServerException {
        if (config.mds().isEmpty()) {
            throw new DataServerException("no metadata server is configured: set 'mds'");
        }
        IdentityDirectory state = openState(config);
        try {
            UUID cluster = ClusterIdentity.find(config, state);
            Disks disks = Disks.open(config, cluster, opener, meters, fatal);
            try {
                DataServer server = new DataServer(config, state, disks, meters, source, fatal);
                server.begin();
                return server;
            } catch (DataServerException | RuntimeException e) {
                disks.close();
                throw e;
            }
        } catch (DataServerException | RuntimeException e) {
            state.close();
            throw e;
        }
    }

    private static IdentityDirectory openState(DataServerConfig config) throws DataServerException {
        try {
            return IdentityDirectory.open(config.stateDir());
        } catch (DiskOpenException e) {
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
    }

    private void begin() {
        pgLoops.start();
        loops.owned()
                .getFirst()
                .every(
                        DISK_TICK_NANOS,
                        "The measurement of disks",
                        () -> disks.opened().forEach(LocalDisk::measure));
        loops.owned()
                .getFirst()
                .every(
                        QUARANTINE_NANOS,
                        "The look at blocks in quarantine",
                        () -> scrubs.lookAtQuarantine(service::repair));
        disks.onFailure(pgLoops::diskOut);
        mds.start();
        scrubs.start();
        LOG.info(
                "Data server listens on {} with {} of {} disks",
                address(),
                disks.opened().size(),
                disks.all().size());
    }

    /** The address it listens on, with the port that it got. */
    public HostPort address() {
        InetSocketAddress bound = server.localAddress();
        return new HostPort(bound.getAddress().getHostAddress(), bound.getPort());
    }

    /**
     * Completes when the metadata service has accepted this server, with a {@link
     * DataServerException} when it never will.
     */
    public CompletableFuture<DataServer> registered() {
        return registration.registered().thenApply(done -> this);
    }

    /**
     * Completed when this server cannot be a part of the cluster and repeating would not help, such
     * as with a metadata service of another cluster. Who started it should close it and say why.
     */
    public CompletableFuture<DataServerException> failure() {
        return registration.failure();
    }

    private static List<RocksDatabase> databases(List<LocalDisk> disks) {
        return disks.stream().flatMap(disk -> disk.store().databases().stream()).toList();
    }

    private InodeOwners owners() {
        return new InodeOwners() {
            @Override
            public CompletableFuture<CheckInodesReply> check(CheckInodesRequest request) {
                return mds.question(Method.CHECK_INODES, request, CheckInodesReply.parser());
            }

            @Override
            public CompletableFuture<ReportOrphansReply> report(ReportOrphansRequest request) {
                return mds.question(Method.REPORT_ORPHANS, request, ReportOrphansReply.parser());
            }

            @Override
            public long mapEpoch() {
                return pgLoops.confirmedEpoch();
            }
        };
    }

    private void needMap() {
        mds.needMap();
    }

    /** What has to know of a disk that is added. */
    private DiskAdditions.Host more() {
        return new DiskAdditions.Host() {
            @Override
            public void opened(ConfiguredDisk disk) {
                LocalDisk local = Objects.requireNonNull(disk.disk());
                service.repairDamageOf(local);
                scrubs.add(local);
                gauges.add(disk);
            }

            @Override
            public CompletableFuture<Void> register() {
                return mds.registerAgain().thenRun(maps::disksAdded);
            }
        };
    }

    private Membership membership() {
        return new Membership() {
            @Override
            public void askToJoin(int pg, long pgEpoch, int disk) {
                mds.askToJoin(pg, pgEpoch, disk);
            }

            @Override
            public void memberSilent(int pg, long pgEpoch, int disk) {
                mds.memberSilent(pg, pgEpoch, disk);
            }
        };
    }

    /** Called by connections to the metadata service. */
    private @Nullable String checkMds(Hello hello, InetSocketAddress address) {
        try {
            identity.check(hello);
            return null;
        } catch (DataServerException e) {
            mds.stop();
            registration.failed(e);
            return e.getMessage();
        }
    }

    private DataServerStatusReply status() {
        return DataServerStatusReply.newBuilder().setServing(parts.lease().valid()).build();
    }

    /**
     * Stops serving and closes the disks; what was acknowledged is durable already. Requests in
     * flight go unanswered. Not on an event loop.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        mds.stop();
        server.close();
        scrubs.close();
        try {
            if (!pgLoops.close(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("An event loop did not end in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        disks.close();
        mdsClient.close();
        peers.close();
        loops.close();
        state.close();
        LOG.info("Data server stopped");
    }
}
