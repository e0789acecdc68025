package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.time.NanoClock;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.netty.NettyConfigKeys;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerReplyProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerRequestProto;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.util.TimeDuration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Votes over connections that lose them. */
@Timeout(60)
final class LostVotesTest {
    /** What a member does with one connection. */
    private enum Member {
        /** Reads, and answers nothing. */
        SILENT,
        /** Answers one request and goes away. */
        ANSWERS_ONCE,
        ANSWERS
    }

    @TempDir Path directory;

    private final Queue<Member> connections = new ConcurrentLinkedQueue<>();
    private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
    private ServerSocket member;
    private NettyPort port;

    @BeforeEach
    void open() throws IOException {
        member = new ServerSocket(0, 9, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
        RaftProperties properties = new RaftProperties();
        NettyConfigKeys.Server.setHost(properties, "127.0.0.1");
        // Nobody waits for so long: an answer comes because it was asked for again.
        RaftClientConfigKeys.Rpc.setRequestTimeout(properties, TimeDuration.ONE_MINUTE);
        MetaLogConfig config = RaftMessages.threeMembers(Path.of("unused"));
        port =
                new NettyPort(
                        server(properties),
                        new RaftPort(
                                config,
                                null,
                                new ListState(directory.resolve("list")),
                                NanoClock.MONOTONIC),
                        gone -> {});
        port.addRaftPeers(
                List.of(
                        RaftSettings.peer(
                                new MetaLogConfig.Member(
                                        2, "127.0.0.1", member.getLocalPort(), ""))));
    }

    @AfterEach
    void close() throws IOException {
        member.close();
        for (Socket socket : open) {
            socket.close();
        }
        port.closeImpl();
    }

    @Test
    void aVoteWhoseRequestIsLostIsGivenOverAnotherConnection() throws IOException {
        connections.add(Member.SILENT);
        assertThat(port.requestVote(request(1)).getServerReply().getSuccess()).isTrue();
    }

    @Test
    void aConnectionToAnEarlierProcessOfTheMemberCostsNoVote() throws IOException {
        connections.add(Member.ANSWERS_ONCE);
        assertThat(port.requestVote(request(1)).getServerReply().getSuccess()).isTrue();
        assertThat(port.requestVote(request(2)).getServerReply().getSuccess()).isTrue();
    }

    private static RequestVoteRequestProto request(long term) {
        return RequestVoteRequestProto.newBuilder()
                .setServerRequest(
                        RaftRpcRequestProto.newBuilder()
                                .setRequestorId(RaftSettings.peerId(1).toByteString())
                                .setReplyId(RaftSettings.peerId(2).toByteString())
                                .setCallId(term))
                .setCandidateTerm(term)
                .build();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = member.accept();
                open.add(socket);
                Member what = Objects.requireNonNullElse(connections.poll(), Member.ANSWERS);
                Thread.ofVirtual().start(() -> serve(socket, what));
            }
        } catch (IOException e) {
            // the test has ended
        }
    }

    private static void serve(Socket socket, Member what) {
        try {
            while (true) {
                var request =
                        RaftNettyServerRequestProto.parseDelimitedFrom(socket.getInputStream());
                if (request == null) {
                    return;
                }
                if (what != Member.SILENT) {
                    answer(request.getRequestVoteRequest())
                            .writeDelimitedTo(socket.getOutputStream());
                }
                if (what == Member.ANSWERS_ONCE) {
                    socket.close();
                    return;
                }
            }
        } catch (IOException e) {
            // the test, or who asks, has ended
        }
    }

    private static RaftNettyServerReplyProto answer(RequestVoteRequestProto request) {
        RaftRpcRequestProto head = request.getServerRequest();
        return RaftNettyServerReplyProto.newBuilder()
                .setRequestVoteReply(
                        RequestVoteReplyProto.newBuilder()
                                .setServerReply(
                                        RaftRpcReplyProto.newBuilder()
                                                .setRequestorId(head.getRequestorId())
                                                .setReplyId(head.getReplyId())
                                                .setCallId(head.getCallId())
                                                .setSuccess(true))
                                .setTerm(request.getCandidateTerm()))
                .build();
    }

    private static RaftServer server(RaftProperties properties) {
        return (RaftServer)
                Proxy.newProxyInstance(
                        RaftServer.class.getClassLoader(),
                        new Class<?>[] {RaftServer.class},
                        (proxy, method, arguments) ->
                                switch (method.getName()) {
                                    case "getId" -> RaftSettings.peerId(1);
                                    case "getProperties" -> properties;
                                    default -> throw new AssertionError(method.getName());
                                });
    }
}
