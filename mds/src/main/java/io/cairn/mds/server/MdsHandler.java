package io.cairn.mds.server;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.LeaderLeaseRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rocks.DatabaseService;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcHandler;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.background.OrphanLooks;
import io.cairn.mds.background.OrphanRequests;
import io.cairn.mds.background.TruncationWaits;
import io.cairn.mds.cluster.DataServers;
import io.cairn.mds.cluster.PlacementRequests;
import io.cairn.mds.cluster.PoolRequests;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.GroupRequests;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.LeaseGrants;
import io.cairn.mds.leader.LiveSettings;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.session.ClientSessions;
import io.cairn.mds.session.Mutations;
import io.cairn.mds.session.ReadOpenRequests;
import io.cairn.mds.store.CorruptStateException;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives each request to the part that answers it. On event loops: what does not block is answered
 * there, heartbeats are handed to the thread of the leases, listings of directories and what scrubs
 * ask to threads that read for them, and the rest to the control thread.
 */
final class MdsHandler implements RpcHandler {
    private static final Logger LOG = LoggerFactory.getLogger(MdsHandler.class);

    private final Leadership leadership;
    private final Queries queries;
    private final TruncationWaits truncationWaits;
    private final Mutations mutations;
    private final ClientSessions sessions;
    private final ReadOpenRequests readOpens;
    private final DataServers dataServers;
    private final PlacementRequests placement;
    private final PoolRequests pools;
    private final OrphanLooks orphanLooks;
    private final OrphanRequests orphans;
    private final GroupRequests group;
    private final LiveSettings settings;
    private final Status status;
    private final Control control;
    private final Control leaseThread;
    private final Control lookups;
    private final Executor listings;
    private final LeaseGrants grants;
    private final DatabaseService databases;
    private final MdsMeters metrics;

    MdsHandler(
            Leadership leadership,
            Queries queries,
            TruncationWaits truncationWaits,
            Mutations mutations,
            ClientSessions sessions,
            ReadOpenRequests readOpens,
            DataServers dataServers,
            OrphanLooks orphanLooks,
            OrphanRequests orphans,
            GroupRequests group,
            LiveSettings settings,
            Status status,
            Control control,
            Control leaseThread,
            Control lookups,
            Executor listings,
            LeaseGrants grants,
            DatabaseService databases,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.queries = queries;
        this.truncationWaits = truncationWaits;
        this.mutations = mutations;
        this.sessions = sessions;
        this.readOpens = readOpens;
        this.dataServers = dataServers;
        this.placement = dataServers.placementRequests();
        this.pools = dataServers.poolRequests();
        this.orphanLooks = orphanLooks;
        this.orphans = orphans;
        this.group = group;
        this.settings = settings;
        this.status = status;
        this.control = control;
        this.leaseThread = leaseThread;
        this.lookups = lookups;
        this.listings = listings;
        this.grants = grants;
        this.databases = databases;
        this.metrics = metrics;
        queries.rereadBy(this::list);
        readOpens.rereadBy(this::list);
    }

    @Override
    public void handle(RpcRequest request) {
        long start = System.nanoTime();
        @Nullable Method known = Method.forNumber(request.method());
        Method method = known == null ? Method.METHOD_UNSPECIFIED : known;
        run(method, request, start, () -> dispatch(method, request, start));
    }

