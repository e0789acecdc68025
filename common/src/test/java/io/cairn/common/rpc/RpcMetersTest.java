package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusRequest;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What both ends count of the same traffic. */
class RpcMetersTest {
    private static final int GOOD = 1;
    private static final int BAD = 2;
    private static final int SILENT = 3;

    private final Meters meters = Meters.unpublished();
    private final List<RpcRequest> unanswered = new CopyOnWriteArrayList<>();

    @Test
    void bothEndsCountTheSame() throws IOException {
        try (RpcLoops loops = new RpcLoops(1, "test-meters", meters);
                RpcServer server =
                        RpcServer.bind(
                                loops,
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                () -> Hello.newBuilder().setRole(Role.ROLE_MDS).build(),
                                HelloPolicy.ACCEPT,
                                this::serve,
                                RpcOptions.DEFAULT)) {
            RpcClient client =
                    new RpcClient(
                            loops,
                            () -> Hello.newBuilder().setRole(Role.ROLE_CLIENT).build(),
                            HelloPolicy.ACCEPT,
                            RpcOptions.DEFAULT.withSilenceMillis(3_600_000)); // no pings
            RpcChannel channel = client.channel(server.localAddress());
            for (int method : new int[] {GOOD, GOOD, BAD}) {
                call(channel, method).join();
            }
            channel.send(GOOD, StatusRequest.getDefaultInstance());
            CompletableFuture<RpcStatus> silent = call(channel, SILENT);
            for (String[] end : new String[][] {{"server", "client"}, {"client", "mds"}}) {
                await().until(() -> gauge("cairn.rpc.in.flight", end) == 1);
                await().until(() -> counter("cairn.rpc.one.way", end) == 1);
                assertThat(gauge("cairn.rpc.connections", end)).isEqualTo(1);
                assertThat(counter("cairn.rpc.request", end)).isEqualTo(3);
                assertThat(counter("cairn.rpc.request.errors", end)).isEqualTo(1);
                assertThat(counter("cairn.rpc.request.time", end)).isPositive();
            }
            // Four requests and one message without a body.
            String[] atServer = {"server", "client"};
            String[] atClient = {"client", "mds"};
            assertThat(counter("cairn.rpc.sent", atClient))
                    .isEqualTo(5 * FrameFormat.HEADER_LENGTH)
                    .isEqualTo(counter("cairn.rpc.received", atServer));
            assertThat(counter("cairn.rpc.sent", atServer))
                    .isEqualTo(counter("cairn.rpc.received", atClient));
            client.close();
            assertThat(silent.join().ok()).isFalse();
            for (String[] end : new String[][] {atServer, atClient}) {
                await().until(() -> gauge("cairn.rpc.connections", end) == 0);
            }
            unanswered.forEach(r -> r.fail(RpcStatus.fail(Errno.EIO, "too late")));
            for (String[] end : new String[][] {atServer, atClient}) {
                await().until(() -> gauge("cairn.rpc.in.flight", end) == 0);
            }
        }
    }

    private static CompletableFuture<RpcStatus> call(RpcChannel channel, int method) {
        CompletableFuture<RpcStatus> answer = new CompletableFuture<>();
        channel.call(
                method,
                StatusRequest.getDefaultInstance(),
                System.nanoTime() + TimeUnit.MINUTES.toNanos(1),
                (status, head, payload) -> answer.complete(status));
        return answer;
    }

    private void serve(RpcRequest request) {
        switch (request.method()) {
            case GOOD -> request.reply(StatusRequest.getDefaultInstance());
            case BAD -> request.fail(RpcStatus.fail(Errno.EIO, "on purpose"));
            default -> unanswered.add(request);
        }
    }

    private double gauge(String name, String[] sideAndPeer) {
        return registry()
                .get(name)
                .tags("side", sideAndPeer[0], "peer", sideAndPeer[1])
                .gauge()
                .value();
    }

    private double counter(String name, String[] sideAndPeer) {
        return registry()
                .get(name)
                .tags("side", sideAndPeer[0], "peer", sideAndPeer[1])
                .functionCounter()
                .count();
    }

    private MeterRegistry registry() {
        return meters.registry();
    }
}
