package io.cairn.client;

import com.google.protobuf.ByteString;
import io.cairn.client.ahead.AheadMemory;
import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ClientConfig;
import io.cairn.client.base.Async;
import io.cairn.client.base.Channels;
import io.cairn.client.base.ClientMeter;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.InodeChanges;
import io.cairn.client.data.MapHolder;
import io.cairn.client.inode.Appends;
import io.cairn.client.inode.FileServices;
import io.cairn.client.inode.HeldContents;
import io.cairn.client.inode.HeldDelegations;
import io.cairn.client.inode.InodeTable;
import io.cairn.client.inode.Publisher;
import io.cairn.client.inode.Reopens;
import io.cairn.client.inode.ToldSizes;
import io.cairn.client.inode.WriteBehind;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.MetaEvents;
import io.cairn.client.meta.MetaOptions;
import io.cairn.client.move.FileMover;
import io.cairn.client.name.OwnNames;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.MapParts;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.AppendRecall;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DelegationRecall;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MapPart;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.time.Periodic;
import io.netty.buffer.ByteBuf;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of one client and their lives: event loops, connections, timer, session, map. Made by
 * {@link CairnClients}.
 */
final class ClientRuntime implements MetaEvents {
    private static final Logger LOG = LoggerFactory.getLogger(ClientRuntime.class);
    private static final long ATTR_FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long CLOSE_SECONDS = 30;

    /** Bounds of how long a connection may be silent while a request waits. */
    private static final long MIN_SILENCE_MILLIS = 250;

    private static final long MAX_SILENCE_MILLIS = 1000;

    /** The group's feature level from which on locks hold between clients. */
    private static final int LOCKS_LEVEL = 6;

    /** From which on it is told of bytes that failed writes have left. */
    private static final int LEFTOVERS_LEVEL = 7;

    private final ClientConfig config;
    private final RpcLoops loops;
    private final RpcClient rpc;
    private final ScheduledExecutorService timer;
    private final MapHolder map;
    private final MapParts mapParts = new MapParts();
    private final MetaClient meta;
    private final DataClient data;
    private final Publisher publisher;
    private final InodeTable table;
    private final Appends appends;
    private final HeldDelegations delegations;
    private final OwnNames names;
    private final HeldContents contents = new HeldContents();
    private final Reopens reopens;
    private final List<Runnable> onNewSession = new CopyOnWriteArrayList<>();
    private final ClientMeters meters;
    private final FileServices services;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile long session;
    private volatile boolean sharesLocks;
    private volatile ByteString clusterId;