    /** Says what the work throws, where it can be expected. */
    private void run(Method method, RpcRequest request, long start, Runnable work) {
        try {
            work.run();
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            metrics.request(method, start, false);
        } catch (CorruptStateException e) {
            // The process stops: the client asks again until another member, or a new one, answers.
            request.fail(
                    RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, String.valueOf(e.getMessage())));
            metrics.request(method, start, false);
            leadership.failed("the metadata cannot be read", e);
        }
    }

    private void dispatch(Method method, RpcRequest request, long start) {
        switch (method) {
            case LOOKUP,
                    GET_ATTR,
                    READ_LINK,
                    GET_XATTR,
                    LIST_XATTR,
                    STAT_FS,
                    TEST_LOCK,
                    LIST_LOCKS ->
                    queries.handle(method, request, start);
            case READ_DIR ->
                    list(method, request, start, () -> queries.handle(method, request, start));
            case WAIT_TRUNCATED -> control.execute(() -> truncationWaits.handle(request, start));
            case MUTATE -> mutations.handle(request);
            case READ_RECALLED -> mutations.readLeases().recalled(request);
            case RETURN_DELEGATIONS -> mutations.delegations().returned(request);
            case SIZES_TOLD -> mutations.sizes().told(request);
            case RENEW_SESSION -> metrics.request(method, start, sessions.renew(request));
            case OPEN_FOR_READING -> metrics.request(method, start, readOpens.open(request));
            case CLOSE_FOR_READING -> metrics.request(method, start, readOpens.close(request));
            case RECLAIM_OPENS -> metrics.request(method, start, readOpens.reclaim(request));
            case OPEN_SESSION -> control(method, request, start, sessions::open);
            case CLOSE_SESSION -> control(method, request, start, sessions::close);
            case AWAIT_APPEND ->
                    control.execute(() -> mutations.appendTurns().await(request, start));
            case AWAIT_LOCK -> control.execute(() -> mutations.lockWaits().await(request, start));
            case CANCEL_LOCK -> control.execute(() -> mutations.lockWaits().cancel(request));
            case REGISTER_SERVER -> {
                require(request, Role.ROLE_DATA_SERVER);
                control(method, request, start, dataServers::register);
            }
            case HEARTBEAT -> {
                require(request, Role.ROLE_DATA_SERVER);
                on(leaseThread, method, request, start, dataServers::heartbeat);
            }
            case JOIN_PG -> {
                require(request, Role.ROLE_DATA_SERVER);
                control(method, request, start, dataServers::join);
            }
            case MEMBER_SILENT -> {
                require(request, Role.ROLE_DATA_SERVER);
                control(method, request, start, dataServers::memberSilent);
            }
            case CHECK_INODES -> {
                require(request, Role.ROLE_DATA_SERVER);
                on(lookups, method, request, start, answering(orphanLooks::check));
            }
            case REPORT_ORPHANS -> {
                require(request, Role.ROLE_DATA_SERVER);
                control(method, request, start, answering(orphanLooks::report));
            }
            case LIST_ORPHANS -> control(method, request, start, orphans::list);
            case CHANGE_ORPHANS -> control(method, request, start, orphans::change);
            case LEADER_LEASE -> {
                require(request, Role.ROLE_MDS);
                request.reply(
                        grants.answer(Heads.parse(LeaderLeaseRequest.parser(), request.head())));
            }
            case SETTINGS -> control(method, request, start, settings::handle);
            case DRAIN -> control(method, request, start, placement::drain);
            case REMOVE -> control(method, request, start, placement::remove);
            case REWEIGHT -> control(method, request, start, placement::reweight);
            case LIST_POOLS -> control(method, request, start, pools::list);
            case CREATE_POOL -> control(method, request, start, pools::create);
            case SET_POOL -> control(method, request, start, pools::set);
            case REMOVE_POOL -> control(method, request, start, pools::remove);
            case CAN_STOP -> control(method, request, start, placement::canStop);
            case BALANCE_PLAN -> control(method, request, start, placement::balancePlan);
            case GROUP_MEMBERS -> control(method, request, start, group::members);
            case ADD_MEMBER -> control(method, request, start, group::add);
            case REMOVE_MEMBER -> control(method, request, start, group::remove);
            case TRANSFER_LEADER -> control(method, request, start, group::transfer);
            case STATUS -> status(method, request, start);
            case DATABASES -> {
                databases.list(request);
                metrics.request(method, start, true);
            }
            case COMPACT -> {
                databases.compact(request);
                metrics.request(method, start, true);
            }
            default ->
                    request.fail(
                            RpcStatus.fail(
                                    Errno.EOPNOTSUPP,
                                    "a metadata server has no method " + request.method()));
        }
    }

    /** Not on an event loop. */
    private void list(Method method, RpcRequest request, long start, Runnable work) {
        listings.execute(() -> {
            try {
                run(method, request, start, work);
            } catch (RuntimeException e) { // on an event loop RPC would answer so
                LOG.error("a listing failed", e);
                request.fail(RpcStatus.fail(Errno.EIO, "internal error: " + e));
                metrics.request(method, start, false);
            }
        });
    }

    /** Says what the step throws. */
    private static Step answering(Step step) {
        return request -> {
            try {
                step.run(request);
            } catch (FsException e) {
                request.fail(RpcStatus.fail(e.errno(), e.detail()));
            }
        };
    }

    private interface Step {
        void run(RpcRequest request);
    }

    private void control(Method method, RpcRequest request, long start, Step step) {
        on(control, method, request, start, step);
    }

    private void on(Control thread, Method method, RpcRequest request, long start, Step step) {
        thread.execute(() -> {
            step.run(request);
            metrics.request(method, start, true);
        });
    }

    private static void require(RpcRequest request, Role role) {
        if (request.peer().hello().getRole() != role) {
            throw new FsException(Errno.EPERM, "only " + role + " may ask this");
        }
    }

    /** The leader answers; where none is known, any member says what it has. */
    private void status(Method method, RpcRequest request, long start) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null && leadership.term() == null && !leadership.leaderAddress().isEmpty()) {
            request.fail(refusal);
        } else {
            request.reply(status.report());
        }
        metrics.request(method, start, refusal == null);
    }
}
