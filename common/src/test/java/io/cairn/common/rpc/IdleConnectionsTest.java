package io.cairn.common.rpc;

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
 * What idle connections cost a server. {@code -Dcairn.test.connections=8000} for more of them, and
 * a look at the heap of the process, which prints its figures.
 */
class IdleConnectionsTest {
    private static final int CONNECTIONS = Integer.getInteger("cairn.test.connections", 500);

    /** What an event loop may keep in its caches, however many connections it has. */
    private static final long CACHED_BUFFERS = 250;

    private static long usedHeapBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void holdNoBuffers() throws IOException {
        Hello hello = Hello.newBuilder().setRole(Role.ROLE_CLIENT).build();
        List<Socket> sockets = new ArrayList<>();
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
            long heapBefore = usedHeapBytes();
            RawFrame ask = RawFrame.of(1);
            ask.head = new byte[100];
            for (int i = 0; i < CONNECTIONS; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port(server));
                sockets.add(socket);
                socket.getOutputStream().write(RawFrame.hello(Handshake.local(hello)).bytes());
                socket.getOutputStream().write(ask.bytes());
                if (socket.getInputStream().read() < 0) {
                    throw new AssertionError("closed by the server");
                }
            }
            await("all are greeted").until(() -> server.peers().size() == CONNECTIONS);
            await("no buffers are held for " + CONNECTIONS)
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> PooledBuffers.live() - buffersBefore < CACHED_BUFFERS);
            System.out.printf(
                    "%d idle connections: %d buffers in all, %d bytes of heap each%n",
                    CONNECTIONS,
                    PooledBuffers.live() - buffersBefore,
                    (usedHeapBytes() - heapBefore) / CONNECTIONS);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private static int port(RpcServer server) {
        return server.localAddress().getPort();
    }
}
