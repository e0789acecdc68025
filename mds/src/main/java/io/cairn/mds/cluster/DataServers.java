package io.cairn.mds.cluster;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.JoinPgReply;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MemberSilentReply;
import io.cairn.common.proto.MemberSilentRequest;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.release.Release;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.FillLimits;
import io.cairn.mds.leader.Held;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.ClusterSettings;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registrations, heartbeats and joins of data servers, and what the map says of a server that is
 * silent. The control thread only, except where a method says otherwise.
 */
public final class DataServers {
    private static final Logger LOG = LoggerFactory.getLogger(DataServers.class);

    private final Leadership leadership;
    private final CurrentMap map;
    private final MapChanges changes;
    private final PgTables pgTables;
    private final NanoClock clock;
    private final int leaseMillis;
    private final IntSupplier featureLevel;
    private final Supplier<Held> held;
    private final ServerLeases servers;
    private final SlowDisks slow;
    private final InSyncChanges inSync;
    private final RegistrationQueue registrations;

    /** By uuid, as of the registrations that are being answered. */
    private final Map<ByteString, Integer> diskIds = new HashMap<>();

    private final ControlReader state;
    private final PlacementRequests placementRequests;
    private final PoolRequests poolRequests;

    /** Servers of which the map says what they can do, or that were asked to register again. */
    private final Set<Integer> described = ConcurrentHashMap.newKeySet();

    /**
     * @param lease of a data server that registers
     * @param absence when what a disk has is placed elsewhere
     * @param slowAfter how long a disk is worse than others before it leaves in-sync sets
     * @param held what an administrator holds back
     * @param featureLevel of the group: by it, the map has what all members know
     * @param state knows who names a pool, and what an administrator has set
     */
    public DataServers(
            Leadership leadership,
            CurrentMap map,
            MapChanges changes,
            PgTables pgTables,
            NanoClock clock,
            Duration lease,
            Placement.Times absence,
            Duration slowAfter,
            Supplier<Held> held,
            IntSupplier featureLevel,
            ControlReader state) {
        this.leadership = leadership;
        this.map = map;
        this.changes = changes;
        this.pgTables = pgTables;
        this.clock = clock;
        this.leaseMillis = (int) lease.toMillis();
        this.featureLevel = featureLevel;
        this.state = state;
        this.held = held;
        this.servers = new ServerLeases(lease.toNanos());
        InSyncSets sets = new InSyncSets(servers, () -> held.get().noDown());
        Placement placement = new Placement(sets, absence, held);
        BooleanSupplier isPlacing = () -> featureLevel.getAsInt() >= Features.RECOVERY;
        BooleanSupplier isSplitting = () -> featureLevel.getAsInt() >= Features.GROWTH;
        BooleanSupplier isMerging = () -> featureLevel.getAsInt() >= Features.MERGING;
        BooleanSupplier isTogether = () -> featureLevel.getAsInt() >= Features.SPLITS_TOGETHER;
        BooleanSupplier isMarking = () -> featureLevel.getAsInt() >= Features.ELASTIC;
        this.slow = new SlowDisks(slowAfter);
        Supplier<@Nullable FillLimits> limits =
                () ->
                        featureLevel.getAsInt() >= Features.GROWTH
                                ? FillLimits.of(state.settings())
                                : null;
        this.inSync =
                new InSyncChanges(
                        sets,
                        slow,
                        servers,
                        isMarking,
                        placement,
                        isPlacing,
                        new PgSplits(sets, placement, servers, held, isMerging, isTogether),
                        new PgMerges(sets, servers, held, isMerging),
                        isSplitting,
                        limits,
                        map,
                        changes,
                        clock);
        this.registrations = new RegistrationQueue(changes, this::terms, outcome());
        AdminChanges administration = new AdminChanges(leadership, changes, featureLevel);
        this.placementRequests =
                new PlacementRequests(administration, map, servers, sets, placement, held, clock);
        this.poolRequests = new PoolRequests(administration, map, state, pgTables);
    }

    /** An earlier leader may have answered anybody until its own lease ended. */
    public void begin(Leadership.Term term) {
        long from = term.lease().servingFromNanos();
        servers.begin(map.get(), from);
        inSync.begin(from);
        described.clear();
    }

    // ---- requests -----------------------------------------------------------

