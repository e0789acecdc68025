package io.cairn.mds.server;

import io.cairn.common.config.HostPort;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Role;
import io.cairn.common.release.Release;
import io.cairn.common.rocks.DatabaseService;
import io.cairn.common.rocks.Remarks;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.GroupRequests;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.LeaseGrants;
import io.cairn.mds.leader.MemberReports;
import io.cairn.mds.leader.RemovalWatch;
import io.cairn.mds.lease.LeasedReplies;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.MetaState;
import io.cairn.mds.raft.MemberDirectory;
import io.cairn.mds.raft.MemberRefusedException;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.store.MetaStateConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
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

    /** Ends the process, or the test that stands for it. */
    @FunctionalInterface
    public interface ExitHandler {
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
    private final Control leaseThread;
    private final Control lookups;
    private final ListingThreads listings;
    private final EntryLog entries = new EntryLog();
    private final Leadership leadership;
    private final LeaderDuties duties;
    private final MetaLog log;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Starts; returns when it listens, which is before the group has a leader.
     *
     * @param word what the administrator says of an empty directory
     * @param memory shared by all databases of the process
     * @param clock CLOCK_BOOTTIME, except in tests
     * @throws MemberRefusedException with one line for the administrator: trying again is of no use
     * @throws IOException with one line for the administrator
     */
    public static MdsServer start(
            MdsConfig config,
            StartWord word,
            RocksMemory memory,
            Meters meters,
            NanoClock clock,
            ExitHandler fatal)
            throws IOException {
        MemberDirectory directory = MemberDirectory.open(logConfig(config), word);
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
                @Nullable String objection =
                        Features.objection(state.settings(), config.dataDir().toString());
                if (objection != null) {
                    throw new MemberRefusedException(objection);
                }
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

    /**
     * Notes in the directory what the administrator says of it, for a member that is started later
     * without an option.
     *
     * @throws MemberRefusedException with one line for the administrator
     */
    public static void prepare(MdsConfig config, StartWord word) throws IOException {
        MemberDirectory.open(logConfig(config), word).close();
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
        MdsMeters metrics = new MdsMeters(meters);
        control = new Control("mds-" + config.memberId() + "-control", failure, metrics);
        leaseThread = new Control("mds-" + config.memberId() + "-leases", failure, metrics);
        lookups = new Control("mds-" + config.memberId() + "-lookups", failure, metrics);
        listings =
                new ListingThreads(
                        "mds-" + config.memberId() + "-listings",
                        RpcLoops.defaultThreads(),
                        failure);
        loops =
                new RpcLoops(
                        RpcLoops.defaultThreads(), "mds-" + config.memberId() + "-rpc", meters);
        client = new RpcClient(loops, this::hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        leadership =
                new Leadership(
                        config.memberId(),
                        members(config),
                        () -> leaseNanos(state, config),
                        () -> state.maxSession() > 0,
                        clock,
                        control,
                        entries,
                        failure);
        MemberReports reports =
                new MemberReports(
                        config.members().size(),
                        config.memberId(),
                        new MemberReports.Report(
                                config.raft().leaderLease().toNanos(),
                                Features.CURRENT,
                                0,
                                Remarks.NONE,
                                Release.CURRENT));
        duties =
                new LeaderDuties(
                        config,
                        leadership,
                        reports,
                        entries,
                        state,
                        client,
                        control,
                        leaseThread,
                        clock,
                        metrics);
        Status status =
                new Status(
                        leadership,
                        new GroupStatus(leadership, reports, state),
                        entries,
                        state,
                        state,
                        duties.mutations().sessions(),
                        duties.mutations().readOpens(),
                        duties.map(),
                        duties.dataServers(),
                        duties::held,
                        duties.reaper(),
                        duties.orphanRemoval(),
                        duties.releases(),
                        control,
                        clock,
                        config.dataServers().bootstrapDisks(),
                        this::remarks);
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
                                    new Queries(
                                            leadership,
                                            state,
                                            new LockQueries(state, duties.mutations().lockWaits()),
                                            status,
                                            duties.mutations()::isGone,
                                            new LeasedReplies(
                                                    duties.mutations().readLeases(),
                                                    duties.mutations().sizes()::isWrittenBeside),
                                            duties.mutations().delegations(),
                                            duties.mutations().sizes(),
                                            duties.readOpens(),
                                            metrics),
                                    duties.truncationWaits(),
                                    duties.mutations(),
                                    duties.sessions(),
                                    duties.readOpens(),
                                    duties.dataServers(),
                                    duties.orphanLooks(),
                                    duties.orphanRequests(),
                                    new GroupRequests(
                                            leadership, duties.groupChanges(), reports, entries),
                                    duties.liveSettings(),
                                    status,
                                    control,
                                    leaseThread,
                                    lookups,
                                    listings,
                                    new LeaseGrants(
                                            self(config),
                                            leadership,
                                            entries,
                                            reports.own(),
                                            this::remarks),
                                    new DatabaseService(state::databases),
                                    metrics),
                            RpcOptions.DEFAULT);
        } catch (IOException | RuntimeException e) {
            control.close();
            leaseThread.close();
            lookups.close();
            listings.close();
            if (started != null) {
                started.close();
            }
            client.close();
            loops.close();
            throw e;
        }
        duties.map().attach(rpc::peers, duties.mutations().sessions()::peers);
        new MdsGauges(
                        meters,
                        leadership,
                        state,
                        duties.map(),
                        duties.mutations(),
                        duties.reaper(),
                        duties.orphanRemoval(),
                        duties.truncationWaits(),
                        log)
                .register();
        leadership.attach(duties);
        new RemovalWatch(leadership, entries, client, control).start();
        LOG.info(
                "metadata server {} of cluster {} listens on {}",
                config.memberId(),
                config.clusterId(),
                rpc.localAddress());
    }

    /** What the administrator should know of this member. */
    private Remarks remarks() {
        Remarks database = state.databaseRemarks();
        @Nullable MetaLog started = entries.log();
        if (started == null) {
            return database;
        }
        List<String> warnings = new ArrayList<>(database.warnings());
        started.space().warning().ifPresent(warnings::add);
        return new Remarks(warnings, database.notes());
    }

    /** Where clients reach it. */
    public InetSocketAddress address() {
        return rpc.localAddress();
    }

    /** Whether this member leads and may answer at this moment. */
    public boolean serving() {
        return leadership.refusal() == null;
    }

    Leadership leadership() {
        return leadership;
    }

    LeaderDuties duties() {
        return duties;
    }

    /** The thread on which the duties begin and end. */
    Control control() {
        return control;
    }

    /** The thread that pings the members and answers heartbeats. */
    Control leaseThread() {
        return leaseThread;
    }

    /** Stops cleanly. Idempotent. */
    @Override
    public void close() throws IOException {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        rpc.close();
        control.close();
        leaseThread.close();
        lookups.close();
        listings.close();
        try {
            log.close();
        } finally {
            client.close();
            loops.close();
            state.close();
            directory.close();
        }
    }

    /** The group's; before the group has one, what this member is configured with. */
    private static long leaseNanos(MetaState state, MdsConfig config) {
        long agreed = state.settings().getLeaderLeaseNanos();
        return agreed != 0 ? agreed : config.raft().leaderLease().toNanos();
    }

    /** Passes on the first failure that the process must not survive. */
    private static final class Failure implements Leadership.FailureHandler {
        private final int member;
        private final ExitHandler fatal;
        private final AtomicBoolean failed = new AtomicBoolean();

        Failure(int member, ExitHandler fatal) {
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
                .setClusterId(NewCluster.clusterId(config))
                .setRole(Role.ROLE_MDS)
                .setId(config.memberId())
                .build();
    }

    private static List<MdsMember> members(MdsConfig config) {
        return config.members().stream().map(MdsServer::member).toList();
    }

    private static MdsMember self(MdsConfig config) {
        return member(config.self());
    }

    private static MdsMember member(MdsConfig.Member member) {
        return MdsMember.newBuilder()
                .setId(member.id())
                .setAddress(text(member.address()))
                .setRaftAddress(text(member.raftAddress()))
                .build();
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
                                        m.id(),
                                        m.raftAddress().host(),
                                        m.raftAddress().port(),
                                        text(m.address())))
                        .toList(),
                config.dataDir(),
                config.raft().transport(),
                config.raft().checkpointEntries(),
                config.raft().checkpointInterval(),
                config.raft().softSpaceLimit().bytes(),
                config.raft().hardSpaceLimit().bytes(),
                config.raft().checkAddresses());
    }
}
