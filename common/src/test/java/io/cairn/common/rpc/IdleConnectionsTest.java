package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * What idle connections cost a server, and the clients that this process has too. {@code
 * -Dcairn.test.connections=8000} for more of them.
 */
class IdleConnectionsTest {
    private static final int CONNECTIONS = Integer.getInteger("cairn.test.connections", 1000);

    /** What an event loop may keep in its caches, however many connections it has. */
    private static final long CACHED_BUFFERS = 250;

    /** Of heap, each, behind the first ones, with which classes are loaded and tables made. */
    private static final long MOST_BYTES = 4096;

    private final Hello hello = Hello.newBuilder().setRole(Role.ROLE_CLIENT).build();
    private final List<Socket> sockets = new ArrayList<>();

    private static long usedHeapBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void holdNoBuffersAndLittleHeap() throws IOException {
        try (RpcLoops loops = new RpcLoops(1, "idle");
                RpcServer server =
                        RpcServer.bind(
                                loops,
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                () -> hello,
                                HelloPolicy.ACCEPT,
                                request -> request.reply(Hello.getDefaultInstance()),
                                RpcOptions.DEFAULT)) {
            long buffersBefore = PooledBuffers.live();
            connect(server, CONNECTIONS / 2);
            awaitIdle(buffersBefore);
            long heapBefore = usedHeapBytes();
            connect(server, CONNECTIONS - sockets.size());
            awaitIdle(buffersBefore);
            long bytes = (usedHeapBytes() - heapBefore) / (CONNECTIONS - CONNECTIONS / 2);
            System.out.printf(
                    "%d idle connections: %d buffers in all, %d bytes of heap each%n",
                    CONNECTIONS, PooledBuffers.live() - buffersBefore, bytes);
            assertThat(bytes).isLessThan(MOST_BYTES);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private static void awaitIdle(long buffersBefore) {
        await("no buffers are held")
                .atMost(Duration.ofSeconds(30))
                .until(() -> PooledBuffers.live() - buffersBefore < CACHED_BUFFERS);
    }

    /** They say who they are and ask for something, and no more. */
    private void connect(RpcServer server, int number) throws IOException {
        RawFrame ask = RawFrame.of(1);
        ask.head = new byte[100];
        InetSocketAddress address = server.localAddress();
        for (int i = 0; i < number; i++) {
            Socket socket = new Socket(address.getAddress(), address.getPort());
            sockets.add(socket);
            socket.getOutputStream().write(RawFrame.hello(Handshake.local(hello)).bytes());
            socket.getOutputStream().write(ask.bytes());
            if (socket.getInputStream().read() < 0) {
                throw new AssertionError("closed by the server");
            }
        }
        await("all are greeted").until(() -> server.peers().size() == sockets.size());
    }
}
