package io.cairn.common.rpc;

import static io.cairn.common.rpc.RpcTestCalls.await;
import static io.cairn.common.rpc.RpcTestCalls.call;
import static io.cairn.common.rpc.RpcTestCalls.message;
import static io.cairn.common.rpc.RpcTestCalls.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A server among hostile, broken and slow peers; a client with a hostile server. */
class FrameAttacksTest {
    private static final Hello HELLO =
            Hello.newBuilder()
                    .setClusterId(ByteString.copyFrom(new byte[16]))
                    .setRole(Role.ROLE_CLIENT)
                    .build();
    private static final int LARGE_ANSWER = 256 << 10;

    private final long buffersBefore = PooledBuffers.live();
    private final RpcLoops loops = new RpcLoops(1, "test-attacks");
    private final AtomicInteger served = new AtomicInteger();

    @AfterEach
    void close() {
        loops.close();
        PooledBuffers.assertLive(buffersBefore);
    }

    private RpcServer server(RpcOptions options) throws IOException {
        return RpcServer.bind(
                loops,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                () -> HELLO,
                HelloPolicy.ACCEPT,
                this::handle,
                options);
    }

    private void handle(RpcRequest request) {
        served.incrementAndGet();
        if (request.method() == 99) {
            ByteBuf large = loops.allocator().directBuffer(LARGE_ANSWER).writeZero(LARGE_ANSWER);
            request.reply(Unpooled.EMPTY_BUFFER, large);
        } else {
            request.reply(message(1));
        }
    }

    @Test
    void serverClosesEveryAttackerAndLives() throws IOException {
        try (RpcServer server = server(RpcOptions.DEFAULT.withHandshakeTimeoutMillis(500))) {
            FrameAttacks attacks = new FrameAttacks(server.localAddress(), HELLO);
            attacks.run();
            assertThat(served).hasValue(0);
            attacks.fuzzMethods(20, 1, 2, 256, 65535);
            assertThat(served).hasValue(80);
            await().until(() -> server.peers().isEmpty());
        }
    }

