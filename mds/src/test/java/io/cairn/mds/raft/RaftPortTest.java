package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.time.NanoClock;
import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.netty.NettyFactory;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.retry.RetryPolicies;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.grpc.Attributes;
import org.apache.ratis.thirdparty.io.grpc.ManagedChannel;
import org.apache.ratis.thirdparty.io.grpc.StatusRuntimeException;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.apache.ratis.util.TimeDuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Somebody who is no member reaches the Raft port, with Ratis's own client. */
final class RaftPortTest {
    /** An address of this machine that no member has. */
    private static final String ELSEWHERE = "127.0.0.2";

    private static final MetaLogConfig CONFIG = RaftMessages.threeMembers(Path.of("unused"));

    @TempDir Path directory;

    private interface Request {
        RaftClientReply send(RaftClient client) throws IOException;
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void whatNoMemberSendsIsRefusedAndTheGroupLives(Transport transport) throws Exception {
        List<MetaLogConfig> group = LogMember.group(directory, 3, transport, 1000);
        List<LogMember> members = new ArrayList<>();
        try {
            for (MetaLogConfig config : group) {
                members.add(new LogMember(config));
            }
            LogMember leader = LogMember.awaitLeader(members);
            leader.submit("before").get(30, TimeUnit.SECONDS);
            try (RaftClient client = stranger(leader.config)) {
                for (Request request : requests(leader.config)) {
                    assertThatThrownBy(() -> success(request.send(client)))
                            .isInstanceOfAny(IOException.class, StatusRuntimeException.class);
                }
            }
            assertThat(leader.submit("after").get(30, TimeUnit.SECONDS)).isEqualTo("2:after");
            for (LogMember member : members) {
                LogMember.awaitEntries(member, List.of("before", "after"));
                assertThat(member.failure).hasNullValue();
            }
        } finally {
            for (LogMember member : members) {
                member.close();
            }
        }
        // Nor is anything of it in a log, of which a member could die when it starts again.
        for (MetaLogConfig config : group) {
            members.set(config.memberId() - 1, new LogMember(config));
        }
        try {
            LogMember leader = LogMember.awaitLeader(members);
            assertThat(leader.submit("again").get(30, TimeUnit.SECONDS)).isEqualTo("3:again");
            assertThat(members).allSatisfy(m -> assertThat(m.failure).hasNullValue());
        } finally {
            for (LogMember member : members) {
                member.close();
            }
        }
    }

