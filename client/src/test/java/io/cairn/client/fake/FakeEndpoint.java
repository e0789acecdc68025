package io.cairn.client.fake;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcHandler;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcServer;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.rpc.TestRelay;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What every server of the fake cluster has: a port, connections that can be cut, requests that are
 * held back until the test lets them go. Any thread.
 */
final class FakeEndpoint implements AutoCloseable {
    private final RpcServer server;
    private final List<RpcRequest> held = new ArrayList<>();
    private volatile @Nullable TestRelay relay;

    FakeEndpoint(FakeCluster cluster, RpcLoops loops, Role role, RpcHandler handler)
            throws IOException {
        Hello hello = Hello.newBuilder().setRole(role).setClusterId(cluster.id()).build();
        server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> hello,
                        HelloPolicy.ACCEPT,
                        handler,
                        RpcOptions.DEFAULT);
    }

    String address() {
        TestRelay between = relay;
        return RpcAddress.format(between == null ? server.localAddress() : between.address());
    }

    /** From now on the address is that of a relay. */
    TestRelay relay() throws IOException {
        var between = new TestRelay(server.localAddress());
        relay = between;
        return between;
    }

    void hold(RpcRequest request) {
        synchronized (held) {
            held.add(request);
        }
    }

    int held() {
        synchronized (held) {
            return held.size();
        }
    }

    /** The requests held back, in the order of arrival; they are the caller's now. */
    List<RpcRequest> takeHeld() {
        synchronized (held) {
            List<RpcRequest> all = new ArrayList<>(held);
            held.clear();
            return all;
        }
    }

    /** Ends the connection a request came on, which is not answered. */
    static void cut(RpcRequest request) {
        request.peer().close("test");
        request.fail(RpcStatus.fail(Errno.EIO, "cut"));
    }

    void cutConnections() {
        server.peers().forEach(p -> p.close("test"));
    }

    @Override
    public void close() {
        takeHeld().forEach(r -> r.fail(RpcStatus.fail(Errno.EIO, "the server ends")));
        TestRelay between = relay;
        if (between != null) {
            between.close();
        }
        server.close();
    }
}