    /** The peer asks for 100 MiB and reads nothing. */
    @Test
    void peerThatDoesNotReadIsNotReadFromEither() throws IOException {
        try (RpcServer server = server(RpcOptions.DEFAULT);
                Socket socket = new Socket()) {
            socket.setReceiveBufferSize(64 << 10);
            socket.connect(server.localAddress());
            socket.getOutputStream().write(RawFrame.hello(Handshake.local(HELLO)).bytes());
            RawFrame ask = RawFrame.of(1);
            ask.method = 99;
            byte[] asks = new byte[40 * 400];
            for (int i = 0; i < 400; i++) {
                System.arraycopy(ask.bytes(), 0, asks, 40 * i, 40);
            }
            Thread writer =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    socket.getOutputStream().write(asks);
                                } catch (IOException e) {
                                    // the test is over
                                }
                            });
            // Everything it may hold: the high mark, what the sockets take, and one answer.
            AtomicLong last = new AtomicLong(-1);
            await().pollInterval(Duration.ofMillis(300))
                    .until(() -> last.getAndSet(served.get()) == served.get() && served.get() > 0);
            assertThat(served.get()).isLessThan(200);

            // It reads after all: everything is served.
            byte[] sink = new byte[1 << 20];
            socket.setSoTimeout(10_000);
            while (served.get() < 400) {
                assertThat(socket.getInputStream().read(sink)).isPositive();
            }
            assertThat(served).hasValue(400);
            writer.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Messages that ask for no answer count as requests do until they are handled. */
    @Test
    void oneWayMessagesAreBoundedToo() throws IOException {
        Queue<RpcRequest> working = new ConcurrentLinkedQueue<>();
        AtomicInteger most = new AtomicInteger();
        try (RpcServer server =
                        RpcServer.bind(
                                loops,
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                () -> HELLO,
                                HelloPolicy.ACCEPT,
                                request -> {
                                    working.add(request);
                                    most.accumulateAndGet(working.size(), Math::max);
                                    served.incrementAndGet();
                                },
                                RpcOptions.DEFAULT.withMaxInFlight(2, 1 << 20));
                Socket socket = new Socket()) {
            socket.connect(server.localAddress());
            socket.getOutputStream().write(RawFrame.hello(Handshake.local(HELLO)).bytes());
            RawFrame message = RawFrame.of(3);
            message.method = 1;
            message.requestId = 0;
            message.word = 0;
            message.head = new byte[10];
            byte[] one = message.bytes();
            byte[] all = new byte[20 * one.length];
            for (int i = 0; i < 20; i++) {
                System.arraycopy(one, 0, all, i * one.length, one.length);
            }
            socket.getOutputStream().write(all);
            for (int i = 0; i < 20; i++) {
                await().until(() -> !working.isEmpty());
                working.remove().reply(message(1));
            }
            assertThat(served).hasValue(20);
            assertThat(most.get()).isLessThanOrEqualTo(2);
        }
    }

    @Test
    void pushesToAPeerThatDoesNotReadEndItsConnection() throws IOException {
        try (RpcServer server = server(RpcOptions.DEFAULT.withMaxQueuedBytes(1 << 20));
                Socket socket = new Socket()) {
            socket.setReceiveBufferSize(64 << 10);
            socket.connect(server.localAddress());
            socket.getOutputStream().write(RawFrame.hello(Handshake.local(HELLO)).bytes());
            await().until(() -> server.peers().size() == 1);
            RpcPeer peer = server.peers().iterator().next();
            var large =
                    Hello.newBuilder().setAuthentication(ByteString.copyFrom(new byte[1 << 20]));
            var message = large.build();
            for (int i = 0; i < 64 && peer.connected(); i++) {
                peer.push(1, message);
                int before = served.get();
                try (RpcClient client = client()) {
                    call(client.channel(server.localAddress()), 1, message(1));
                }
                assertThat(served.get()).isGreaterThan(before);
            }
            await().until(() -> !peer.connected());
        }
    }

    @Test
    void clientIsNotHarmedByAGarbageServer() throws IOException {
        try (ServerSocket fake = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
                RpcClient client = client()) {
            Thread.ofVirtual()
                    .start(() -> {
                        while (!fake.isClosed()) {
                            try (Socket peer = fake.accept()) {
                                peer.getOutputStream()
                                        .write(
                                                "SSH-2.0-x"
                                                        .repeat(9)
                                                        .getBytes(StandardCharsets.US_ASCII));
                            } catch (IOException e) {
                                // next
                            }
                        }
                    });
            RpcChannel channel =
                    client.channel(
                            new InetSocketAddress(fake.getInetAddress(), fake.getLocalPort()));
            for (int i = 0; i < 5; i++) {
                RpcStatus status =
                        await(start(channel, 1, message(1), Duration.ofMinutes(5))).status();
                assertThat(status.errno()).isEqualTo(Errno.EHOSTUNREACH);
                assertThat(status.advice()).isEqualTo(Advice.RETRY);
            }
        }
    }

    /** Accepts, says nothing: the handshake timeout ends it, or the call's own deadline. */
    @Test
    void clientIsNotHeldByASilentServer() throws IOException {
        try (ServerSocket fake = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
                RpcClient client = client()) {
            RpcChannel channel =
                    client.channel(
                            new InetSocketAddress(fake.getInetAddress(), fake.getLocalPort()));
            var longCall = start(channel, 1, message(1), Duration.ofMinutes(5));
            var shortCall = start(channel, 1, message(1), Duration.ofMillis(50));
            assertThat(await(shortCall).status().errno()).isEqualTo(Errno.ETIMEDOUT);
            RpcStatus status = await(longCall).status();
            assertThat(status.errno()).isEqualTo(Errno.EHOSTUNREACH);
            assertThat(status.detail()).contains("no handshake within 500 ms");
        }
    }

    @Test
    void unknownHostFailsSoon() {
        try (RpcClient client = client()) {
            RpcChannel channel = client.channel(RpcAddress.parse("no-such-host.invalid:1"));
            RpcStatus status = await(start(channel, 1, message(1), Duration.ofMinutes(5))).status();
            assertThat(status.errno()).isEqualTo(Errno.EHOSTUNREACH);
            assertThat(status.detail()).contains("host name is unknown");
        }
    }

    private RpcClient client() {
        return new RpcClient(
                loops,
                () -> HELLO,
                HelloPolicy.ACCEPT,
                RpcOptions.DEFAULT.withHandshakeTimeoutMillis(500));
    }
}
