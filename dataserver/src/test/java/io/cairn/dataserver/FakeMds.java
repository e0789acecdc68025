package io.cairn.dataserver;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.JoinPgReply;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MemberSilentReply;
import io.cairn.common.proto.MemberSilentRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.ReportOrphansReply;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Answers register and heartbeat as the metadata service does and pushes maps. One pool, whose
 * first PG table is made when enough disks are there.
 */
final class FakeMds implements AutoCloseable {
    static final int PGS = 4;
    static final int REPLICAS = 3;

    private final RpcLoops loops = new RpcLoops(1, "fake-mds");
    private final RpcServer server;
    private final ByteString clusterId;
    private final Map<Integer, Long> confirmed = new HashMap<>();
    private final Map<Integer, List<DiskStatus>> reported = new HashMap<>();
    private final Map<Integer, PgReport> pgs = new HashMap<>();
    private final Map<Integer, ScrubReport> scrubs = new HashMap<>();
    private ClusterMap map = ClusterMap.EMPTY;
    private volatile @Nullable String leader;
    private volatile boolean silent;
    private long heartbeats;
    volatile boolean clientsPaused;
    volatile boolean recoveryPaused;
    private volatile boolean noScrub;
    private volatile boolean membersLeave;
    private volatile int leaseMillis = 10_000;
    private volatile @Nullable LongPredicate owners;

    /** What led to the map. */
    private final List<MapUpdate> increments = new ArrayList<>();

    /** Map epochs that servers said to have when they registered. */
    private final List<Long> registeredWith = new CopyOnWriteArrayList<>();

    private final Set<Integer> unknown = new HashSet<>();
    private volatile boolean losesPushes;
    private final List<ReportOrphansRequest> orphanReports = new CopyOnWriteArrayList<>();