    ClientRuntime(ClientConfig config, Meters published) {
        this.config = config;
        if (config.mds().isEmpty()) {
            throw new FsException(Errno.EINVAL, "no MDS address is given");
        }
        clusterId =
                ByteString.copyFrom(
                        HexFormat.of()
                                .parseHex(config.clusterId().orElse("").toLowerCase(Locale.ROOT)));
        loops = new RpcLoops(config.eventLoops(), "cairn-client", published);
        rpc = new RpcClient(loops, this::hello, HelloPolicy.ACCEPT, rpcOptions(config));
        timer =
                Executors.newSingleThreadScheduledExecutor(task ->
                        Thread.ofPlatform().daemon().name("cairn-client-timer").unstarted(task));
        map = new MapHolder();
        meters = new ClientMeters(published);
        Channels channels = rpc::channel;
        meta =
                new MetaClient(
                        new MetaOptions(
                                config.mds().stream().map(RpcAddress::of).toList(),
                                config.description().orElse("cairn client"),
                                config.attemptTimeout().toNanos(),
                                config.metadataPipeline()),
                        channels,
                        timer,
                        map::epoch,
                        this);
        data =
                new DataClient(
                        map,
                        channels,
                        timer,
                        meters,
                        new DataClient.Limits(
                                config.attemptTimeout().toNanos(),
                                config.maxInFlight().bytes(),
                                config.maxHeld().bytes()),
                        meta::evicted,
                        meta::refreshMap);
        AheadMemory aheadMemory = new AheadMemory(config.readAheadMemory().bytes());
        publisher = new Publisher(meta);
        table = new InodeTable(this::getAttr, data::session, publisher, meta::isDelegated);
        names = new OwnNames(meta, meters);
        delegations =
                new HeldDelegations(
                        meta, table, publisher, names, !config.syncMetadata(), config.earlyNames());
        meta.tellAllBy(delegations::tellAll);
        services =
                new FileServices(
                        meta,
                        data,
                        publisher,
                        contents,
                        meters,
                        aheadMemory,
                        new WriteBehind(config.writeBehind().bytes()),
                        config.readAhead().bytes(),
                        nanos(config.metadataTimeout()),
                        nanos(config.ioTimeout()),
                        config.attemptTimeout().toNanos() / 2,
                        ATTR_FRESH_NANOS);
        appends = new Appends(services, table, this::lentAttr);
        ToldSizes sizes = new ToldSizes(meta, table, publisher);
        reopens = new Reopens(services, table, appends);
        rpc.onPush(
                Method.MAP_PUSH_VALUE,
                (from, head) -> mapPushed(Heads.parse(MapUpdate.parser(), head)));
        rpc.onPush(Method.MAP_PART_VALUE, (from, head) -> mapPartPushed(head));
        rpc.onPush(
                Method.APPEND_RECALL_VALUE,
                (from, head) ->
                        appends.recalled(Heads.parse(AppendRecall.parser(), head).getInode()));
        rpc.onPush(
                Method.READ_RECALL_VALUE,
                (from, head) ->
                        meta.leases().recalled(from, Heads.parse(ReadRecall.parser(), head)));
        rpc.onPush(
                Method.DELEGATION_RECALL_VALUE,
                (from, head) -> delegations.recalled(Heads.parse(DelegationRecall.parser(), head)));
        rpc.onPush(
                Method.TELL_SIZES_VALUE,
                (from, head) -> sizes.asked(from, Heads.parse(TellSizes.parser(), head)));
        gauges(published);
    }

    /** A dead connection is found long before an attempt on it is given up. */
    private static RpcOptions rpcOptions(ClientConfig config) {
        long silence =
                Math.clamp(
                        config.attemptTimeout().toMillis() / 10,
                        MIN_SILENCE_MILLIS,
                        MAX_SILENCE_MILLIS);
        return RpcOptions.DEFAULT.withSilenceMillis((int) silence);
    }

    private void gauges(Meters published) {
        published.gauge(ClientMeter.IN_FLIGHT, data::inFlightBytes);
        published.gauge(ClientMeter.READ_AHEAD_HELD, services.aheadMemory()::bytes);
        published.gauge(ClientMeter.WRITE_BEHIND, services.writeBehind()::bytes);
        published.gauge(ClientMeter.QUEUED, data::queued);
        published.gauge(ClientMeter.HELD, data::heldBytes);
        published.gauge(ClientMeter.STUCK_HELD, data::stuckHeldBytes);
        published.gauge(ClientMeter.STUCK_PGS, data::stuckPgs);
        published.gauge(ClientMeter.MUTATIONS_OUTSTANDING, meta::mutationsOutstanding);
        published.gauge(ClientMeter.OPEN_INODES, table::size);
        published.gauge(ClientMeter.OWN_DIRECTORIES, names::count);
        published.gauge(ClientMeter.UNPUBLISHED_INODES, () -> publisher.unpublished().size());
        published.gauge(ClientMeter.MAP_EPOCH, map::epoch);
    }

    /** Without a limit: longer than anything lives, and no overflow where it is added to a time. */
    private static long nanos(Optional<Duration> limit) {
        return limit.map(Duration::toNanos).orElse(Long.MAX_VALUE / 2);
    }

    private Hello hello() {
        return Hello.newBuilder()
                .setRole(Role.ROLE_CLIENT)
                .setId(session)
                .setClusterId(clusterId)
                .build();
    }

    FileServices services() {
        return services;
    }

    boolean sharesLocks() {
        return sharesLocks;
    }

    Appends appends() {
        return appends;
    }

    HeldDelegations delegations() {
        return delegations;
    }

    OwnNames names() {
        return names;
    }

    InodeTable table() {
        return table;
    }

    FileMover mover(CairnClient client) {
        InodeChanges changes =
                new InodeChanges(
                        map,
                        rpc::channel,
                        timer,
                        meta::refreshMap,
                        config.attemptTimeout().toNanos());
        return new FileMover(client, services, map, changes);
    }

