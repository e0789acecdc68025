package io.cairn.mds.server;

import static io.cairn.mds.server.MemberCommands.transfer;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.mds.cluster.Registration;
import io.cairn.mds.leader.Control;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A rack is lost and a tenth of all clients die with it: a real leader with its log, its clients
 * and data servers without a network or disks. Prints what it cost ({@code docs/benchmarks.md});
 * asserts what is not a matter of time.
 *
 * <p>Or another member comes to lead, and all data servers register and all clients open sessions
 * with it.
 *
 * <p>Or many data servers start at once, {@code -Dcairn.test.map.starting=1000} instead of 100.
 *
 * <p>{@code -Dcairn.test.map.scale=100} is 10,000 clients, 10,000 disks in 1,000 data servers and
 * 10 racks, 500,000 replicas, 1,000 clients that die; 1, the default, a hundredth of all that.
 */
final class MapAtScaleTest {
    private static final Logger LOG = LoggerFactory.getLogger(MapAtScaleTest.class);

    private static final int SCALE = Integer.getInteger("cairn.test.map.scale", 1);
    private static final Duration PATIENCE =
            Duration.ofSeconds(Integer.getInteger("cairn.test.map.seconds", 60));

    private static final int CLIENTS = 100 * SCALE;
    private static final int DYING = 10 * SCALE;
    private static final int RACKS = 10;
    private static final int SERVERS = 10 * SCALE;
    private static final int DISKS_OF_A_SERVER = 10;
    private static final int COPIES = 3;
    private static final int PGS = 5000 * SCALE / COPIES;
    private static final int PGS_OF_A_POOL = Math.min(PGS, 50_000);

    private static final int PGS_OF_A_CHANGE = 20_000;

    /** Of which a peer is cut off. */
    private static final int EPOCHS_MISSED = 5;

    private static final int PGS_OF_A_LARGE_POOL = 50_000;

    /** Data servers that start together. */
    private static final int STARTING = Integer.getInteger("cairn.test.map.starting", 100);

    /** Small runs go through the same phases sooner. */
    private static final Duration RENEWAL = Duration.ofMillis(SCALE == 1 ? 500 : 5000);

    private static final Duration HEARTBEAT = Duration.ofMillis(500);

    /** The leader pings four times per lease, which is 500 ms by default. */
    private static final Duration PING = Duration.ofMillis(125);

    private static final String SETTINGS =
            """
            [sessions]
            renew_interval = "%dms"
            expiry = "%dms"
            [data_servers]
            bootstrap_disks = %d
            [pool]
            pg_count = %d
            failure_domain = "rack"
            [raft]
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            """
                    .formatted(
                            RENEWAL.toMillis(),
                            4 * RENEWAL.toMillis(),
                            SERVERS * DISKS_OF_A_SERVER + 1,
                            PGS_OF_A_POOL);

    @TempDir Path directory;

    private final FakePeer.Traffic traffic = new FakePeer.Traffic();
    private final List<Client> clients = new ArrayList<>();
    private final List<DataServer> servers = new CopyOnWriteArrayList<>();
    private final AtomicLong longestHeartbeat = new AtomicLong();
    private final AtomicLong longestPingGap = new AtomicLong();
    private final AtomicLong refusals = new AtomicLong();

    /** Heartbeats of data servers that live, and were marked down. */
    private final AtomicLong turnedAway = new AtomicLong();

    /** Registrations that were answered without a map before the increments came. */
    private final AtomicLong answeredEarly = new AtomicLong();

    private static final class Client {
        final FakePeer peer;
        final long session;
        volatile boolean dead;
        long renewedNanos;

        Client(FakePeer peer, long session, long renewedNanos) {
            this.peer = peer;
            this.session = session;
            this.renewedNanos = renewedNanos;
        }
    }

    private static final class DataServer {
        final FakePeer peer;
        final int id;
        final ByteString uuid = Uuids.random();
        final List<ByteString> diskUuids =
                Stream.generate(Uuids::random).limit(DISKS_OF_A_SERVER).toList();
        volatile ByteString incarnation = Uuids.random();
        volatile boolean dead;
        long beatNanos;

        /** The last heartbeat; none follows before it is answered. */
        @Nullable CompletableFuture<MessageLite> beat;

        DataServer(FakePeer peer, int id) {
            this.peer = peer;
            this.id = id;
        }

        int rack() {
            return id % RACKS;
        }
    }