    public void register(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        RegisterServerRequest wanted;
        try {
            wanted = Heads.parse(RegisterServerRequest.parser(), request.head());
            Registration.check(wanted);
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        registrations.add(
                new RegistrationQueue.Waiting(request, wanted, upToDate(request.peer(), wanted)));
    }

    /**
     * Brings the map of a process up to date that says to have one. Later increments are pushed to
     * it as to all data servers. A process that the map here does not know can have no map of this
     * history: what it has may lead elsewhere.
     *
     * @return the epoch of the map that the process has then; 0 if it needs the whole one
     */
    private long upToDate(RpcPeer peer, RegisterServerRequest wanted) {
        ClusterMap present = map.get();
        @Nullable Server known = Registration.find(present, wanted.getServerUuid());
        boolean isKnown = known != null && known.getIncarnation().equals(wanted.getIncarnation());
        @Nullable List<Broadcast> missed =
                isKnown ? map.missed(wanted.getMapEpoch(), present) : null;
        if (missed == null) {
            return 0;
        }
        map.send(peer, missed);
        return present.epoch();
    }

    private Registrations.Terms terms() {
        int level = featureLevel.getAsInt();
        return new Registrations.Terms(
                level >= Features.SERVER_LEASES ? leaseMillis : 0,
                level >= Features.RECOVERY,
                level >= Features.ELASTIC,
                level >= Features.GROWTH,
                level >= Features.MERGING);
    }

    private RegistrationQueue.Outcome outcome() {
        return new RegistrationQueue.Outcome() {
            @Override
            public void registered(
                    RegistrationQueue.Waiting by,
                    ClusterMap now,
                    long epoch,
                    boolean isNewProcess) {
                DataServers.this.registered(by, now, epoch, isNewProcess);
            }

            @Override
            public void failed(RegistrationQueue.Waiting by, Throwable failure) {
                by.request().fail(leadership.unavailable(failure));
            }

            @Override
            public void changed(ClusterMap now, List<RegisterServerRequest> newProcesses) {
                diskIds.clear();
                now.disks().forEach(d -> diskIds.put(d.getUuid(), d.getId()));
                Set<Integer> restarted = new HashSet<>();
                for (RegisterServerRequest process : newProcesses) {
                    @Nullable Server server = Registration.find(now, process.getServerUuid());
                    if (server != null) {
                        restarted.add(server.getId());
                    }
                }
                if (!restarted.isEmpty()) {
                    inSync.restarted(now, restarted);
                }
                pgTables.makeMissing();
            }
        };
    }

    private void registered(
            RegistrationQueue.Waiting by, ClusterMap now, long epoch, boolean anew) {
        RpcRequest request = by.request();
        RegisterServerRequest wanted = by.wanted();
        @Nullable Server server = Registration.find(now, wanted.getServerUuid());
        @Nullable RpcStatus refusal = leadership.refusal();
        if (server == null || refusal != null) {
            request.fail(refusal != null ? refusal : RpcStatus.fail(Errno.EIO, "not in the map"));
            return;
        }
        // A new process has admitted nothing yet, under whatever map.
        servers.heard(
                server.getId(),
                clock.nanos(),
                0,
                new ServerLeases.Report(
                        anew ? List.of() : disks(server.getId()), null, null, release(request)));
        if ((server.getRecovers() || !wanted.getRecovers())
                && (server.getSplits() || !wanted.getSplits())
                && (server.getUnites() || !wanted.getUnites())) {
            described.add(server.getId());
        }
        LOG.info(
                "data server {} at {} registered with {} disks",
                server.getId(),
                server.getAddress(),
                wanted.getDisksCount());
        RegisterServerReply.Builder reply =
                RegisterServerReply.newBuilder()
                        .setServer(server.getId())
                        .setLeaseMillis((int) (servers.leaseOf(server) / 1_000_000));
        for (var report : wanted.getDisksList()) {
            reply.addDisks(diskIds.getOrDefault(report.getUuid(), 0));
        }
        boolean hasMap = by.mapEpoch() > 0 && !anew;
        if (hasMap && epoch <= Math.max(by.mapEpoch(), map.pushedEpoch())) {
            request.reply(reply.setMapEpoch(epoch).build());
        } else {
            request.reply(reply.setMap(map.inAnswer(now)).build());
            map.sendRest(request.peer(), now);
        }
    }

    private List<DiskStatus> disks(int server) {
        ServerLeases.@Nullable Known known = servers.all().get(server);
        return known == null ? List.of() : known.report().disks();
    }

    private static String release(RpcRequest request) {
        return Release.shown(request.peer().hello().getRelease());
    }

    /** On the thread of the leases: nothing here waits for work on the map. */
    public void heartbeat(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        HeartbeatRequest beat;
        try {
            beat = Heads.parse(HeartbeatRequest.parser(), request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        @Nullable Server server = served(map.get(), beat);
        ClusterSettings settings = state.settings();
        HeartbeatReply.Builder reply =
                HeartbeatReply.newBuilder()
                        .setMapEpoch(map.get().epoch())
                        .setClientsPaused(held.get().pause())
                        .setRecoveryPaused(held.get().noRecover())
                        .setRecoveryBytesPerSecond(settings.getRecoveryBytesPerSecond())
                        .setRecoveryOperationsPerSecond(settings.getRecoveryOperationsPerSecond())
                        .setNoScrub(held.get().noScrub());
        boolean answered =
                server != null
                        && isDescribed(server)
                        && servers.answer(
                                server.getId(),
                                clock,
                                beat.getMapEpoch(),
                                new ServerLeases.Report(
                                        beat.getDisksList(),
                                        beat.hasPgs() ? beat.getPgs() : null,
                                        beat.hasScrub() ? beat.getScrub() : null,
                                        release(request)))
                        && served(map.get(), beat) != null; // not marked down before it was noted
        request.reply(reply.setRegisterAgain(!answered).build());
        map.bringUpToDate(request.peer(), beat.getMapEpoch(), map.get());
    }

    /**
     * Whoever sent the heartbeat; null if the map says it is down, or has another process of it.
     */
    private static @Nullable Server served(ClusterMap map, HeartbeatRequest beat) {
        @Nullable Server server = map.server(beat.getServer());
        return server != null
                        && server.getUp()
                        && server.getIncarnation().equals(beat.getIncarnation())
                ? server
                : null;
    }

    /**
     * Whether the map may be right about what it can do. One that registered while the group's
     * feature level was lower is asked once to register again.
     */
    private boolean isDescribed(Server server) {
        int level = featureLevel.getAsInt();
        boolean isSaid =
                (server.getRecovers() || level < Features.RECOVERY)
                        && (server.getSplits() || level < Features.GROWTH)
                        && (server.getUnites() || level < Features.MERGING);
        return isSaid || !described.add(server.getId());
    }

    /** A primary asks for a learner to join the in-sync set of a placement group. */
    public void join(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        JoinPgRequest wanted;
        try {
            wanted = Heads.parse(JoinPgRequest.parser(), request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        var _ =
                inSync.join(wanted)
                        .whenComplete((_, failure) -> {
                            if (failure != null) {
                                request.fail(leadership.unavailable(failure));
                            } else {
                                request.reply(JoinPgReply.getDefaultInstance());
                            }
                        });
    }

    /** A primary waits for a member that says nothing. */
    public void memberSilent(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        try {
            inSync.told(Heads.parse(MemberSilentRequest.parser(), request.head()));
            request.reply(MemberSilentReply.getDefaultInstance());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
        }
    }

    // ---- duties -------------------------------------------------------------

    /** Marks down who has been silent for too long, and sees to the in-sync sets. */
    public void tick() {
        long now = clock.nanos();
        if (held.get().noDown()) {
            servers.silent(map.get(), now); // who was never heard of gets its deadline
        } else {
            markDown(servers.condemnSilent(map.get(), now), now);
        }
        inSync.tick();
    }

    private void markDown(List<Integer> silent, long now) {
        if (silent.isEmpty()) {
            return;
        }
        var _ =
                changes.change(base -> servers.down(base, silent, now))
                        .whenComplete((_, failure) -> {
                            silent.forEach(servers::decided);
                            if (failure == null) {
                                silent.forEach(id ->
                                        LOG.warn("data server {} is silent: marked down", id));
                            }
                        });
    }

    /**
     * Whether nothing that was admitted before the map epoch can still be in flight: every server
     * has confirmed the epoch, or is down, its lease over.
     */
    public boolean allBeyond(long epoch) {
        return servers.allBeyond(map.get(), epoch);
    }

    /** What administrators ask of placement. */
    public PlacementRequests placementRequests() {
        return placementRequests;
    }

    /** What administrators ask of pools. */
    public PoolRequests poolRequests() {
        return poolRequests;
    }

    /** Why disks are slow, or about to be called so, by their ids. Any thread. */
    public Map<Integer, String> slowDisks() {
        return slow.texts();
    }

    /** What is still to be copied. Any thread. */
    public Copies copies() {
        return inSync.copies();
    }

    /** Disks of which nothing is placed elsewhere though they are away for long. Any thread. */
    public Set<Integer> withheld() {
        return inSync.withheld();
    }

    /** Any thread. */
    public Map<Integer, ServerLeases.Known> all() {
        return servers.all();
    }
}