    /** Blocks until the session is open. */
    void start() {
        CompletableFuture<Void> open = meta.open();
        try {
            open.get(config.connectTimeout().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw Async.failure(e);
        } catch (TimeoutException e) {
            throw new FsException(
                    Errno.EHOSTUNREACH, "no MDS leader reached; last: " + meta.lastFailure());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new FsException(Errno.EINTR, "interrupted while connecting");
        }
        long tick = Math.max(1, config.publishInterval().toMillis() / 2);
        var _ =
                Periodic.every(
                        timer,
                        TimeUnit.MILLISECONDS.toNanos(tick),
                        "The client's periodic work",
                        this::tick);
    }

    private void tick() {
        publisher.tick();
        table.tick(System.nanoTime());
        appends.tick(System.nanoTime());
    }

    private CompletableFuture<Attr> getAttr(long inode) {
        return getAttr(inode, session -> GetAttrRequest.newBuilder().setInode(inode).build());
    }

    /** What is published, with a lease, if this client holds any. */
    private CompletableFuture<Attr> lentAttr(long inode) {
        return getAttr(
                inode,
                session ->
                        GetAttrRequest.newBuilder()
                                .setInode(inode)
                                .setPublishedOnly(true)
                                .setLeaseSession(meta.leases().session(session))
                                .build());
    }

    private CompletableFuture<Attr> getAttr(long inode, LongFunction<GetAttrRequest> request) {
        return Async.then(
                names.ready(inode),
                nothing ->
                        Async.map(
                                meta.query(
                                        Method.GET_ATTR,
                                        request,
                                        GetAttrReply.parser(),
                                        System.nanoTime() + nanos(config.metadataTimeout())),
                                GetAttrReply::getAttr));
    }

    private void mapPartPushed(ByteBuf head) {
        @Nullable MapUpdate whole = mapParts.add(Heads.parse(MapPart.parser(), head));
        if (whole != null) {
            mapPushed(whole);
        }
    }

    private void mapPushed(MapUpdate update) {
        if (!map.apply(update)) {
            meta.refreshMap();
        }
        meta.learnMembers(map.mdsAddresses());
    }

    // ---- MetaEvents

    /** Before its map is taken: data requests of the session before it never carry that one. */
    @Override
    public void sessionOpened(long opened, @Nullable MapUpdate full, int featureLevel) {
        boolean first = session == 0;
        if (first) {
            sharesLocks = featureLevel >= LOCKS_LEVEL;
        }
        publisher.tellsLeftovers(featureLevel >= LEFTOVERS_LEVEL);
        session = opened;
        data.opened(opened);
        contents.sessionOpened();
        if (full != null) {
            clusterId = full.getClusterId();
            map.apply(full);
        }
        if (!first) {
            LOG.warn("Session {} is open: the client goes on", opened);
            onNewSession.forEach(Runnable::run);
        }
    }

    /**
     * The files' barriers come before the end of their data requests, so that what fails stands in
     * front of them.
     */
    @Override
    public void sessionEnded(long ended, FsException reason) {
        if (!closed.get()) {
            meters.sessionEnded();
            LOG.warn("Session {} has ended: {}. Another one is opened", ended, reason.getMessage());
        }
        data.ending();
        names.sessionEnded();
        reopens.sessionEnding();
        data.end(reason);
    }

    void onNewSession(Runnable action) {
        onNewSession.add(action);
    }

    @Override
    public void mutated(Mutation mutation, MutationResult result) {
        contents.mutated(mutation, result);
    }

    @Override
    public void retried() {
        meters.metadataRetried();
    }

    /** Publishes and releases everything, ends the session, then the threads. */
    void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try {
            await("names", names.tellAll());
            await("writes and releases", table.releaseAll());
            await("end of the session", meta.close());
            data.end(new FsException(Errno.ESTALE, "the client is closed"));
        } finally {
            timer.shutdownNow();
            rpc.close();
            loops.close();
        }
    }

    private static void await(String what, CompletableFuture<?> future) {
        try {
            future.get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            LOG.warn("Closing the client: {}: {}", what, Async.failure(e).getMessage());
        } catch (TimeoutException e) {
            LOG.warn("Closing the client: {} not done in {} s", what, CLOSE_SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
