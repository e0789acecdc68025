package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Hello;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.epoll.EpollTcpInfo;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One TCP connection, either end of it: receives frames, does the handshake, sends. Everything here
 * runs on the connection's event loop unless it says otherwise.
 *
 * <p>Writes of one turn of the loop leave with one gathered flush: the first write of a turn queues
 * a flush task, which the loop runs after it has served all sockets that were ready.
 */
abstract class Connection extends ChannelInboundHandlerAdapter implements FrameReceiver.Sink {
    private static final Logger LOG = LoggerFactory.getLogger(Connection.class);

    /** A half-received frame that grew by so much is not standing still. */
    private static final long PROGRESS_BYTES = 16 << 10;

    /** After so long without a frame a connection holds no memory for the next one. */
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    final RpcOptions options;
    final InetSocketAddress address;
    private final Channel channel;
    private final FrameReceiver receiver;
    private final FrameSender sender = new FrameSender();
    private final Runnable flushTask = this::flush;
    private final Runnable resumeTask = this::resume;
    private long reads;
    private boolean flushRequested;
    private boolean closing;
    private boolean greeted;

    /** Once greeted. */
    private @Nullable RpcTraffic traffic;

    private boolean stallCheckScheduled;
    private boolean stalled;
    private long stalledAtFrame;
    private int stalledAtBytes;
    private long stalledSinceNanos;
    private boolean idleCheckScheduled;
    private long idleAtFrame;

    Connection(Channel channel, InetSocketAddress address, RpcOptions options) {
        this.channel = channel;
        this.address = address;
        this.options = options;
        this.receiver = new FrameReceiver(channel.alloc(), Handshake.MAX_HELLO_BYTES, this);
        channel.config().setRecvByteBufAllocator(receiver);
    }

    /** "client 127.0.0.1:4711": who is at the other end, for the log. Any thread. */
    abstract String describe();

    /** The first frame from the other end. */
    abstract void hello(Hello hello);

    /** A frame after the handshake that is not a Hello; takes over both buffers. */
    abstract void message(byte[] header, ByteBuf head, ByteBuf payload);

    /** Called once. */
    abstract void closed(String reason);

    final EventLoop loop() {
        return channel.eventLoop();
    }

    final Channel channel() {
        return channel;
    }

    final boolean open() {
        return !closing && channel.isActive();
    }

