package io.cairn.mds.raft;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.netty.NettyRpcProxy;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.proto.RaftProtos.RaftGroupIdProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerRequestProto;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.netty.channel.EventLoopGroup;

/** Messages between members, made by hand. */
final class RaftMessages {
    private RaftMessages() {}

    /** Of member 1 in a group of three that never runs. */
    static MetaLogConfig threeMembers(Path directory) {
        return new MetaLogConfig(
                UUID.randomUUID(),
                1,
                List.of(
                        new MetaLogConfig.Member(1, "127.0.0.1", 1, ""),
                        new MetaLogConfig.Member(2, "127.0.0.1", 2, ""),
                        new MetaLogConfig.Member(3, "127.0.0.1", 3, "")),
                directory,
                MetaLogConfig.Transport.NETTY,
                1000,
                Duration.ofHours(1),
                0,
                0,
                true);
    }

    /** Of a message from a member to the one whose configuration this is. */
    static RaftRpcRequestProto head(MetaLogConfig to, int from) {
        return RaftRpcRequestProto.newBuilder()
                .setRequestorId(RaftSettings.peerId(from).toByteString())
                .setReplyId(RaftSettings.peerId(to.memberId()).toByteString())
                .setRaftGroupId(
                        RaftGroupIdProto.newBuilder()
                                .setId(RaftSettings.group(to).getGroupId().toByteString()))
                .setCallId(1)
                .build();
    }

    /** Of a member that leads term 0. */
    static AppendEntriesRequestProto append(MetaLogConfig to, int from, LogEntryProto... entries) {
        return AppendEntriesRequestProto.newBuilder()
                .setServerRequest(head(to, from))
                .addAllEntries(List.of(entries))
                .build();
    }

    /** Sends it as that member would over Netty, and waits for the answer. */
    static AppendEntriesReplyProto send(
            MetaLogConfig to, AppendEntriesRequestProto message, EventLoopGroup threads)
            throws Exception {
        try (NettyRpcProxy proxy =
                new NettyRpcProxy(RaftSettings.peer(to.self()), new RaftProperties(), threads)) {
            return proxy.sendAsync(
                            RaftNettyServerRequestProto.newBuilder()
                                    .setAppendEntriesRequest(message)
                                    .build())
                    .get(30, TimeUnit.SECONDS)
                    .getAppendEntriesReply();
        }
    }

    static LogEntryProto entry(ByteString data) {
        return LogEntryProto.newBuilder()
                .setTerm(1)
                .setIndex(7)
                .setStateMachineLogEntry(StateMachineLogEntryProto.newBuilder().setLogData(data))
                .build();
    }

    static LogEntryProto configuration(int... members) {
        RaftConfigurationProto.Builder peers = RaftConfigurationProto.newBuilder();
        for (int id : members) {
            peers.addPeers(
                    RaftPeerProto.newBuilder().setId(RaftSettings.peerId(id).toByteString()));
        }
        return LogEntryProto.newBuilder().setIndex(7).setConfigurationEntry(peers).build();
    }
}
