package io.cairn.common.rpc;

import static io.cairn.common.rpc.RpcTestCalls.await;
import static io.cairn.common.rpc.RpcTestCalls.call;
import static io.cairn.common.rpc.RpcTestCalls.message;
import static io.cairn.common.rpc.RpcTestCalls.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Client and server over loopback sockets; run for each transport. */
abstract class RpcEndToEndContract {
    private static final int ECHO = 256;
    private static final int SILENT = 257;
    private static final int THROW = 1;
    private static final int FAIL = 2;
    private static final int ECHO_LATER = 258;
    private static final int PUSH_ME = 3;
    private static final int COUNT = 4;
    private static final int PUSHED = 40;

    private static final Hello HELLO =
            Hello.newBuilder()
                    .setClusterId(ByteString.copyFrom(new byte[16]))
                    .setRole(Role.ROLE_CLIENT)
                    .setId(7)
                    .build();

    private final long buffersBefore = PooledBuffers.live();
    private final RpcLoops loops;
    private final List<AutoCloseable> toClose = new ArrayList<>();
    private final Queue<RpcRequest> silent = new ConcurrentLinkedQueue<>();
    private final AtomicInteger counted = new AtomicInteger();

    RpcEndToEndContract(boolean nativeTransport) {
        loops = new RpcLoops(2, "test-rpc", nativeTransport);
    }

    @AfterEach
    void close() throws Exception {
        silent.forEach(r -> r.fail(RpcStatus.fail(Errno.EIO, "end of test")));
        for (AutoCloseable c : toClose.reversed()) {
            c.close();
        }
        loops.close();
        PooledBuffers.assertLive(buffersBefore);
    }

    private RpcServer server(int port) throws IOException {
        return server(port, RpcOptions.DEFAULT);
    }

