package io.cairn.common.rpc;

import io.cairn.common.proto.Hello;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollChannelOption;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes and keeps the channels to servers, one per address, or per address and loop. Any thread.
 */
public final class RpcClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RpcClient.class);

    private final RpcLoops loops;
    private final Supplier<Hello> hello;
    private final HelloPolicy policy;
    private final RpcOptions options;
    private final Map<InetSocketAddress, ClientChannel> channels = new ConcurrentHashMap<>();
    private final Map<PinnedKey, ClientChannel> pinned = new ConcurrentHashMap<>();
    private final Map<Integer, PushHandler> pushHandlers = new ConcurrentHashMap<>();
    private volatile boolean closed;

    private record PinnedKey(InetSocketAddress address, EventLoop loop) {}

    /**
     * @param hello how this side introduces itself, asked for each connection; protocol versions
     *     are filled in unless set
     * @param policy sees the server's Hello and may refuse it
     */
    public RpcClient(
            RpcLoops loops, Supplier<Hello> hello, HelloPolicy policy, RpcOptions options) {
        this.loops = loops;
        this.hello = hello;
        this.policy = policy;
        this.options = options;
    }

    /** The channel to a server; connects at the first call. */
    public RpcChannel channel(InetSocketAddress address) {
        return channels.computeIfAbsent(address, a -> open(a, loops.next()));
    }

    /**
     * A channel of one loop: calls made on that loop are written, and their callbacks run, without
     * a hop to another thread.
     *
     * @param loop one of the client's {@link RpcLoops}
     */
    public RpcChannel channel(InetSocketAddress address, EventLoop loop) {
        return pinned.computeIfAbsent(
                new PinnedKey(address, loop), key -> open(key.address, key.loop));
    }

    /** As {@link #channel(InetSocketAddress, EventLoop)}. */
    public RpcChannel channel(InetSocketAddress address, RpcLoop loop) {
        return channel(address, loop.eventLoop());
    }

    private ClientChannel open(InetSocketAddress address, EventLoop loop) {
        ClientChannel channel = new ClientChannel(this, address, loop);
        if (closed) {
            channel.close();
        }
        return channel;
    }

    /** One-way messages of this method go to the handler, whatever server they come from. */
    public void onPush(int method, PushHandler handler) {
        pushHandlers.put(method, handler);
    }

    /** Closes the channels to a server that is gone for good. */
    public void forget(InetSocketAddress address) {
        ClientChannel channel = channels.remove(address);
        if (channel != null) {
            channel.close();
        }
        pinned.forEach((key, value) -> {
            if (key.address.equals(address) && pinned.remove(key, value)) {
                value.close();
            }
        });
    }

    /** Ends every channel; outstanding and later calls get EHOSTUNREACH, GIVE_UP. */
    @Override
    public void close() {
        closed = true;
        channels.values().forEach(ClientChannel::close);
        pinned.values().forEach(ClientChannel::close);
    }

    RpcOptions options() {
        return options;
    }

    RpcLoops loops() {
        return loops;
    }

    HelloPolicy policy() {
        return policy;
    }

    Hello localHello() {
        return Handshake.local(hello.get());
    }

    void pushed(RpcChannel from, int method, ByteBuf head) {
        PushHandler handler = pushHandlers.get(method);
        if (handler == null) {
            LOG.debug("No handler for pushed method {} of {}", method, from);
            return;
        }
        try {
            handler.pushed(from, head);
        } catch (Throwable e) {
            LOG.error("Handler of pushed method {} of {} failed", method, from, e);
        }
    }

    /** On the channel's loop; the owner is told the outcome there. */
    void connect(
            ClientChannel channel,
            ClientConnection.Owner owner,
            InetSocketAddress address,
            EventLoop loop) {
        if (!address.isUnresolved()) {
            connectTo(channel, owner, address, loop);
            return;
        }
        // A name server may take seconds, which an event loop must not.
        Thread.ofVirtual()
                .name("cairn-resolve-" + address.getHostString())
                .start(() -> {
                    var resolved =
                            new InetSocketAddress(address.getHostString(), address.getPort());
                    try {
                        loop.execute(() -> resolved(channel, owner, resolved, loop));
                    } catch (RejectedExecutionException e) {
                        LOG.debug("Loop ended while {} was resolved", address, e);
                    }
                });
    }

    private void resolved(
            ClientChannel channel,
            ClientConnection.Owner owner,
            InetSocketAddress address,
            EventLoop loop) {
        if (address.isUnresolved()) {
            owner.connectFailed("host name is unknown");
        } else {
            connectTo(channel, owner, address, loop);
        }
    }

    private void connectTo(
            ClientChannel of,
            ClientConnection.Owner owner,
            InetSocketAddress address,
            EventLoop loop) {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(loop)
                        .channel(loops.socketType())
                        .option(ChannelOption.TCP_NODELAY, true)
                        .option(ChannelOption.SO_KEEPALIVE, true)
                        .option(
                                ChannelOption.CONNECT_TIMEOUT_MILLIS,
                                options.connectTimeoutMillis())
                        .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new ClientConnection(
                                                                of,
                                                                owner,
                                                                RpcClient.this,
                                                                channel,
                                                                address,
                                                                options));
                                    }
                                });
        if (loops.epoll()) {
            bootstrap.option(EpollChannelOption.TCP_USER_TIMEOUT, RpcLoops.TCP_USER_TIMEOUT_MILLIS);
        }
        var _ =
                bootstrap
                        .connect(address)
                        .addListener(connected -> {
                            if (!connected.isSuccess()) {
                                owner.connectFailed(String.valueOf(connected.cause().getMessage()));
                            }
                        });
    }
}
