package io.cairn.common.rpc;

import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Role;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The event loops of a process, shared by its servers and clients so that work can be pinned to one
 * loop from the socket it arrives on to the socket it leaves by. Native epoll where available, NIO
 * otherwise. Any thread.
 */
public final class RpcLoops implements AutoCloseable {
    /** A peer that acknowledges or takes nothing for so long is gone; its connection ends. */
    static final int TCP_USER_TIMEOUT_MILLIS = 30_000;

    private final MultiThreadIoEventLoopGroup group;
    private final boolean epoll;
    private final List<EventLoop> loops;
    private final List<RpcLoop> owned;
    private final Map<EventLoop, DeadlineWheel> wheels = new HashMap<>();
    private final Map<String, RpcTraffic> traffic = new ConcurrentHashMap<>();
    private final @Nullable Meters meters;

    /**
     * @param threads number of loops, at least 1
     * @param name of the threads
     */
    public RpcLoops(int threads, String name) {
        this(threads, name, true, null);
    }

    /**
     * @param meters get those of all connections of these loops, see {@link RpcMeter}
     */
    public RpcLoops(int threads, String name, Meters meters) {
        this(threads, name, true, meters);
    }

    /**
     * @param nativeTransport false: NIO even where epoll is available
     */
    public RpcLoops(int threads, String name, boolean nativeTransport) {
        this(threads, name, nativeTransport, null);
    }

    private RpcLoops(int threads, String name, boolean nativeTransport, @Nullable Meters meters) {
        this.meters = meters;
        epoll = nativeTransport && Epoll.isAvailable();
        IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
        group = new MultiThreadIoEventLoopGroup(threads, new DefaultThreadFactory(name, true), io);
        List<EventLoop> all = new ArrayList<>();
        for (EventExecutor executor : group) {
            EventLoop loop = (EventLoop) executor;
            all.add(loop);
            wheels.put(loop, new DeadlineWheel(loop));
        }
        loops = List.copyOf(all);
        owned = all.stream().map(RpcLoop::new).toList();
    }

    /** The loops' usual number: as many as cores, at most 4 (docs/architecture.md). */
    public static int defaultThreads() {
        return Math.min(Runtime.getRuntime().availableProcessors(), 4);
    }

    /** One of the loops, in turn. */
    public EventLoop next() {
        return group.next();
    }

    /** All loops, in a fixed order. */
    public List<EventLoop> loops() {
        return loops;
    }

    /** All loops, in the same order, for those who own state on them. */
    public List<RpcLoop> owned() {
        return owned;
    }

    /** Where the network's buffers come from, and others should that end there. */
    public ByteBufAllocator allocator() {
        return PooledByteBufAllocator.DEFAULT;
    }

    boolean epoll() {
        return epoll;
    }

    MultiThreadIoEventLoopGroup group() {
        return group;
    }

    /** To be used on that loop only. */
    DeadlineWheel wheel(EventLoop loop) {
        DeadlineWheel wheel = wheels.get(loop);
        if (wheel == null) {
            throw new IllegalArgumentException("not one of these loops: " + loop);
        }
        return wheel;
    }

    /** The counters of connections that this side accepted from peers of that role. */
    RpcTraffic acceptedFrom(Role peer) {
        return traffic("server", peer);
    }

    /** The counters of connections that this side made to peers of that role. */
    RpcTraffic madeTo(Role peer) {
        return traffic("client", peer);
    }

    private RpcTraffic traffic(String side, Role peer) {
        String role =
                peer == Role.UNRECOGNIZED || peer == Role.ROLE_UNSPECIFIED
                        ? "unknown"
                        : peer.name().substring("ROLE_".length()).toLowerCase(Locale.ROOT);
        return traffic.computeIfAbsent(
                side + " " + role, key -> new RpcTraffic(meters, side, role));
    }

    Class<? extends SocketChannel> socketType() {
        return epoll ? EpollSocketChannel.class : NioSocketChannel.class;
    }

    Class<? extends ServerChannel> serverSocketType() {
        return epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    }

    /** Ends the loops; close servers and clients first. Waits for the threads to end. */
    @Override
    public void close() {
        var _ = group.shutdownGracefully(0, 2, TimeUnit.SECONDS);
        for (EventLoop loop : loops) {
            if (loop.inEventLoop()) {
                return;
            }
        }
        group.terminationFuture().awaitUninterruptibly(5, TimeUnit.SECONDS);
    }
}