    private RpcServer server(int port, RpcOptions options) throws IOException {
        RpcServer server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), port),
                        () -> HELLO.toBuilder().setRole(Role.ROLE_MDS).setId(1).build(),
                        HelloPolicy.ACCEPT,
                        this::handle,
                        options);
        toClose.add(server);
        return server;
    }

    private RpcClient client() {
        return client(HELLO);
    }

    private RpcClient client(Hello hello) {
        RpcClient client =
                new RpcClient(loops, () -> hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        toClose.add(client);
        return client;
    }

    @Test
    void largeMessagesOfClientsWaitForMemoryAndThoseOfServersDoNot() throws Exception {
        int mib = 1 << 20;
        InetSocketAddress address =
                server(0, RpcOptions.DEFAULT.withMaxClientBytes(2 * mib + 1000)).localAddress();
        List<CompletableFuture<RpcTestCalls.Outcome>> calls = new ArrayList<>();
        List<RpcClient> clients = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            clients.add(client());
            calls.add(silentCall(clients.get(i), address, mib));
        }
        await().until(() -> silent.size() == 2);
        RpcClient other = client(HELLO.toBuilder().setRole(Role.ROLE_DATA_SERVER).build());
        calls.add(silentCall(other, address, mib));
        calls.add(silentCall(client(), address, 1000));
        await().until(() -> silent.size() == 4);
        // Those that wait wait: what an answer cannot show, the server's account does.
        assertThat(silent.stream().filter(r -> r.payload().readableBytes() == mib)).hasSize(3);

        for (RpcRequest request : List.copyOf(silent)) { // without those that come meanwhile
            request.releaseBody();
            request.releaseBody();
        }
        await().until(() -> silent.size() == 6);
        List.copyOf(silent).forEach(RpcRequest::releaseBody);
        await().until(() -> silent.size() == 7);
        silent.forEach(r -> r.reply(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER));
        silent.clear();
        for (CompletableFuture<RpcTestCalls.Outcome> call : calls) {
            assertThat(await(call).status().ok()).isTrue();
        }
    }

    @Test
    void aClientThatGoesLeavesTheMemoryToOthers() throws Exception {
        int mib = 1 << 20;
        InetSocketAddress address =
                server(0, RpcOptions.DEFAULT.withMaxClientBytes(mib)).localAddress();
        RpcClient first = client();
        var firstCall = silentCall(first, address, mib);
        await().until(() -> silent.size() == 1);
        RpcClient second = client();
        var secondCall = silentCall(second, address, mib);
        RpcClient third = client();
        var thirdCall = silentCall(third, address, mib);
        second.close();
        assertThat(await(secondCall).status().ok()).isFalse();
        first.close();
        assertThat(await(firstCall).status().ok()).isFalse();
        assertThat(silent.size()).isEqualTo(1);
        silent.remove().fail(RpcStatus.fail(Errno.EIO, "nobody waits"));
        await().until(() -> {
            // The second's too, if it was all sent before its client went.
            RpcRequest received = silent.poll();
            if (received != null) {
                received.reply(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
            }
            return thirdCall.isDone();
        });
        assertThat(await(thirdCall).status().ok()).isTrue();
    }

    private static CompletableFuture<RpcTestCalls.Outcome> silentCall(
            RpcClient from, InetSocketAddress to, int bytes) {
        return start(from.channel(to), SILENT, new byte[0], new byte[bytes], Duration.ofMinutes(1));
    }

    private void handle(RpcRequest request) {
        switch (request.method()) {
            case ECHO -> echo(request);
            case ECHO_LATER -> Thread.ofVirtual().start(() -> echo(request));
            case SILENT -> silent.add(request);
            case THROW -> throw new IllegalStateException("on purpose");
            case FAIL ->
                    request.fail(
                            RpcStatus.fail(Errno.ENOSPC, Advice.REFRESH_MAP, "no room für dich"));
            case PUSH_ME -> {
                for (int i = 0; i < 100; i++) {
                    request.peer().push(PUSHED, message(2 * i));
                    request.peer().push(new Broadcast(PUSHED, message(2 * i + 1)));
                }
                request.reply(message(100));
            }
            case COUNT -> {
                counted.incrementAndGet();
                request.reply(message(0));
            }
            default -> throw new AssertionError();
        }
    }

    private static void echo(RpcRequest request) {
        request.reply(request.head().retain(), request.payload().retain());
    }

    @Test
    void callsControlAndDataMethods() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());

        var reply = call(channel, ECHO, message(42));
        assertThat(reply.status()).isEqualTo(RpcStatus.OK);
        assertThat(reply.head()).isEqualTo(message(42).toByteArray());
        assertThat(reply.payload()).isEmpty();
        assertThat(channel.connected()).isTrue();

        var data = call(channel, ECHO, new byte[] {1, 2, 3}, new byte[] {4, 5});
        assertThat(data.head()).containsExactly(1, 2, 3);
        assertThat(data.payload()).containsExactly(4, 5);

        assertThat(call(channel, ECHO, new byte[0], new byte[0]).status().ok()).isTrue();
    }

    @Test
    void carriesErrnoAdviceAndDetail() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        assertThat(call(channel, FAIL, message(1)).status())
                .isEqualTo(RpcStatus.fail(Errno.ENOSPC, Advice.REFRESH_MAP, "no room für dich"));
    }

    @Test
    void handlerExceptionIsEioAndTheConnectionLives() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        RpcStatus status = call(channel, THROW, message(1)).status();
        assertThat(status.errno()).isEqualTo(Errno.EIO);
        assertThat(status.detail()).contains("on purpose");
        assertThat(call(channel, ECHO, message(2)).status().ok()).isTrue();
    }

    @Test
    void pushesInOrder() throws IOException {
        RpcClient client = client();
        Queue<Long> received = new ConcurrentLinkedQueue<>();
        client.onPush(
                PUSHED,
                (from, head) ->
                        received.add(Heads.parse(GetAttrRequest.parser(), head).getInode()));
        call(client.channel(server(0).localAddress()), PUSH_ME, message(1));
        assertThat(List.copyOf(received)).hasSize(200).isSorted();
    }

    @Test
    void whatIsForManyIsEncodedOnceAndOutlivesTheConnections() throws IOException {
        Broadcast message = new Broadcast(PUSHED, message(7));
        RpcServer server = server(0);
        for (int i = 0; i < 3; i++) {
            RpcClient client = client();
            Queue<Long> received = new ConcurrentLinkedQueue<>();
            client.onPush(
                    PUSHED,
                    (from, head) ->
                            received.add(Heads.parse(GetAttrRequest.parser(), head).getInode()));
            call(client.channel(server.localAddress()), ECHO, message(1));
            server.peers().forEach(peer -> peer.push(message));
            await().until(() -> List.copyOf(received).equals(List.of(7L)));
            client.close();
            await().until(() -> server.peers().isEmpty());
        }
        assertThat(message.frame().readableBytes()).isEqualTo(message.lengthBytes());
    }

    @Test
    void sendsOneWay() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        for (int i = 0; i < 50; i++) {
            channel.send(COUNT, message(i));
        }
        call(channel, ECHO, message(1));
        assertThat(counted).hasValue(50);
    }

    @Test
    void deadlinePassesAndTheLateAnswerIsIgnored() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        call(channel, ECHO, message(0)); // so that the request is sent before its deadline
        RpcStatus status =
                await(start(channel, SILENT, message(1), Duration.ofMillis(300))).status();
        assertThat(status.errno()).isEqualTo(Errno.ETIMEDOUT);
        assertThat(status.advice()).isEqualTo(Advice.RETRY);
        await().until(() -> !silent.isEmpty());
        RpcRequest late = silent.remove();
        assertThat(late.deadlineNanos() - System.nanoTime()).isNegative();
        late.reply(message(5));
        assertThat(call(channel, ECHO, message(2)).status().ok()).isTrue();

        var past = await(start(channel, SILENT, message(1), Duration.ofMillis(-1)));
        assertThat(past.status().errno()).isEqualTo(Errno.ETIMEDOUT);
    }

    @Test
    void serverKilledMidCallAndRestarted() throws IOException {
        RpcServer first = server(0);
        int port = first.localAddress().getPort();
        RpcChannel channel = client().channel(first.localAddress());
        List<CompletableFuture<RpcTestCalls.Outcome>> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            calls.add(start(channel, SILENT, message(i), Duration.ofSeconds(20)));
        }
        await().until(() -> silent.size() == 20);
        AtomicInteger closed = new AtomicInteger();
        silent.forEach(r -> r.peer().onClose(closed::incrementAndGet));
        first.close();
        for (var c : calls) {
            RpcStatus status = await(c).status();
            assertThat(status.errno()).isEqualTo(Errno.EHOSTUNREACH);
            assertThat(status.advice()).isEqualTo(Advice.RETRY);
        }
        await().untilAsserted(() -> assertThat(closed).hasValue(20));
        // Answers to a connection that is gone are dropped.
        silent.forEach(r -> r.reply(message(1)));
        silent.clear();

        // Nobody listens: fails long before the deadline.
        RpcStatus down = await(start(channel, ECHO, message(1), Duration.ofHours(1))).status();
        assertThat(down.errno()).isEqualTo(Errno.EHOSTUNREACH);
        assertThat(down.advice()).isEqualTo(Advice.RETRY);

        server(port);
        await().atMost(Duration.ofSeconds(20))
                .until(() -> call(channel, ECHO, message(9)).status().ok());
    }

    @Test
    void differentClusterIsRefusedWithASentence() throws IOException {
        Hello other =
                HELLO.toBuilder().setClusterId(ByteString.copyFromUtf8("0123456789abcdef")).build();
        RpcChannel channel = client(other).channel(server(0).localAddress());
        RpcStatus status = call(channel, ECHO, message(1)).status();
        assertThat(status.errno()).isEqualTo(Errno.EPROTO);
        assertThat(status.advice()).isEqualTo(Advice.GIVE_UP);
        assertThat(status.detail())
                .contains("cluster id differs")
                .contains("30313233343536373839616263646566");

        RpcChannel unknown =
                client(HELLO.toBuilder().clearClusterId().build())
                        .channel(server(0).localAddress());
        assertThat(call(unknown, ECHO, message(1)).status().ok()).isTrue();
    }

    @Test
    void versionsThatDoNotOverlapAreRefused() throws IOException {
        Hello future = HELLO.toBuilder().setMinVersion(2).setMaxVersion(3).build();
        RpcChannel channel = client(future).channel(server(0).localAddress());
        RpcStatus status = call(channel, ECHO, message(1)).status();
        assertThat(status.errno()).isEqualTo(Errno.EPROTO);
        assertThat(status.detail())
                .contains("protocol version does not fit")
                .contains("speaks 1 to 1")
                .contains("speaks 2 to 3");
    }

    @Test
    void policiesOfBothSidesCanRefuse() throws IOException {
        RpcServer picky =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> HELLO,
                        (hello, address) -> hello.getId() == 7 ? "seven is unwelcome" : null,
                        this::handle,
                        RpcOptions.DEFAULT);
        toClose.add(picky);
        RpcStatus status = call(client().channel(picky.localAddress()), ECHO, message(1)).status();
        assertThat(status.errno()).isEqualTo(Errno.EPROTO);
        assertThat(status.detail()).contains("seven is unwelcome");

        RpcClient pickyClient =
                new RpcClient(
                        loops, () -> HELLO, (hello, address) -> "not you", RpcOptions.DEFAULT);
        toClose.add(pickyClient);
        status = call(pickyClient.channel(server(0).localAddress()), ECHO, message(1)).status();
        assertThat(status.errno()).isEqualTo(Errno.EPROTO);
        assertThat(status.detail()).isEqualTo("not you");
    }

    @Test
    void manyThreadsPipelineLargeAndSmall() throws Exception {
        RpcServer server = server(0);
        RpcChannel channel = client().channel(server.localAddress());
        long seed = TestSeed.of("RpcEndToEndContract");
        int threads = 4;
        int callsEach = 500;
        var failure = new AtomicReference<String>();
        var left = new CountDownLatch(threads * callsEach);
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            Random random = new Random(seed + t);
            running.add(
                    Thread.ofPlatform()
                            .start(() -> {
                                for (int i = 0; i < callsEach; i++) {
                                    checkedEcho(channel, random, failure, left);
                                }
                            }));
        }
        for (Thread thread : running) {
            thread.join();
        }
        assertThat(left.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(failure.get()).isNull();
    }

    private static void checkedEcho(
            RpcChannel channel,
            Random random,
            AtomicReference<String> failure,
            CountDownLatch left) {
        byte[] head = new byte[random.nextInt(300)];
        int length =
                switch (random.nextInt(100)) {
                    case 0 -> random.nextInt(3 << 20);
                    case 1, 2, 3, 4, 5 -> random.nextInt(128 << 10);
                    default -> random.nextInt(8192);
                };
        byte[] payload = new byte[length];
        random.nextBytes(head);
        random.nextBytes(payload);
        channel.call(
                random.nextBoolean() ? ECHO : ECHO_LATER,
                Unpooled.wrappedBuffer(head),
                Unpooled.wrappedBuffer(payload),
                System.nanoTime() + TimeUnit.MINUTES.toNanos(1),
                (status, h, p) -> {
                    if (!status.ok()) {
                        failure.set(status.toString());
                    } else if (!h.equals(Unpooled.wrappedBuffer(head))
                            || !p.equals(Unpooled.wrappedBuffer(payload))) {
                        failure.set("other bytes came back");
                    }
                    left.countDown();
                });
    }

    @Test
    void pinnedChannelDoesNotHop() throws Exception {
        InetSocketAddress address = server(0).localAddress();
        RpcClient client = client();
        for (EventLoop loop : loops.loops()) {
            RpcChannel channel = client.channel(address, loop);
            assertThat(client.channel(address, loop)).isSameAs(channel);
            var sameThread = new CompletableFuture<Boolean>();
            loop.execute(() -> {
                Thread caller = Thread.currentThread();
                channel.call(
                        ECHO,
                        message(1),
                        System.nanoTime() + TimeUnit.SECONDS.toNanos(10),
                        (status, h, p) ->
                                sameThread.complete(
                                        status.ok() && caller.equals(Thread.currentThread())));
            });
            assertThat(sameThread.get(10, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(client.channel(address)).isSameAs(client.channel(address));
    }

    @Test
    void tooLongMessagesFailAtTheSender() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        byte[] huge = new byte[RpcOptions.DEFAULT.maxBodyBytes() + 1];
        assertThat(call(channel, ECHO, new byte[0], huge).status().errno()).isEqualTo(Errno.E2BIG);
        assertThat(call(channel, ECHO, message(1)).status().ok()).isTrue();
    }

    @Test
    void answersOnlyOnce() throws IOException {
        RpcChannel channel = client().channel(server(0).localAddress());
        var answer = start(channel, SILENT, message(1), Duration.ofSeconds(10));
        await().until(() -> !silent.isEmpty());
        RpcRequest request = silent.remove();
        ByteBuf data = Unpooled.copiedBuffer(new byte[10]);
        request.reply(message(1));
        request.reply(Unpooled.buffer(), data);
        assertThat(await(answer).head()).isEqualTo(message(1).toByteArray());
        assertThat(data.refCnt()).isZero();
    }

    @Test
    void closedClientFailsCallsForGood() throws IOException {
        RpcClient client = client();
        RpcChannel channel = client.channel(server(0).localAddress());
        var answer = start(channel, SILENT, message(1), Duration.ofSeconds(10));
        await().until(() -> !silent.isEmpty());
        client.close();
        assertThat(await(answer).status())
                .isEqualTo(RpcStatus.fail(Errno.EHOSTUNREACH, "the client is closed"));
        assertThat(call(channel, ECHO, message(1)).status().advice()).isEqualTo(Advice.GIVE_UP);
    }

    @Test
    void malformedHeadIsEproto() {
        assertThatThrownBy(() ->
                        Heads.parse(
                                GetAttrRequest.parser(),
                                Unpooled.wrappedBuffer(new byte[] {(byte) 0xff, 1})))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("malformed message");
    }

    @Test
    void busyPortIsNamed() throws IOException {
        int port = server(0).localAddress().getPort();
        assertThatThrownBy(() -> server(port))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("127.0.0.1:" + port + " cannot be bound");
    }
}