    /** Committed, they would stop each member, and again whenever it starts. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void threeForeignBytesAreNotLogged(Transport transport) throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, transport, 1000).getFirst();
        try (LogMember member = new LogMember(config);
                RaftClient client = stranger(config)) {
            LogMember.awaitLeader(List.of(member));
            assertThatThrownBy(() -> success(client.io().send(Message.valueOf("abc"))))
                    .isInstanceOf(IOException.class);
            assertThat(member.submit("ours").get(30, TimeUnit.SECONDS)).isEqualTo("1:ours");
            assertThat(member.failure).hasNullValue();
        }
    }

    @Test
    void aConnectionFromElsewhereIsClosedAtOnce() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 3, Transport.NETTY, 1000).getFirst();
        try (LogMember member = new LogMember(config);
                Socket socket = new Socket()) {
            socket.bind(new InetSocketAddress(ELSEWHERE, 0));
            socket.setSoTimeout(30_000);
            socket.connect(
                    new InetSocketAddress(config.self().raftHost(), config.self().raftPort()));
            assertThat(socket.getInputStream().read()).isNegative();
            assertThat(member.log.stats().refused()).isEqualTo(1);
        }
    }

    @Test
    void aCallFromElsewhereIsRefusedByGrpc() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 3, Transport.GRPC, 1000).getFirst();
        RequestVoteRequestProto vote =
                RequestVoteRequestProto.newBuilder()
                        .setServerRequest(RaftMessages.head(config, 2))
                        .setPreVote(true)
                        .build();
        try (LogMember member = new LogMember(config)) {
            assertThat(voteFrom("127.0.0.1", config, vote).getServerReply().getReplyId())
                    .isEqualTo(RaftSettings.peerId(1).toByteString());
            assertThatThrownBy(() -> voteFrom(ELSEWHERE, config, vote))
                    .isInstanceOf(StatusRuntimeException.class)
                    .hasMessageContaining("PERMISSION_DENIED");
            assertThat(member.log.stats().refused()).isEqualTo(1);
        }
    }

    private static RequestVoteReplyProto voteFrom(
            String from, MetaLogConfig to, RequestVoteRequestProto vote) {
        ManagedChannel channel =
                NettyChannelBuilder.forAddress(to.self().raftHost(), to.self().raftPort())
                        .localSocketPicker(
                                new NettyChannelBuilder.LocalSocketPicker() {
                                    @Override
                                    public SocketAddress createSocketAddress(
                                            SocketAddress remote, Attributes attributes) {
                                        return new InetSocketAddress(from, 0);
                                    }
                                })
                        .usePlaintext()
                        .build();
        try {
            return RaftServerProtocolServiceGrpc.newBlockingStub(channel).requestVote(vote);
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void otherGroupsOtherMembersAndStrangersAreRefused() throws IOException {
        RaftPort port = port();
        port.admit(RaftMessages.head(CONFIG, 2));
        for (int stranger : new int[] {1, 4}) {
            assertThatThrownBy(() -> port.admit(RaftMessages.head(CONFIG, stranger)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no other member of this group");
        }
        RaftRpcRequestProto head = RaftMessages.head(CONFIG, 2);
        assertThatThrownBy(() ->
                        port.admit(
                                head.toBuilder()
                                        .setReplyId(RaftSettings.peerId(3).toByteString())
                                        .build()))
                .hasMessageContaining("another member");
        MetaLogConfig other = RaftMessages.threeMembers(directory);
        assertThatThrownBy(() -> port.admit(RaftMessages.head(other, 2)))
                .hasMessageContaining("another Raft group");
        assertThatThrownBy(() -> port.admit(RaftMessages.append(other, 2)))
                .hasMessageContaining("another Raft group");
        assertThat(port.refused()).isEqualTo(5);
    }

    @Test
    void entriesThatCannotBeDecodedOrNameNoGroupAreRefused() throws IOException {
        RaftPort port = port();
        ByteString good = RatisStateMachine.toRatis(3, com.google.protobuf.ByteString.EMPTY);
        port.admit(
                RaftMessages.append(
                        CONFIG,
                        2,
                        RaftMessages.entry(good),
                        RaftMessages.configuration(1, 2, 3),
                        RaftMessages.configuration(1, 2, 3, 4)));
        List<LogEntryProto> bad =
                List.of(
                        RaftMessages.entry(ByteString.copyFromUtf8("abc")),
                        RaftMessages.entry(good.concat(ByteString.copyFrom(new byte[] {-1}))),
                        RaftMessages.configuration(),
                        RaftMessages.configuration(1, 0),
                        LogEntryProto.newBuilder().setIndex(7).build());
        for (LogEntryProto entry : bad) {
            assertThatThrownBy(() ->
                            port.admit(
                                    RaftMessages.append(
                                            CONFIG, 2, RaftMessages.entry(good), entry)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("log entry 7");
        }
    }

    @Test
    void whomALeaderHasToldOfIsAMember() throws IOException {
        RaftPort port = port();
        port.know(List.of(new MetaLogConfig.Member(4, "127.0.0.1", 4, "")));
        port.admit(RaftMessages.head(CONFIG, 2));
        port.admit(RaftMessages.head(CONFIG, 4));
        port.know(List.of());
        assertThatThrownBy(() -> port.admit(RaftMessages.head(CONFIG, 4)))
                .hasMessageContaining("no other member of this group");
    }

    private RaftPort port() throws IOException {
        return new RaftPort(
                CONFIG, null, new ListState(directory.resolve("list")), NanoClock.MONOTONIC);
    }

    /** Those that do the least harm first: the others find a group that still could be harmed. */
    private static List<Request> requests(MetaLogConfig config) {
        RaftGroup group = RaftSettings.group(config);
        RaftPeerId self = RaftSettings.peerId(config.memberId());
        List<RaftPeer> alone = List.of(group.getPeer(self));
        return List.of(
                client -> client.getGroupManagementApi(self).list(),
                client -> client.getGroupManagementApi(self).info(group.getGroupId()),
                client -> client.getSnapshotManagementApi(self).create(1_000),
                client -> client.getLeaderElectionManagementApi(self).pause(),
                client -> client.admin().transferLeadership(other(group, self), 1_000),
                client -> client.io().sendReadOnly(Message.valueOf("read")),
                client -> client.io().sendStaleRead(Message.valueOf("read"), 0, self),
                client -> client.admin().setConfiguration(alone),
                client -> client.io().send(Message.valueOf("abc")),
                client ->
                        client.getGroupManagementApi(self)
                                .add(RaftGroup.valueOf(RaftGroupId.randomId(), alone)),
                client ->
                        client.getGroupManagementApi(self).remove(group.getGroupId(), true, false));
    }

    private static RaftPeerId other(RaftGroup group, RaftPeerId self) {
        return group.getPeers().stream()
                .map(RaftPeer::getId)
                .filter(id -> !id.equals(self))
                .findFirst()
                .orElseThrow();
    }

    private static void success(RaftClientReply reply) throws IOException {
        if (!reply.isSuccess()) {
            throw new IOException(reply.getException());
        }
    }

    private static RaftClient stranger(MetaLogConfig config) {
        RaftProperties properties = new RaftProperties();
        RaftClientConfigKeys.Rpc.setRequestTimeout(
                properties, TimeDuration.valueOf(5, TimeUnit.SECONDS));
        ClientId id = ClientId.randomId();
        RaftClient.Builder builder =
                RaftClient.newBuilder()
                        .setClientId(id)
                        .setProperties(properties)
                        .setRaftGroup(RaftSettings.group(config))
                        .setLeaderId(RaftSettings.peerId(config.memberId()))
                        .setRetryPolicy(RetryPolicies.noRetry());
        return switch (config.transport()) {
            case NETTY ->
                    builder.setClientRpc(
                                    new NettyFactory(new Parameters())
                                            .newRaftClientRpc(id, properties))
                            .build();
            case GRPC ->
                    builder.setClientRpc(
                                    new GrpcFactory(new Parameters())
                                            .newRaftClientRpc(id, properties))
                            .build();
        };
    }
}