    // ---- receiving

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        var _ =
                loop().schedule(
                                this::checkGreeted,
                                options.handshakeTimeoutMillis(),
                                TimeUnit.MILLISECONDS);
    }

    private void checkGreeted() {
        if (!greeted) {
            closeBecause("no handshake within " + options.handshakeTimeoutMillis() + " ms");
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf bytes = (ByteBuf) message;
        reads++;
        if (traffic != null) {
            traffic.received(bytes.readableBytes());
        }
        receiver.received(bytes);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        noteProgress();
        if (!idleCheckScheduled) {
            scheduleIdleCheck();
        }
    }

    private void scheduleIdleCheck() {
        idleCheckScheduled = true;
        idleAtFrame = receiver.frames();
        var _ = loop().schedule(this::checkIdle, IDLE_NANOS, TimeUnit.NANOSECONDS);
    }

    private void checkIdle() {
        idleCheckScheduled = false;
        if (!closing && (receiver.frames() != idleAtFrame || !receiver.releaseIfIdle())) {
            scheduleIdleCheck();
        }
    }

    /** Grows with everything that is received, parts of frames too. */
    final long heard() {
        return reads;
    }

    /**
     * Whether bytes are on their way to the peer and its host has acknowledged others in the time
     * before: a slow network. False where the transport does not tell.
     */
    final boolean delivering(long nanos) {
        if (!(channel instanceof EpollSocketChannel socket) || !open()) {
            return false;
        }
        try {
            EpollTcpInfo tcp = socket.tcpInfo();
            return tcp.unacked() > 0 && tcp.lastAckRecv() < TimeUnit.NANOSECONDS.toMillis(nanos);
        } catch (ChannelException e) {
            LOG.debug("The kernel says nothing about the connection of {}", describe(), e);
            return false;
        }
    }

    /** After frames may have been received or delivered: is half of one left, since when? */
    private void noteProgress() {
        if (!receiver.midFrame()) {
            stalled = false;
        } else if (!stalled
                || stalledAtFrame != receiver.frames()
                || receiver.pendingBodyBytes() - stalledAtBytes >= PROGRESS_BYTES) {
            stalled = true;
            stalledAtFrame = receiver.frames();
            stalledAtBytes = receiver.pendingBodyBytes();
            stalledSinceNanos = nanos();
            if (!stallCheckScheduled) {
                scheduleStallCheck(handshakeNanos());
            }
        }
    }

    /** The clock the loop's scheduled tasks go by. */
    private long nanos() {
        return loop().ticker().nanoTime();
    }

    /** Takes no more requests off this peer, not even those already received. */
    final void pauseReading() {
        channel.config().setAutoRead(false);
        receiver.pause();
    }

    final void resumeReading() {
        channel.config().setAutoRead(true);
        // Not here: this may be the middle of a write.
        loop().execute(resumeTask);
    }

    private void resume() {
        if (channel.config().isAutoRead()) {
            receiver.resume();
            // What was left standing was left so by this side: the peer's time begins now.
            stalled = false;
            noteProgress();
        }
    }

    private long handshakeNanos() {
        return TimeUnit.MILLISECONDS.toNanos(options.handshakeTimeoutMillis());
    }

    private void scheduleStallCheck(long delayNanos) {
        stallCheckScheduled = true;
        var _ = loop().schedule(this::checkStall, delayNanos, TimeUnit.NANOSECONDS);
    }

    private void checkStall() {
        stallCheckScheduled = false;
        if (!stalled || closing) {
            return;
        }
        if (receiver.paused()) {
            // It is this side that does not read.
            stalledSinceNanos = nanos();
        }
        long left = handshakeNanos() - (nanos() - stalledSinceNanos);
        if (left <= 0) {
            closeBecause("half a message received, then nothing more in time");
        } else {
            scheduleStallCheck(left);
        }
    }

    @Override
    public final void frame(byte[] header, ByteBuf head, ByteBuf payload) {
        if (FrameFormat.kind(header) != FrameFormat.KIND_HELLO) {
            if (greeted) {
                message(header, head, payload);
                return;
            }
            head.release();
            payload.release();
            closeBecause("first message is not a Hello");
            return;
        }
        try {
            Hello hello = Heads.parse(Hello.parser(), head);
            if (!hello.getRefusal().isEmpty()) {
                refusedByPeer(hello.getRefusal());
            } else if (greeted) {
                closeBecause("second Hello");
            } else {
                hello(hello);
            }
        } catch (FsException e) {
            closeBecause("Hello is malformed");
        } finally {
            head.release();
            payload.release();
        }
    }

    void refusedByPeer(String refusal) {
        closeBecause("refused by the peer: " + refusal);
    }

    /** The peer's Hello is accepted: other messages may follow. */
    final void greeted(RpcTraffic with) {
        greeted = true;
        traffic = with;
        with.connected();
        receiver.maxBodyBytes(options.maxBodyBytes());
    }

    @Override
    public final void violation(String reason) {
        closeBecause(reason);
    }

    /** Once greeted. */
    final RpcTraffic traffic() {
        if (traffic == null) {
            throw new IllegalStateException("before the handshake");
        }
        return traffic;
    }

    // ---- sending

    /** Sends one frame with the others of this turn; takes over both buffers. */
    final void write(
            int kind, int method, long requestId, int word, ByteBuf frame, ByteBuf payload) {
        if (!open()) {
            frame.release();
            payload.release();
            return;
        }
        int payloadLength = payload.readableBytes();
        sender.seal(frame, kind, method, requestId, word, payloadLength);
        send(frame);
        if (payloadLength > 0) {
            send(payload);
        } else {
            payload.release();
        }
    }

    /** As {@link #write}, of a whole frame whose header is filled in. */
    final void writeSealed(ByteBuf frame) {
        if (open()) {
            send(frame);
        } else {
            frame.release();
        }
    }

    private void send(ByteBuf bytes) {
        if (traffic != null) {
            traffic.sent(bytes.readableBytes());
        }
        var _ = channel.write(bytes, channel.voidPromise());
        if (!flushRequested) {
            flushRequested = true;
            loop().execute(flushTask);
        }
    }

    private void flush() {
        flushRequested = false;
        channel.flush();
    }

    /** About how many bytes wait to be sent. */
    final long queuedBytes() {
        long aboveLow = channel.bytesBeforeWritable();
        return aboveLow == 0 ? 0 : aboveLow + channel.config().getWriteBufferLowWaterMark();
    }

    final void sendHello(Hello hello) {
        ByteBuf frame = FrameSender.withHead(channel.alloc(), (MessageLite) hello);
        sender.seal(frame, FrameFormat.KIND_HELLO, 0, 0, 0, 0);
        var _ = channel.writeAndFlush(frame, channel.voidPromise());
    }

    /** Tells the peer why, then closes. */
    final void refuse(Hello local, String refusal) {
        if (closing) {
            return;
        }
        closing = true;
        LOG.warn("Refused {}: {}", describe(), refusal);
        receiver.close();
        ByteBuf frame =
                FrameSender.withHead(
                        channel.alloc(),
                        (MessageLite) local.toBuilder().setRefusal(refusal).build());
        sender.seal(frame, FrameFormat.KIND_HELLO, 0, 0, 0, 0);
        channel.writeAndFlush(frame).addListener(ChannelFutureListener.CLOSE);
        closed(refusal);
    }

    // ---- closing

    /** Closes because of what the peer did, with one line in the log. */
    final void closeBecause(String reason) {
        if (!closing) {
            LOG.warn("Closing the connection of {}: {}", describe(), reason);
            closeQuietly(reason);
        }
    }

    /** As {@link #closeQuietly}; what the peer has not acknowledged is not sent to it any more. */
    final void abort(String reason) {
        if (open()) {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
        }
        closeQuietly(reason);
    }

    final void closeQuietly(String reason) {
        if (closing) {
            return;
        }
        closing = true;
        if (traffic != null) {
            traffic.disconnected();
        }
        receiver.close();
        var _ = channel.close();
        closed(reason);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (!closing && receiver.midFrame()) {
            closeBecause("connection ended in the middle of a message");
        } else {
            closeQuietly("connection closed by the peer");
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        closeQuietly("connection closed");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof IOException) {
            closeQuietly(String.valueOf(cause.getMessage()));
        } else if (!closing) {
            LOG.warn("Closing the connection of {}: unexpected failure", describe(), cause);
            closeQuietly(cause.toString());
        }
    }
}