    @Test
    void aRackIsLostAndATenthOfTheClientsDie() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS);
                ScheduledExecutorService driver =
                        Executors.newSingleThreadScheduledExecutor(
                                task -> new Thread(task, "driver"))) {
            group.awaitServing();
            MdsServer mds = group.server(1);
            attach(mds);
            openSessions(mds);
            makeMap(mds);
            var _ = driver.scheduleWithFixedDelay(() -> drive(mds), 0, 10, TimeUnit.MILLISECONDS);
            probe(mds);
            awaitAll("all have the map", () -> isKnownToAll(map(mds)));
            long before = map(mds).epoch();

            Figures quiet = new Figures();
            Awaitility.await().pollDelay(Duration.ofSeconds(2)).until(() -> true);
            LOG.info("Quiet: {}", quiet.until(map(mds).epoch() - before));

            before = map(mds).epoch();
            long wholeMaps = traffic.wholeMaps.sum();
            Figures storm = new Figures();
            clients.subList(0, DYING).forEach(c -> c.dead = true);
            servers.stream().filter(s -> s.rack() == 0).forEach(s -> s.dead = true);
            awaitAll("who died is out", () -> isOver(mds) && isKnownToAll(map(mds)));
            long epochs = map(mds).epoch() - before;
            LOG.info("Storm: {}", storm.until(epochs));

            assertThat(group.fatal).hasNullValue();
            assertThat(clients.stream().filter(c -> !c.dead))
                    .allMatch(c -> mds.duties().mutations().sessions().get(c.session) != null);
            assertThat(traffic.wholeMaps.sum()).as("whole maps").isEqualTo(wholeMaps);
            assertThat(traffic.evictionEpochs).as("epochs that evict").hasSizeLessThan(DYING);
        }
    }

    /** All have a map that is some epochs old, and say so to a leader that has never seen them. */
    @Test
    void anotherLeaderSendsNobodyTheWholeMap() throws Exception {
        String settings =
                SETTINGS.replaceAll("bootstrap_disks = \\d+", "bootstrap_disks = 100000")
                        .replaceAll("expiry = .*", "expiry = \"1h\""); // nobody renews
        try (TestGroup group = new TestGroup(directory, 3, settings)) {
            int first = group.awaitServing();
            MdsServer mds = group.server(first);
            set(mds, "norebalance");
            set(mds, "nodown"); // they send no heartbeats
            attach(mds);
            makeMap(mds);
            for (CompletableFuture<MessageLite> answer : registerEach(mds, 0)) {
                assertThat(((RegisterServerReply) get(answer)).hasMap()).isTrue();
            }
            openSessions(mds);
            awaitAll("all have the map", () -> isKnownToAll(map(mds)));

            mds.duties().map().attach(List::of, List::of); // they are cut off
            for (int i = 0; i < EPOCHS_MISSED; i++) {
                change(mds, MapUpdate.newBuilder().addPgs(pg(PgHash.pg(1, i)).setEpoch(2 + i)));
            }
            transfer(group, first % 3 + 1);
            MdsServer next = group.server(group.awaitServing());
            assertThat(next).isNotSameAs(mds);
            attach(next);
            long wholeMaps = traffic.wholeMaps.sum();
            long before = map(next).epoch();
            Figures figures = new Figures();
            for (CompletableFuture<MessageLite> answer : registerEach(next, 1)) {
                assertThat(((RegisterServerReply) get(answer)).hasMap()).isFalse();
            }
            for (FakeRequest request : reopen(next)) {
                assertThat(((OpenSessionReply) get(request.answer())).hasMap()).isFalse();
            }
            awaitAll("all have the map", () -> isKnownToAll(map(next)));
            LOG.info(
                    "Another leader, whole map of {} bytes: {}",
                    map(next).toUpdate().getSerializedSize(),
                    figures.until(map(next).epoch() - before));
            assertThat(traffic.wholeMaps.sum()).as("whole maps").isEqualTo(wholeMaps);
            assertThat(next.duties().map().wholeMaps()).isZero();
            assertThat(answeredEarly).hasValue(0);
        }
    }

    /**
     * All data servers register, at once.
     *
     * @param disks that each names, of those that it did not have before
     */
    private List<CompletableFuture<MessageLite>> registerEach(MdsServer mds, int disks) {
        return servers.stream().map(s -> register(mds, s, disks)).toList();
    }

    /** Each client opens another session, at once. */
    private List<FakeRequest> reopen(MdsServer mds) {
        return clients.stream().map(c -> open(mds, c.peer)).toList();
    }

    /** They register all at once: when they are new, and when all were started again. */
    @Test
    void dataServersThatStartTogetherAreFewEpochs() throws Exception {
        // Nobody plans: the table is made here.
        String settings = SETTINGS.replaceAll("bootstrap_disks = \\d+", "bootstrap_disks = 100000");
        try (TestGroup group = new TestGroup(directory, 1, settings)) {
            group.awaitServing();
            MdsServer mds = group.server(1);
            set(mds, "norebalance");
            set(mds, "nodown"); // they send no heartbeats
            for (int id = 1; id <= STARTING; id++) {
                servers.add(new DataServer(new FakePeer(Role.ROLE_DATA_SERVER, traffic), id));
            }
            attach(mds);
            registerAll(mds, "New");
            ClusterMap map = map(mds);
            assertThat(map.servers()).hasSize(STARTING);
            assertThat(map.disks()).hasSize(STARTING * DISKS_OF_A_SERVER);
            assertThat(map.disks().stream().map(Disk::getUuid).distinct())
                    .hasSize(STARTING * DISKS_OF_A_SERVER);

            makeTable(mds);
            long table = map(mds).epoch();
            servers.forEach(s -> s.incarnation = Uuids.random());
            registerAll(mds, "Started again");
            for (DataServer server : servers) {
                Server known = Objects.requireNonNull(Registration.find(map(mds), server.uuid));
                assertThat(known.getIncarnation()).isEqualTo(server.incarnation);
            }
            assertThat(map(mds).pgs()).as("their epochs").allMatch(pg -> pg.getEpoch() > table);
        }
    }

    /** So many of the harness's size; the disks of all have fifty replicas each. */
    private void makeTable(MdsServer mds) throws Exception {
        int groups = STARTING * DISKS_OF_A_SERVER * 50 / COPIES;
        List<Integer> disks = map(mds).disks().stream().map(Disk::getId).sorted().toList();
        for (int pool = 2, left = groups; left > 0; pool++, left -= PGS_OF_A_LARGE_POOL) {
            int end = Math.min(left, PGS_OF_A_LARGE_POOL);
            change(
                    mds,
                    MapUpdate.newBuilder()
                            .addPools(
                                    Pool.newBuilder()
                                            .setId(pool)
                                            .setName("pool " + pool)
                                            .setSize(COPIES)
                                            .setMinSize(2)
                                            .setPgCount(end)));
            for (int from = 0; from < end; from += PGS_OF_A_CHANGE) {
                MapUpdate.Builder some = MapUpdate.newBuilder();
                for (int i = from; i < Math.min(end, from + PGS_OF_A_CHANGE); i++) {
                    PlacementGroup.Builder pg =
                            PlacementGroup.newBuilder().setPg(PgHash.pg(pool, i)).setEpoch(1);
                    for (int copy = 0; copy < COPIES; copy++) {
                        int disk =
                                disks.get((i * COPIES + copy * DISKS_OF_A_SERVER) % disks.size());
                        pg.addReplicas(disk).addInSync(disk);
                    }
                    some.addPgs(pg);
                }
                change(mds, some);
            }
        }
    }

    private void registerAll(MdsServer mds, String what) throws Exception {
        long before = map(mds).epoch();
        traffic.serverEpochs.clear();
        Figures figures = new Figures();
        List<CompletableFuture<MessageLite>> answers = new ArrayList<>();
        for (DataServer server : servers) {
            answers.add(register(mds, server, DISKS_OF_A_SERVER));
        }
        for (CompletableFuture<MessageLite> answer : answers) {
            var reply = (RegisterServerReply) get(answer);
            assertThat(reply.getDisksList()).doesNotContain(0).doesNotHaveDuplicates();
        }
        int epochs = traffic.serverEpochs.size();
        LOG.info(
                "{}, {} data servers: {} epochs of registrations; {}",
                what,
                STARTING,
                epochs,
                figures.until(map(mds).epoch() - before));
        assertThat(epochs).isBetween(1, Math.max(3, STARTING / 20));
    }

    private static void awaitAll(String what, BooleanSupplier condition) {
        Awaitility.await(what)
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .until(condition::getAsBoolean);
    }

    private static ClusterMap map(MdsServer mds) {
        return mds.duties().map().get();
    }

    private boolean isKnownToAll(ClusterMap map) {
        return clients.stream().allMatch(c -> c.dead || c.peer.epoch() == map.epoch())
                && servers.stream().allMatch(s -> s.dead || s.peer.epoch() == map.epoch());
    }

    /** The dead sessions are refused, or gone; the dead disks are in no in-sync set. */
    private boolean isOver(MdsServer mds) {
        ClusterMap map = map(mds);
        return clients.stream()
                        .allMatch(c ->
                                !c.dead
                                        || mds.duties().mutations().sessions().get(c.session)
                                                == null)
                && map.servers().stream().allMatch(s -> s.getUp() || server(s.getId()).dead)
                && servers.stream().noneMatch(s -> s.dead && isUp(map, s.id))
                && map.pgs().stream().noneMatch(pg -> hasDead(map, pg));
    }

    private DataServer server(int id) {
        return servers.get(id - 1);
    }

    private static boolean isUp(ClusterMap map, int id) {
        @Nullable Server server = map.server(id);
        return server != null && server.getUp();
    }

    private static boolean hasDead(ClusterMap map, PlacementGroup pg) {
        for (int disk : pg.getInSyncList()) {
            @Nullable Server server = map.serverOfDisk(disk);
            if (server == null || !server.getUp()) {
                return true;
            }
        }
        return false;
    }

    // ---- the cluster --------------------------------------------------------

    private void attach(MdsServer mds) {
        mds.duties()
                .map()
                .attach(
                        () -> servers.stream().<RpcPeer>map(s -> s.peer).toList(),
                        mds.duties().mutations().sessions()::peers);
    }

    private void openSessions(MdsServer mds) throws Exception {
        List<FakePeer> peers = new ArrayList<>();
        List<FakeRequest> opened = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            FakePeer peer = new FakePeer(Role.ROLE_CLIENT, traffic);
            peers.add(peer);
            opened.add(open(mds, peer));
        }
        for (int i = 0; i < CLIENTS; i++) {
            var reply = (OpenSessionReply) get(opened.get(i).answer());
            // They were started one after another.
            long renewed = System.nanoTime() - RENEWAL.toNanos() * i / CLIENTS;
            clients.add(new Client(peers.get(i), reply.getSession(), renewed));
        }
    }

    private static FakeRequest open(MdsServer mds, FakePeer peer) {
        FakeRequest request =
                new FakeRequest(
                        peer,
                        Method.OPEN_SESSION,
                        OpenSessionRequest.newBuilder()
                                .setClientUuid(Uuids.random())
                                .setDescription("a client")
                                .setMapEpoch(peer.epoch())
                                .build());
        var _ =
                request.answer()
                        .thenAccept(reply -> {
                            OpenSessionReply opened = (OpenSessionReply) reply;
                            if (opened.hasMap()) {
                                peer.answered(opened.getMap());
                            }
                        });
        mds.control().execute(() -> mds.duties().sessions().open(request));
        return request;
    }

    private static MessageLite get(CompletableFuture<MessageLite> answer) throws Exception {
        return answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Servers, disks and pools in one change, then the tables. */
    private void makeMap(MdsServer mds) throws Exception {
        MapUpdate.Builder all = MapUpdate.newBuilder();
        List<DataServer> made = new ArrayList<>();
        for (int id = 1; id <= SERVERS; id++) {
            DataServer server = new DataServer(new FakePeer(Role.ROLE_DATA_SERVER, traffic), id);
            made.add(server);
            all.addServers(
                    Server.newBuilder()
                            .setId(id)
                            .setUuid(server.uuid)
                            .setAddress("127.0.0.1:" + (10_000 + id))
                            .setHost("host " + id)
                            .setRack("rack " + server.rack())
                            .setIncarnation(server.incarnation)
                            .setUp(true)
                            .setLeaseMillis(3000)
                            .setRecovers(true));
            for (int disk : disks(id)) {
                all.addDisks(
                        Disk.newBuilder()
                                .setId(disk)
                                .setUuid(Uuids.random())
                                .setServer(id)
                                .setCapacityBytes(1L << 40));
            }
        }
        for (int pool = 2, left = PGS - PGS_OF_A_POOL; left > 0; pool++, left -= PGS_OF_A_POOL) {
            all.addPools(
                    Pool.newBuilder()
                            .setId(pool)
                            .setName("pool " + pool)
                            .setSize(COPIES)
                            .setMinSize(2)
                            .setPgCount(Math.min(left, PGS_OF_A_POOL))
                            .setFailureDomain(FailureDomain.FAILURE_DOMAIN_RACK));
        }
        change(mds, all);
        servers.addAll(made);
        for (int pool = 1, left = PGS; left > 0; pool++, left -= PGS_OF_A_POOL) {
            int end = Math.min(left, PGS_OF_A_POOL);
            for (int from = 0; from < end; from += PGS_OF_A_CHANGE) {
                MapUpdate.Builder some = MapUpdate.newBuilder();
                for (int i = from; i < Math.min(end, from + PGS_OF_A_CHANGE); i++) {
                    some.addPgs(pg(PgHash.pg(pool, i)));
                }
                change(mds, some);
            }
        }
    }

    /** In three racks, one after another. Nobody plans: that is another measurement. */
    private static PlacementGroup.Builder pg(int pg) {
        PlacementGroup.Builder group = PlacementGroup.newBuilder().setPg(pg).setEpoch(1);
        int number = PgHash.indexOf(pg);
        for (int copy = 0; copy < COPIES; copy++) {
            int rack = (number + copy) % RACKS;
            int server = number / RACKS % (SERVERS / RACKS) * RACKS + rack;
            int disk = disks(server == 0 ? SERVERS : server).get(number % DISKS_OF_A_SERVER);
            group.addReplicas(disk).addInSync(disk);
        }
        return group;
    }

    private static void change(MdsServer mds, MapUpdate.Builder update) throws Exception {
        CompletableFuture<Void> changed = new CompletableFuture<>();
        mds.control()
                .execute(() -> {
                    var _ =
                            mds.duties()
                                    .changes()
                                    .change(base -> update)
                                    .whenComplete((map, failure) -> {
                                        if (failure == null) {
                                            changed.complete(null);
                                        } else {
                                            changed.completeExceptionally(failure);
                                        }
                                    });
                });
        changed.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private static void set(MdsServer mds, String flag) throws Exception {
        FakeRequest request =
                new FakeRequest(
                        new FakePeer(Role.ROLE_ADMIN, new FakePeer.Traffic()),
                        Method.SETTINGS,
                        SettingsRequest.newBuilder().setName(flag).setValue("on").build());
        mds.control().execute(() -> mds.duties().liveSettings().handle(request));
        get(request.answer());
    }

    /** The same process, at the same address. */
    private CompletableFuture<MessageLite> register(MdsServer mds, DataServer server) {
        return register(mds, server, 0);
    }

    /**
     * @param disks that it names
     */
    private CompletableFuture<MessageLite> register(MdsServer mds, DataServer server, int disks) {
        RegisterServerRequest.Builder wanted =
                RegisterServerRequest.newBuilder()
                        .setServerUuid(server.uuid)
                        .setIncarnation(server.incarnation)
                        .setAddress("127.0.0.1:" + (10_000 + server.id))
                        .setHost("host " + server.id)
                        .setRack("rack " + server.rack())
                        .setRecovers(true)
                        .setMapEpoch(server.peer.epoch());
        for (int i = 0; i < disks; i++) {
            wanted.addDisks(
                    DiskReport.newBuilder()
                            .setUuid(server.diskUuids.get(i))
                            .setCapacityBytes(1L << 40));
        }
        FakeRequest request = new FakeRequest(server.peer, Method.REGISTER_SERVER, wanted.build());
        var _ =
                request.answer()
                        .thenAccept(reply -> {
                            RegisterServerReply registered = (RegisterServerReply) reply;
                            if (registered.hasMap()) {
                                server.peer.answered(registered.getMap());
                            } else if (server.peer.epoch() < registered.getMapEpoch()) {
                                answeredEarly.incrementAndGet();
                            }
                        });
        mds.control().execute(() -> mds.duties().dataServers().register(request));
        return request.answer();
    }

    private static List<Integer> disks(int server) {
        List<Integer> disks = new ArrayList<>();
        for (int i = 1; i <= DISKS_OF_A_SERVER; i++) {
            disks.add((server - 1) * DISKS_OF_A_SERVER + i);
        }
        return disks;
    }

    // ---- what clients and data servers do -----------------------------------

    private void drive(MdsServer mds) {
        try {
            long now = System.nanoTime();
            for (Client client : clients) {
                if (!client.dead
                        && (now - client.renewedNanos >= RENEWAL.toNanos()
                                || client.peer.askAgain())) {
                    client.renewedNanos = now;
                    renew(mds, client);
                }
            }
            for (DataServer server : servers) {
                boolean answered = server.beat == null || server.beat.isDone();
                if (!server.dead
                        && answered
                        && (now - server.beatNanos >= HEARTBEAT.toNanos()
                                || server.peer.askAgain())) {
                    server.beatNanos = now;
                    beat(mds, server);
                }
            }
        } catch (RuntimeException e) {
            LOG.error("The driver failed", e);
        }
    }

    private void renew(MdsServer mds, Client client) {
        mds.duties()
                .sessions()
                .renew(
                        new FakeRequest(
                                client.peer,
                                Method.RENEW_SESSION,
                                RenewSessionRequest.newBuilder()
                                        .setSession(client.session)
                                        .setMapEpoch(client.peer.epoch())
                                        .build()));
    }

    private void beat(MdsServer mds, DataServer server) {
        HeartbeatRequest.Builder beat =
                HeartbeatRequest.newBuilder()
                        .setServer(server.id)
                        .setIncarnation(server.incarnation)
                        .setMapEpoch(server.peer.epoch());
        disks(server.id).forEach(d -> beat.addDisks(DiskStatus.newBuilder().setDisk(d)));
        FakeRequest request = new FakeRequest(server.peer, Method.HEARTBEAT, beat.build());
        long sent = System.nanoTime();
        server.beat = request.answer();
        mds.leaseThread().execute(() -> mds.duties().dataServers().heartbeat(request));
        var _ =
                request.answer()
                        .whenComplete((reply, failure) -> {
                            longestHeartbeat.accumulateAndGet(System.nanoTime() - sent, Math::max);
                            if (failure != null) {
                                refusals.incrementAndGet();
                            } else if (((HeartbeatReply) reply).getRegisterAgain()) {
                                turnedAway.incrementAndGet();
                                var _ = register(mds, server);
                            }
                        });
    }

    /** The gaps between turns of the thread that pings the members, which pings this often. */
    private void probe(MdsServer mds) {
        Control pinging = mds.leaseThread();
        AtomicLong last = new AtomicLong(System.nanoTime());
        var _ =
                pinging.every(
                        PING.toNanos(),
                        () -> {
                            long now = System.nanoTime();
                            longestPingGap.accumulateAndGet(now - last.getAndSet(now), Math::max);
                        });
    }

    // ---- what it costs ------------------------------------------------------

    /** From when it is made. */
    private final class Figures {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

        private final long startNanos = System.nanoTime();
        private final Map<Long, Long> cpuBefore = cpu();
        private final long pushes = traffic.pushes.sum();
        private final long bytes = traffic.bytes.sum();
        private final long wholeMaps = traffic.wholeMaps.sum();

        Figures() {
            longestHeartbeat.set(0);
            longestPingGap.set(0);
            refusals.set(0);
            turnedAway.set(0);
        }

        private static Map<Long, Long> cpu() {
            Map<Long, Long> cpu = new HashMap<>();
            for (long id : THREADS.getAllThreadIds()) {
                cpu.put(id, THREADS.getThreadCpuTime(id));
            }
            return cpu;
        }

        String until(long epochs) {
            Map<String, Long> byName = new TreeMap<>();
            long leader = 0;
            for (Map.Entry<Long, Long> e : cpu().entrySet()) {
                var info = THREADS.getThreadInfo(e.getKey());
                long used = (e.getValue() - cpuBefore.getOrDefault(e.getKey(), 0L)) / 1_000_000;
                if (info != null && used > 0) {
                    byName.merge(info.getThreadName().replaceAll("\\d+", "#"), used, Long::sum);
                    leader += info.getThreadName().equals("driver") ? 0 : used;
                }
            }
            byName.values().removeIf(ms -> ms < 20);
            return "%.1f s, %d epochs, leader's CPU %.2f s, %d pushes, %d bytes of maps, %d whole maps, longest gap between pings %d ms, longest heartbeat %d ms, %d refused, %d marked down that live; CPU in ms: %s"
                    .formatted(
                            (System.nanoTime() - startNanos) / 1e9,
                            epochs,
                            leader / 1e3,
                            traffic.pushes.sum() - pushes,
                            traffic.bytes.sum() - bytes,
                            traffic.wholeMaps.sum() - wholeMaps,
                            longestPingGap.get() / 1_000_000,
                            longestHeartbeat.get() / 1_000_000,
                            refusals.get(),
                            turnedAway.get(),
                            byName);
        }
    }
}
