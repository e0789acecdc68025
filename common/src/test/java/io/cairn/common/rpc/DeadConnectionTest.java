package io.cairn.common.rpc;

import static io.cairn.common.rpc.RpcTestCalls.await;
import static io.cairn.common.rpc.RpcTestCalls.message;
import static io.cairn.common.rpc.RpcTestCalls.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.micrometer.core.instrument.FunctionCounter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Connections that die without anybody being told, over sockets. */
class DeadConnectionTest {
    private static final int ANSWERED = 1;
    private static final int HELD = 2;

    /** Longer than any test: what ends earlier does not by its deadline. */
    private static final Duration FOR_EVER = Duration.ofHours(1);

    private final Meters meters = Meters.unpublished();
    private final RpcLoops loops = new RpcLoops(2, "test-dead", meters);
    private final Queue<RpcRequest> held = new ConcurrentLinkedQueue<>();
    private RpcServer server;
    private TestRelay relay;
    private RpcClient client;

    @BeforeEach
    void open() throws IOException {
        listen(RpcOptions.DEFAULT);
        client =
                new RpcClient(
                        loops,
                        () -> Hello.newBuilder().setRole(Role.ROLE_CLIENT).build(),
                        HelloPolicy.ACCEPT,
                        RpcOptions.DEFAULT);
    }

    @AfterEach
    void close() {
        client.close();
        held.forEach(request -> request.fail(RpcStatus.fail(Errno.EIO, "end of test")));
        relay.close();
        server.close();
        loops.close();
    }

    private void listen(RpcOptions options) throws IOException {
        server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> Hello.newBuilder().setRole(Role.ROLE_DATA_SERVER).build(),
                        HelloPolicy.ACCEPT,
                        this::serve,
                        options);
        relay = new TestRelay(server.localAddress());
    }

    private void serve(RpcRequest request) {
        if (request.method() == HELD) {
            held.add(request);
        } else {
            request.reply(GetAttrReply.getDefaultInstance());
        }
    }

    private CompletableFuture<RpcTestCalls.Outcome> call(int method) {
        return start(client.channel(relay.address()), method, message(1), FOR_EVER);
    }

    /** 0 before the first connection of that kind. */
    private long counter(String name, String side, String peer) {
        FunctionCounter found =
                meters.registry().find(name).tags("side", side, "peer", peer).functionCounter();
        return found == null ? 0 : (long) found.count();
    }

    private long pings() {
        return counter("cairn.rpc.pings", "client", "data_server");
    }

    private long replaced() {
        return counter("cairn.rpc.replaced", "client", "data_server");
    }

    @Test
    void callsOnADeadConnectionFailWithoutWaitingForTheirDeadlinesAndAnotherOneIsThere() {
        assertThat(await(call(ANSWERED)).status().ok()).isTrue();
        relay.swallow();
        List<CompletableFuture<RpcTestCalls.Outcome>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(call(ANSWERED));
        }
        for (CompletableFuture<RpcTestCalls.Outcome> call : calls) {
            RpcStatus status = await(call).status();
            assertThat(status.errno()).isEqualTo(Errno.EHOSTUNREACH);
            assertThat(status.advice()).isEqualTo(Advice.RETRY);
        }
        assertThat(await(call(ANSWERED)).status().ok()).isTrue();
        assertThat(replaced()).isEqualTo(1);
        assertThat(pings()).isPositive();
        assertThat(relay.connections()).isEqualTo(2);
        await().until(() -> server.peers().size() == 1);
    }

    @Test
    void aServerThatOnlyTakesItsTimeKeepsItsConnection() {
        CompletableFuture<RpcTestCalls.Outcome> slow = call(HELD);
        await().until(() -> counter("cairn.rpc.pings", "server", "client") >= 3);
        assertThat(slow).isNotDone();
        held.remove().reply(GetAttrReply.getDefaultInstance());
        assertThat(await(slow).status().ok()).isTrue();
        assertThat(replaced()).isZero();
        assertThat(relay.connections()).isEqualTo(1);
    }

    /** It does not see the pings then. */
    @Test
    void norDoesItLoseOneFromWhichItDoesNotReadAsItHasEnoughInWork() throws IOException {
        relay.close();
        server.close();
        listen(RpcOptions.DEFAULT.withMaxInFlight(1, 1 << 20));
        CompletableFuture<RpcTestCalls.Outcome> first = call(HELD);
        CompletableFuture<RpcTestCalls.Outcome> second = call(ANSWERED);
        await().until(() -> counter("cairn.rpc.one.way", "client", "data_server") >= 10);
        assertThat(second).isNotDone();
        held.remove().reply(GetAttrReply.getDefaultInstance());
        assertThat(await(first).status().ok()).isTrue();
        assertThat(await(second).status().ok()).isTrue();
        assertThat(replaced()).isZero();
        assertThat(relay.connections()).isEqualTo(1);
    }
}
