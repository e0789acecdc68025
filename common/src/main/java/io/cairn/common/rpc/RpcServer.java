package io.cairn.common.rpc;

import io.cairn.common.errno.BindFailures;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollChannelOption;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens on one address and serves requests of all connections with one {@link RpcHandler}. Any
 * thread.
 */
public final class RpcServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RpcServer.class);

    /** A peer with more than the high mark unsent is not read from until it is below the low. */
    private static final WriteBufferWaterMark WATER_MARK =
            new WriteBufferWaterMark(1 << 20, 4 << 20);

    private final RpcLoops loops;
    private final Supplier<Hello> hello;
    private final HelloPolicy policy;
    private final RpcHandler handler;
    private final Set<ServerConnection> connections = ConcurrentHashMap.newKeySet();
    private final Set<ServerConnection> peers = ConcurrentHashMap.newKeySet();
    private final ReceiveBudget clientBudget;
    private final Channel listener;
    private volatile boolean closing;

    private RpcServer(
            RpcLoops loops,
            InetSocketAddress address,
            Supplier<Hello> hello,
            HelloPolicy policy,
            RpcHandler handler,
            RpcOptions options)
            throws IOException {
        this.loops = loops;
        this.hello = hello;
        this.policy = policy;
        this.handler = handler;
        clientBudget = new ReceiveBudget(options.maxClientBytes());
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(loops.group())
                        .channel(loops.serverSocketType())
                        .option(ChannelOption.SO_BACKLOG, 1024)
                        .option(ChannelOption.SO_REUSEADDR, true)
                        .childOption(ChannelOption.TCP_NODELAY, true)
                        .childOption(ChannelOption.SO_KEEPALIVE, true)
                        .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
                        .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        accept(channel, options);
                                    }
                                });
        if (loops.epoll()) {
            bootstrap.childOption(
                    EpollChannelOption.TCP_USER_TIMEOUT, RpcLoops.TCP_USER_TIMEOUT_MILLIS);
        }
        ChannelFuture bound = bootstrap.bind(address).awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw BindFailures.named("the address", RpcAddress.format(address), bound.cause());
        }
        listener = bound.channel();
    }

    /**
     * Starts to listen; not on an event loop.
     *
     * @param address port 0: any free one, see {@link #localAddress}
     * @param hello how this side introduces itself, asked for each connection; protocol versions
     *     are filled in unless set
     * @param policy may refuse peers
     * @throws IOException naming the address when it cannot be bound
     */
    public static RpcServer bind(
            RpcLoops loops,
            InetSocketAddress address,
            Supplier<Hello> hello,
            HelloPolicy policy,
            RpcHandler handler,
            RpcOptions options)
            throws IOException {
        InetSocketAddress resolved =
                address.isUnresolved()
                        ? new InetSocketAddress(address.getHostString(), address.getPort())
                        : address;
        if (resolved.isUnresolved()) {
            throw new IOException("cannot listen on " + address + ": host name is unknown");
        }
        return new RpcServer(loops, resolved, hello, policy, handler, options);
    }

    private void accept(Channel channel, RpcOptions options) {
        if (channel.remoteAddress() == null) {
            // Gone before it could be looked at.
            var _ = channel.close();
            return;
        }
        ServerConnection connection = new ServerConnection(this, channel, options);
        connections.add(connection);
        if (closing) {
            var _ = channel.close();
        }
        channel.pipeline().addLast(connection);
    }

    public InetSocketAddress localAddress() {
        return (InetSocketAddress) listener.localAddress();
    }

    /** Those whose handshake is done. */
    public Collection<RpcPeer> peers() {
        return List.copyOf(peers);
    }

    Hello localHello() {
        return Handshake.local(hello.get());
    }

    RpcTraffic trafficFrom(Role peer) {
        return loops.acceptedFrom(peer);
    }

    /** For the large messages of clients. */
    ReceiveBudget clientBudget() {
        return clientBudget;
    }

    HelloPolicy policy() {
        return policy;
    }

    RpcHandler handler() {
        return handler;
    }

    void opened(ServerConnection connection) {
        peers.add(connection);
    }

    void closed(ServerConnection connection) {
        peers.remove(connection);
        connections.remove(connection);
    }

    /**
     * Stops listening and closes all connections; requests being worked on go unanswered. Waits
     * until they are closed, except when called on an event loop.
     */
    @Override
    public void close() {
        closing = true;
        boolean onLoop = false;
        for (EventLoop loop : loops.loops()) {
            onLoop |= loop.inEventLoop();
        }
        ChannelFuture closed = listener.close();
        if (!onLoop && !closed.awaitUninterruptibly(5, TimeUnit.SECONDS)) {
            LOG.warn("Listener on {} did not close in time", localAddress());
        }
        for (ServerConnection connection : connections) {
            ChannelFuture gone = connection.channel().close();
            if (!onLoop) {
                gone.awaitUninterruptibly(5, TimeUnit.SECONDS);
            }
        }
    }
}
