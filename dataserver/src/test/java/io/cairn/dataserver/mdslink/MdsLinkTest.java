package io.cairn.dataserver.mdslink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.config.HostPort;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.Lease;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MdsLinkTest {
    /** What a name stood for at the start may be another machine's address by now. */
    @Test
    void namesAreNotLookedUpOnceForEver() {
        LeaderFinder finder =
                MdsLink.finder(
                        List.of(HostPort.parse("localhost:7000"), HostPort.parse("[::1]:7")));
        assertThat(finder.current().isUnresolved()).isTrue();
        finder.learn(List.of("localhost:7000"));
        assertThat(finder).as("each once").hasToString("localhost:7000, [0:0:0:0:0:0:0:1]:7");
    }

    /** As when there is no direct memory for it: the server would be down until it is restarted. */
    @Test
    void whatCannotBeSentOnceIsSentTheNextTime() throws Exception {
        AtomicInteger beats = new AtomicInteger();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        Hello hello = Hello.newBuilder().setRole(Role.ROLE_MDS).build();
        try (RpcLoops loops = new RpcLoops(1, "link-test");
                RpcServer mds =
                        RpcServer.bind(
                                loops,
                                any,
                                () -> hello,
                                HelloPolicy.ACCEPT,
                                r -> answer(r, beats),
                                RpcOptions.DEFAULT);
                RpcClient client =
                        new RpcClient(loops, () -> hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT)) {
            Forgetful server = new Forgetful();
            MdsLink link =
                    new MdsLink(
                            loops.owned().getFirst(),
                            client,
                            List.of(HostPort.parse("127.0.0.1:" + mds.localAddress().getPort())),
                            Duration.ofMillis(10),
                            new Lease(System::nanoTime),
                            server);
            link.start();
            await().atMost(Duration.ofSeconds(30)).until(() -> beats.get() >= 3);
            link.stop();
            assertThat(server.requests.get()).isGreaterThan(1);
            assertThat(server.heartbeats.get()).isGreaterThan(3);
        }
    }

    private static void answer(RpcRequest request, AtomicInteger beats) {
        switch (Method.forNumber(request.method())) {
            case REGISTER_SERVER ->
                    request.reply(
                            RegisterServerReply.newBuilder()
                                    .setServer(1)
                                    .setLeaseMillis(10_000)
                                    .build());
            case HEARTBEAT -> {
                beats.incrementAndGet();
                request.reply(HeartbeatReply.getDefaultInstance());
            }
            case null, default -> request.fail(RpcStatus.fail(Errno.EOPNOTSUPP, "not here"));
        }
    }

    /** Its first registration and its second heartbeat fail. */
    private static final class Forgetful implements MdsLink.Reporter {
        private final AtomicInteger requests = new AtomicInteger();
        private final AtomicInteger heartbeats = new AtomicInteger();

        @Override
        public RegisterServerRequest request() {
            if (requests.incrementAndGet() == 1) {
                throw new OutOfMemoryError("of this test");
            }
            return RegisterServerRequest.getDefaultInstance();
        }

        @Override
        public boolean registered(RegisterServerReply reply) {
            return true;
        }

        @Override
        public void failed(DataServerException cause) {
            throw new AssertionError(cause);
        }

        @Override
        public HeartbeatRequest heartbeat() {
            if (heartbeats.incrementAndGet() == 2) {
                throw new OutOfMemoryError("of this test");
            }
            return HeartbeatRequest.getDefaultInstance();
        }

        @Override
        public void answered(HeartbeatReply reply) {}

        @Override
        public List<String> metadataServers() {
            return List.of();
        }

        @Override
        public long mapEpoch() {
            return 0;
        }

        @Override
        public long appliedEpoch() {
            return 0;
        }
    }
}
