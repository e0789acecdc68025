package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import io.cairn.common.config.HostPort;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Role;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.background.TruncationWaits;
import io.cairn.mds.background.ForgottenSessions;
import io.cairn.mds.background.Reaper;
import io.cairn.mds.background.Truncator;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.DataServers;
import io.cairn.mds.cluster.MapChanges;
import io.cairn.mds.cluster.PgCalls;
import io.cairn.mds.cluster.PgTables;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.LeaseKeeper;
import io.cairn.mds.metrics.MdsMetrics;
import io.cairn.mds.namespace.MetaState;
import io.cairn.mds.proto.FormatEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.raft.MemberDirectory;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig;
import io.cairn.mds.session.ClientSessions;
import io.cairn.mds.session.Mutations;
import io.cairn.mds.store.MetaStateConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A metadata server: one member of the group. Started and closed by one thread; works on its own
 * threads in between.
 */
public final class MdsServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MdsServer.class);
    private static final int POOL = 1;
    private static final int ROOT_MODE = 0040755;
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long ORDER_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Ends the process, or the test that stands for it. */
    @FunctionalInterface
    public interface FatalHandler {
        /** The server must not go on. Called at most once, on any thread; must return at once. */
        void fatal(String reason, Throwable cause);
    }

    private final MdsConfig config;
    private final MemberDirectory directory;
    private final MetaState state;
    private final RpcLoops loops;
    private final RpcServer rpc;
    private final RpcClient client;
    private final Control control;
    private final EntryLog entries = new EntryLog();
    private final Leadership leadership;
    private final Mutations mutations;
    private final ClientSessions sessions;
    private final DataServers dataServers;
    private final PgTables pgTables;
    private final ForgottenSessions forgotten;
    private final MapChanges changes;
    private final Reaper reaper;
    private final Truncator truncator;
    private final TruncationWaits truncationWaits;
    private final LeaseKeeper leases;
    private final MetaLog log;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Starts; returns when it listens, which is before the group has a leader.
     *
     * @param memory shared by all databases of the process
     * @param clock CLOCK_BOOTTIME, except in tests
     * @throws IOException with one line for the administrator
     */
    public static MdsServer start(
            MdsConfig config,
            RocksMemory memory,
            Meters meters,
            NanoClock clock,
            FatalHandler fatal)
            throws IOException {
        MemberDirectory directory = MemberDirectory.open(logConfig(config));
        try {
            Failure failure = new Failure(config.memberId(), fatal);
            MetaState state =
                    MetaState.open(
                            directory.state(),
                            new MetaStateConfig(
                                    config.rocksdb(),
                                    memory,
                                    meters,
                                    why -> failure.failed(why, new IOException(why)),
                                    config.cachedInodes()));
            try {
                return new MdsServer(config, directory, state, meters, clock, failure);
            } catch (IOException | RuntimeException e) {
                state.close();
                throw e;
            }
        } catch (IOException | RuntimeException e) {
            directory.close();
            throw e;
        }
    }

    private MdsServer(
            MdsConfig config,
            MemberDirectory directory,
            MetaState state,
            Meters meters,
            NanoClock clock,
            Failure failure)
            throws IOException {
        this.config = config;
        this.directory = directory;
        this.state = state;
        MdsMetrics metrics = new MdsMetrics(meters);
        long leaseNanos = config.raft().leaderLease().toNanos();
        control = new Control("mds-" + config.memberId() + "-control", failure, metrics);
        loops =
                new RpcLoops(
                        RpcLoops.defaultThreads(), "mds-" + config.memberId() + "-rpc", meters);
        client = new RpcClient(loops, this::hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        leadership =
                new Leadership(
                        config.memberId(),
                        members(config),
                        leaseNanos,
                        clock,
                        control,
                        entries,
                        failure);
        CurrentMap map = new CurrentMap(state, leadership, control);
        mutations = new Mutations(leadership, entries, state, control, clock, metrics);
        changes = new MapChanges(entries, state, control);
        pgTables = new PgTables(changes, control, config.dataServers().bootstrapDisks());
        dataServers =
                new DataServers(
                        leadership,
                        map,
                        changes,
                        pgTables,
                        clock,
                        config.dataServers().lease().toNanos());
        sessions =
                new ClientSessions(
                        leadership,
                        entries,
                        state,
                        mutations.sessions(),
                        map,
                        dataServers,
                        control,
                        clock,
                        new ClientSessions.SessionTimes(
                                config.sessions().renewInterval().toNanos(),
                                config.sessions().expiry().toNanos()),
                        metrics);
        forgotten =
                new ForgottenSessions(
                        state, map, changes, config.sessions().expiry().toNanos(), clock);
        PgCalls calls = new PgCalls(map, client, control);
        reaper =
                new Reaper(
                        entries,
                        state,
                        state,
                        calls,
                        map,
                        control,
                        clock,
                        metrics,
                        config.background().reaperInodesPerSecond());
        truncator = new Truncator(entries, state, calls, map, control, metrics);
        truncationWaits =
                new TruncationWaits(
                        leadership, state, mutations.sessions(), truncator, control, metrics);
        leases = new LeaseKeeper(leadership, client, control, clock, leaseNanos);
        Status status =
                new Status(
                        leadership,
                        entries,
                        state,
                        state,
                        mutations.sessions(),
                        map,
                        dataServers,
                        control,
                        clock,
                        config.dataServers().bootstrapDisks(),
                        this::databaseWarnings);
        state.addListener(map);
        state.addListener(mutations.sessions());
        state.addListener(truncator);
        state.addListener(truncationWaits); // after the sessions
        @Nullable MetaLog started = null;
        try {
            started = MetaLog.start(logConfig(config), directory, state, leadership);
            entries.attach(started);
            log = started;
            rpc =
                    RpcServer.bind(
                            loops,
                            config.listen().orElse(config.self().address()).toSocketAddress(),
                            this::hello,
                            HelloPolicy.ACCEPT,
                            new MdsHandler(
                                    leadership,
                                    new Queries(leadership, state, status),
                                    truncationWaits,
                                    mutations,
                                    sessions,
                                    dataServers,
                                    status,
                                    control,
                                    metrics),
                            RpcOptions.DEFAULT);
        } catch (IOException | RuntimeException e) {
            control.close();
            if (started != null) {
                started.close();
            }
            client.close();
            loops.close();
            throw e;
        }
        map.attach(rpc, mutations.sessions()::peers);
        new MdsGauges(meters, leadership, state, map, reaper, truncationWaits, log).register();
        leadership.attach(new InOffice());
        LOG.info(
                "metadata server {} of cluster {} listens on {}",
                config.memberId(),
                config.clusterId(),
                rpc.localAddress());
    }

    /** Where clients reach it. */
    public InetSocketAddress address() {
        return rpc.localAddress();
    }

    /** Whether this member leads and may answer at this moment. */
    public boolean serving() {
        return leadership.refusal() == null;
    }

    /** Stops cleanly. Idempotent. */
    @Override
    public void close() throws IOException {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        rpc.close();
        control.close();
        try {
            log.close();
        } finally {
            client.close();
            loops.close();
            state.close();
            directory.close();
        }
    }

    // ---- office -------------------------------------------------------------

    /** What a leader does; on the control thread. */
    private final class InOffice implements Leadership.Duties {
        private @Nullable ScheduledFuture<?> ticks;

        @Override
        public void begin(Leadership.Term term) {
            end();
            leases.begin(term);
            if (state.isFormatted()) {
                takeUp(term);
            } else {
                format(term);
            }
        }

        private void format(Leadership.Term term) {
            var _ =
                    entries.submit(LogEntry.newBuilder().setFormat(formatEntry()))
                            .whenCompleteAsync(
                                    (reply, failure) -> {
                                        if (!term.equals(leadership.term())) {
                                            return;
                                        }
                                        if (state.isFormatted()) {
                                            LOG.info(
                                                    "formatted the new cluster {}",
                                                    config.clusterId());
                                            takeUp(term);
                                            return;
                                        }
                                        LOG.warn(
                                                "the new cluster could not be formatted yet: {}",
                                                failure == null ? reply.getDetail() : "no commit",
                                                failure);
                                        var _ = control.after(RETRY_NANOS, () -> formatAgain(term));
                                    },
                                    control);
        }

        private void formatAgain(Leadership.Term term) {
            if (term.equals(leadership.term())) {
                format(term);
            }
        }

        private void takeUp(Leadership.Term term) {
            dataServers.begin(term);
            mutations.begin();
            sessions.begin();
            forgotten.begin();
            reaper.begin(term);
            truncator.begin();
            pgTables.begin();
            ticks = control.every(TICK_NANOS, this::tick);
            leadership.open(term);
        }

        private void tick() {
            mutations.expire(ORDER_WAIT_NANOS);
            truncationWaits.tick();
            if (leadership.refusal() == null) {
                dataServers.tick();
                sessions.tick();
                forgotten.tick();
            }
        }

        @Override
        public void end() {
            leases.end();
            reaper.end();
            truncator.end();
            truncationWaits.end();
            pgTables.end();
            changes.end();
            mutations.end();
            @Nullable ScheduledFuture<?> running = ticks;
            if (running != null) {
                running.cancel(false);
                ticks = null;
            }
        }
    }

    private List<String> databaseWarnings() {
        return state.spilledLevels().stream()
                .map(level ->
                        "level "
                                + level
                                + " of the metadata database does not fit on the fast"
                                + " device")
                .toList();
    }

    /** Passes on the first failure that the process must not survive. */
    private static final class Failure implements Leadership.FailureHandler {
        private final int member;
        private final FatalHandler fatal;
        private final AtomicBoolean failed = new AtomicBoolean();

        Failure(int member, FatalHandler fatal) {
            this.member = member;
            this.fatal = fatal;
        }

        @Override
        public void failed(String reason, Throwable cause) {
            if (failed.compareAndSet(false, true)) {
                LOG.error("metadata server {} must stop: {}", member, reason, cause);
                fatal.fatal(reason, cause);
            }
        }
    }

    // ---- from the configuration ---------------------------------------------

    private Hello hello() {
        return Hello.newBuilder()
                .setClusterId(clusterId(config.clusterUuid()))
                .setRole(Role.ROLE_MDS)
                .setId(config.memberId())
                .build();
    }

    private FormatEntry formatEntry() {
        MdsConfig.Pool pool = config.pool();
        int chunk = (int) pool.chunkSize().bytes();
        return FormatEntry.newBuilder()
                .setClusterId(clusterId(config.clusterUuid()))
                .setPool(
                        Pool.newBuilder()
                                .setId(POOL)
                                .setName("default")
                                .setSize(pool.size())
                                .setMinSize(pool.minSize())
                                .setPgCount(pool.pgCount())
                                .setFailureDomain(
                                        FailureDomain.valueOf(
                                                "FAILURE_DOMAIN_" + pool.failureDomain())))
                .setLayout(
                        FileLayout.newBuilder()
                                .setPool(POOL)
                                .setStripeUnit(chunk)
                                .setStripeCount(1)
                                .setChunkSize(chunk))
                .setRootMode(ROOT_MODE)
                .build();
    }

    private static ByteString clusterId(UUID id) {
        return ByteString.copyFrom(
                ByteBuffer.allocate(16)
                        .putLong(id.getMostSignificantBits())
                        .putLong(id.getLeastSignificantBits())
                        .flip());
    }

    private static List<MdsMember> members(MdsConfig config) {
        return config.members().stream()
                .map(m ->
                        MdsMember.newBuilder()
                                .setId(m.id())
                                .setAddress(text(m.address()))
                                .setRaftAddress(text(m.raftAddress()))
                                .build())
                .toList();
    }

    private static String text(HostPort address) {
        return address.toString();
    }

    private static MetaLogConfig logConfig(MdsConfig config) {
        return new MetaLogConfig(
                config.clusterUuid(),
                config.memberId(),
                config.members().stream()
                        .map(m ->
                                new MetaLogConfig.Member(
                                        m.id(), m.raftAddress().host(), m.raftAddress().port()))
                        .toList(),
                config.dataDir(),
                config.raft().transport(),
                config.raft().checkpointEntries(),
                config.raft().checkpointInterval(),
                config.raft().softSpaceLimit().bytes(),
                config.raft().hardSpaceLimit().bytes());
    }
}