    FakeMds(ByteString clusterId) throws IOException {
        this.clusterId = clusterId;
        Hello hello = Hello.newBuilder().setRole(Role.ROLE_MDS).setClusterId(clusterId).build();
        server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> hello,
                        HelloPolicy.ACCEPT,
                        this::handle,
                        RpcOptions.DEFAULT);
    }

    InetSocketAddress address() {
        return server.localAddress();
    }

    /** Answers NOT_LEADER and this address. */
    void follow(String leaderAddress) {
        leader = leaderAddress;
    }

    /** Heartbeats are not answered any more. */
    void fallSilent() {
        silent = true;
    }

    void leaseMillis(int millis) {
        leaseMillis = millis;
    }

    /** Answered so far. */
    synchronized long heartbeats() {
        return heartbeats;
    }

    synchronized ClusterMap map() {
        return map;
    }

    /** The map epoch that the server confirmed. */
    synchronized long confirmed(int server) {
        return confirmed.getOrDefault(server, 0L);
    }

    /** The lowest map epoch that all servers confirmed. */
    synchronized long confirmedByAll() {
        return confirmed.values().stream().mapToLong(Long::longValue).min().orElse(0);
    }

    /** What the server said last of the disk with this data file; null before. */
    synchronized @Nullable DiskStatus reported(int server, Path data) {
        return reported.getOrDefault(server, List.of()).stream()
                .filter(d -> d.getData().equals(data.toString()))
                .findFirst()
                .orElse(null);
    }

    /** What the servers said last of the placement groups whose primary is there. */
    synchronized Map<Integer, PgReport> pgs() {
        return Map.copyOf(pgs);
    }

    /** What the server said last of its scrubs. */
    synchronized ScrubReport scrub(int server) {
        return scrubs.getOrDefault(server, ScrubReport.getDefaultInstance());
    }

    /** Whether scrubs are held back. */
    void noScrub(boolean on) {
        noScrub = on;
    }

    synchronized void evict(long session) {
        publish(next().addRefusedSessions(session));
    }

    /** An evicted session is refused no longer by name, but by the age of its maps. */
    synchronized void forget(long session) {
        publish(next().addForgottenSessions(session).setSessionFloor(map.epoch() + 1));
    }

    /** From now on these disks are the PG's members in sync, the primary first. */
    synchronized void inSync(int pg, List<Integer> disks) {
        PlacementGroup group = Objects.requireNonNull(map.pg(pg));
        publish(
                next().addPgs(
                                group.toBuilder()
                                        .clearInSync()
                                        .addAllInSync(disks)
                                        .setEpoch(map.epoch() + 1)));
    }

    /** A server's disks leave the in-sync sets of all PGs. */
    synchronized void takeOut(int server) {
        MapUpdate.Builder update = next();
        for (PlacementGroup group : map.pgs()) {
            List<Integer> stay =
                    group.getInSyncList().stream().filter(d -> d / 10 != server).toList();
            update.addPgs(
                    group.toBuilder().clearInSync().addAllInSync(stay).setEpoch(map.epoch() + 1));
        }
        publish(update);
    }

    /** Whether all replicas of all PGs are in sync. */
    synchronized boolean isWhole() {
        return map.pgs().stream().allMatch(g -> g.getInSyncCount() == g.getReplicasCount());
    }

    private synchronized void join(JoinPgRequest r) {
        PlacementGroup group = Objects.requireNonNull(map.pg(r.getPg()));
        if (group.getEpoch() == r.getPgEpoch() && !group.getInSyncList().contains(r.getDisk())) {
            List<Integer> members = new ArrayList<>(group.getInSyncList());
            members.add(r.getDisk());
            inSync(r.getPg(), members);
        }
    }

    private synchronized void leave(MemberSilentRequest r) {
        PlacementGroup group = Objects.requireNonNull(map.pg(r.getPg()));
        if (membersLeave && group.getEpoch() == r.getPgEpoch()) {
            inSync(
                    r.getPg(),
                    group.getInSyncList().stream().filter(d -> d != r.getDisk()).toList());
        }
    }

    /** From now on members leave that their primary complains of. */
    void letMembersLeave() {
        membersLeave = true;
    }

    /** The server is asked to register again. */
    synchronized void forget(int server) {
        unknown.add(server);
    }

    /** Nothing that is pushed arrives. */
    void losePushes(boolean on) {
        losesPushes = on;
    }

    /** Map epochs that servers said to have when they registered, in order. */
    List<Long> registeredWith() {
        return registeredWith;
    }

    /** One more epoch in which nothing is different. */
    synchronized void nextEpoch() {
        publish(next());
    }

    private MapUpdate.Builder next() {
        return MapUpdate.newBuilder()
                .setClusterId(clusterId)
                .setBaseEpoch(map.epoch())
                .setEpoch(map.epoch() + 1);
    }

    private void publish(MapUpdate.Builder update) {
        ClusterMap newer = map.apply(update.build());
        if (newer == null) {
            throw new IllegalStateException("no next map");
        }
        map = newer;
        increments.add(update.build());
        for (RpcPeer peer : server.peers()) {
            push(peer, update.build());
        }
    }

    private void push(RpcPeer peer, MapUpdate update) {
        if (!losesPushes) {
            peer.push(Method.MAP_PUSH_VALUE, update);
        }
    }

    private void handle(RpcRequest request) {
        String elsewhere = leader;
        LongPredicate owners = this.owners;
        try {
            if (elsewhere != null) {
                request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, elsewhere));
            } else if (request.method() == Method.REGISTER_SERVER_VALUE) {
                request.reply(
                        register(
                                request.peer(),
                                Heads.parse(RegisterServerRequest.parser(), request.head())));
            } else if (request.method() == Method.HEARTBEAT_VALUE) {
                HeartbeatRequest r = Heads.parse(HeartbeatRequest.parser(), request.head());
                if (silent) {
                    request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "silent"));
                } else {
                    request.reply(heartbeat(r));
                }
            } else if (request.method() == Method.JOIN_PG_VALUE) {
                join(Heads.parse(JoinPgRequest.parser(), request.head()));
                request.reply(JoinPgReply.getDefaultInstance());
            } else if (request.method() == Method.MEMBER_SILENT_VALUE) {
                leave(Heads.parse(MemberSilentRequest.parser(), request.head()));
                request.reply(MemberSilentReply.getDefaultInstance());
            } else if (request.method() == Method.CHECK_INODES_VALUE && owners != null) {
                request.reply(
                        check(Heads.parse(CheckInodesRequest.parser(), request.head()), owners));
            } else if (request.method() == Method.REPORT_ORPHANS_VALUE && owners != null) {
                orphanReports.add(Heads.parse(ReportOrphansRequest.parser(), request.head()));
                request.reply(ReportOrphansReply.getDefaultInstance());
            } else {
                request.fail(RpcStatus.fail(Errno.ENOSYS, "not in this test"));
            }
        } catch (RuntimeException e) {
            throw new IllegalStateException("fake MDS", e);
        }
    }

    /** Whether inodes are files'; null: that is not answered. What it does, it does before. */
    void owners(@Nullable LongPredicate isFile) {
        owners = isFile;
    }

    /** What servers have found of inodes that are not files', all of it. */
    List<ReportOrphansRequest> orphanReports() {
        return orphanReports;
    }

    private static CheckInodesReply check(CheckInodesRequest asked, LongPredicate isFile) {
        CheckInodesReply.Builder reply = CheckInodesReply.newBuilder();
        for (int i = 0; i < asked.getInodesCount(); i++) {
            if (!isFile.test(asked.getInodes(i))) {
                reply.addOrphans(i);
            }
        }
        return reply.build();
    }

    private synchronized HeartbeatReply heartbeat(HeartbeatRequest r) {
        heartbeats++;
        confirmed.put(r.getServer(), r.getMapEpoch());
        reported.put(r.getServer(), r.getDisksList());
        if (r.hasPgs()) {
            pgs.put(r.getServer(), r.getPgs());
        }
        scrubs.put(r.getServer(), r.getScrub());
        return HeartbeatReply.newBuilder()
                .setMapEpoch(map.epoch())
                .setClientsPaused(clientsPaused)
                .setRecoveryPaused(recoveryPaused)
                .setNoScrub(noScrub)
                .setRegisterAgain(unknown.contains(r.getServer()))
                .build();
    }

    /** Its placement groups go on naming it. */
    synchronized void remove(int disk) {
        Disk known = Objects.requireNonNull(map.disk(disk));
        publish(next().addDisks(known.toBuilder().setRemoved(true)));
    }

    private synchronized RegisterServerReply register(RpcPeer peer, RegisterServerRequest r) {
        registeredWith.add(r.getMapEpoch());
        Server known =
                map.servers().stream()
                        .filter(s -> s.getUuid().equals(r.getServerUuid()))
                        .findFirst()
                        .orElse(null);
        int id = known == null ? map.servers().size() + 1 : known.getId();
        if (known == null || !known.getIncarnation().equals(r.getIncarnation())) {
            scrubs.remove(id); // what the earlier process said
            MapUpdate.Builder update = next();
            update.addServers(
                    Server.newBuilder()
                            .setId(id)
                            .setUuid(r.getServerUuid())
                            .setAddress(r.getAddress())
                            .setIncarnation(r.getIncarnation())
                            .setUp(true));
            for (int i = 0; i < r.getDisksCount(); i++) {
                ByteString uuid = r.getDisks(i).getUuid();
                if (map.disksEver().stream().noneMatch(d -> d.getUuid().equals(uuid))) {
                    update.addDisks(
                            Disk.newBuilder().setId(id * 10 + i).setUuid(uuid).setServer(id));
                }
            }
            if (!map.pgs().isEmpty()) {
                for (PlacementGroup group : map.pgs()) {
                    update.addPgs(group.toBuilder().setEpoch(update.getEpoch()));
                }
            } else if (map.servers().size() + (known == null ? 1 : 0) >= REPLICAS) {
                pgs(update);
            }
            publish(update);
        }
        unknown.remove(id);
        RegisterServerReply.Builder reply =
                RegisterServerReply.newBuilder()
                        .setServer(id)
                        .addAllDisks(r.getDisksList().stream().map(d -> idOf(d.getUuid())).toList())
                        .setLeaseMillis(leaseMillis);
        if (r.getMapEpoch() == 0) {
            return reply.setMap(map.toUpdate()).build();
        }
        increments.stream()
                .filter(i -> i.getBaseEpoch() >= r.getMapEpoch())
                .forEach(i -> push(peer, i));
        return reply.setMapEpoch(map.epoch()).build();
    }

    /** 0 if the map does not have it. */
    private int idOf(ByteString uuid) {
        return map.disks().stream()
                .filter(d -> d.getUuid().equals(uuid))
                .mapToInt(Disk::getId)
                .findFirst()
                .orElse(0);
    }

    /** Each PG has one disk of each server: that with the PG's number, counted round. */
    private void pgs(MapUpdate.Builder update) {
        update.addPools(Pool.newBuilder().setId(1).setSize(REPLICAS).setPgCount(PGS));
        List<Disk> disks = new ArrayList<>(map.disks());
        disks.addAll(update.getDisksList());
        int perServer = disks.size() / REPLICAS;
        for (int i = 0; i < PGS; i++) {
            List<Integer> members = new ArrayList<>();
            for (int r = 0; r < REPLICAS; r++) {
                members.add((1 + (i + r) % REPLICAS) * 10 + i % perServer);
            }
            update.addPgs(
                    PlacementGroup.newBuilder()
                            .setPg(1 << 16 | i)
                            .setEpoch(update.getEpoch())
                            .addAllReplicas(members)
                            .addAllInSync(members));
        }
    }

    @Override
    public void close() {
        server.close();
        loops.close();
    }
}
