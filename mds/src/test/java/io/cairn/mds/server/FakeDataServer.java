package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.Errno;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.DeleteInodesReply;
import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.JoinPgReply;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.TruncateInodeReply;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A data server with one disk as the MDS sees it: registers, sends heartbeats when told, and counts
 * what it is to delete.
 */
final class FakeDataServer implements AutoCloseable {
    final ByteString uuid = Uuids.random();
    final ByteString diskUuid = Uuids.random();
    final Map<Long, AtomicInteger> deleted = new ConcurrentHashMap<>();
    final List<TruncateInodeRequest> truncations = new CopyOnWriteArrayList<>();
    final AtomicInteger messages = new AtomicInteger();

    /** Inodes that one message has deleted, at most. */
    final AtomicInteger mostDeleted = new AtomicInteger();

    /** Maps and increments that came without being asked for. */
    final List<MapUpdate> pushed = new CopyOnWriteArrayList<>();

    final RpcServer rpc;
    private final TestGroup group;
    private final io.cairn.common.rpc.RpcClient client;
    volatile ByteString incarnation = Uuids.random();
    volatile int id;
    volatile int disk;

    /** Says that it brings learners up to date. */
    volatile boolean recovers;

    volatile boolean splits;

    volatile boolean unites;

    /** Refuses everything while set. */
    volatile boolean broken;

    FakeDataServer(TestGroup group) throws IOException {
        this.group = group;
        this.client = group.newClient(Role.ROLE_DATA_SERVER);
        client.onPush(
                Method.MAP_PUSH_VALUE,
                (from, head) -> pushed.add(Heads.parse(MapUpdate.parser(), head)));
        this.rpc =
                RpcServer.bind(
                        group.loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> Hello.newBuilder().setRole(Role.ROLE_DATA_SERVER).build(),
                        HelloPolicy.ACCEPT,
                        this::handle,
                        RpcOptions.DEFAULT);
    }

    private void handle(RpcRequest request) {
        messages.incrementAndGet();
        if (broken) {
            request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "broken"));
            return;
        }
        switch (Method.forNumber(request.method())) {
            case DELETE_INODES -> {
                List<Long> inodes =
                        Heads.parse(DeleteInodesRequest.parser(), request.head()).getInodesList();
                mostDeleted.accumulateAndGet(inodes.size(), Math::max);
                inodes.forEach(inode ->
                        deleted.computeIfAbsent(inode, i -> new AtomicInteger()).incrementAndGet());
                request.reply(DeleteInodesReply.getDefaultInstance());
            }
            case TRUNCATE_INODE -> {
                truncations.add(Heads.parse(TruncateInodeRequest.parser(), request.head()));
                request.reply(TruncateInodeReply.getDefaultInstance());
            }
            case null, default -> request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "fake"));
        }
    }

    <R extends MessageLite> TestGroup.Answer<R> ask(
            Method method, MessageLite request, Parser<R> parser) {
        return group.callAs(client, method, request, parser);
    }

    /** Of one member, whatever it answers. */
    <R extends MessageLite> TestGroup.Answer<R> askOnce(
            int member, Method method, MessageLite request, Parser<R> parser) {
        return group.ask(client, member, method, request, parser);
    }

    /** To this release: servers of an older one are asked to register again. */
    void upgrade() {
        recovers = true;
        splits = true;
        unites = true;
    }

    RegisterServerReply register() {
        return register(0);
    }

    /**
     * @param mapEpoch of the map that it says to have
     */
    RegisterServerReply register(long mapEpoch) {
        RegisterServerReply reply =
                group.callAs(
                                client,
                                Method.REGISTER_SERVER,
                                RegisterServerRequest.newBuilder()
                                        .setServerUuid(uuid)
                                        .setIncarnation(incarnation)
                                        .setAddress(RpcAddress.format(rpc.localAddress()))
                                        .setHost("host")
                                        .setRecovers(recovers)
                                        .setSplits(splits)
                                        .setUnites(unites)
                                        .setMapEpoch(mapEpoch)
                                        .addDisks(
                                                DiskReport.newBuilder()
                                                        .setUuid(diskUuid)
                                                        .setCapacityBytes(1 << 30))
                                        .build(),
                                RegisterServerReply.parser())
                        .get();
        id = reply.getServer();
        disk = reply.getDisks(0);
        return reply;
    }

    /** A new process on the same disk. */
    RegisterServerReply restart() {
        incarnation = Uuids.random();
        return register();
    }

    HeartbeatReply heartbeat(long epoch) {
        return heartbeat(
                epoch,
                DiskStatus.newBuilder()
                        .setDisk(disk)
                        .setCapacityBytes(1 << 30)
                        .setUsedBytes(1 << 29)
                        .setFreeBytes(1 << 29)
                        .build());
    }

    HeartbeatReply heartbeat(long epoch, DiskStatus status) {
        return heartbeat(HeartbeatRequest.newBuilder().setMapEpoch(epoch).addDisks(status));
    }

    HeartbeatReply heartbeat(long epoch, PgReport pgs) {
        return heartbeat(HeartbeatRequest.newBuilder().setMapEpoch(epoch).setPgs(pgs));
    }

    HeartbeatReply heartbeat(long epoch, ScrubReport scrub) {
        return heartbeat(HeartbeatRequest.newBuilder().setMapEpoch(epoch).setScrub(scrub));
    }

    private HeartbeatReply heartbeat(HeartbeatRequest.Builder beat) {
        return group.callAs(
                        client,
                        Method.HEARTBEAT,
                        beat.setServer(id).setIncarnation(incarnation).build(),
                        HeartbeatReply.parser())
                .get();
    }

    /** Asks for a learner's disk to join. */
    TestGroup.Answer<JoinPgReply> join(PlacementGroup group, int learner) {
        return this.group.callAs(
                client,
                Method.JOIN_PG,
                JoinPgRequest.newBuilder()
                        .setPg(group.getPg())
                        .setPgEpoch(group.getEpoch())
                        .setDisk(learner)
                        .build(),
                JoinPgReply.parser());
    }

    @Override
    public void close() {
        client.close();
        rpc.close();
    }
}
