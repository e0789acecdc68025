package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection a server accepted. Bounds what one peer can make the server hold: it stops reading
 * requests while the peer does not take its answers or has too many requests unanswered, and closes
 * a peer that does not take what is pushed to it. A peer that it does not read from, and whose
 * pings it therefore does not see, is told that it lives, see {@link SilenceWatch}. A client's
 * large messages also need memory of the server's {@link ReceiveBudget}.
 */
final class ServerConnection extends Connection implements RpcPeer, ReceiveBudget.Waiter {
    private static final Logger LOG = LoggerFactory.getLogger(ServerConnection.class);

    /** Well within the silence in which a client gives up a connection. */
    private static final long LIFE_SIGN_MILLIS = 200;

    private final RpcServer server;
    private final HandoffQueue<Outbound> handoff = new HandoffQueue<>();
    private final Runnable drainTask = this::drain;
    private volatile Hello hello = Hello.getDefaultInstance();
    private volatile boolean connected;

    private final Object closeLock = new Object();
    private @Nullable List<Runnable> closeActions = new ArrayList<>();

    private int inFlight;
    private final AtomicLong inFlightBytes = new AtomicLong();
    private volatile boolean reading = true;
    private boolean lifeSignScheduled;

    /** Bytes of the client budget for the frame being received. */
    private int budgeted;

    /** Bytes of the client budget that a frame waits for. */
    private int awaited;

    ServerConnection(RpcServer server, Channel channel, RpcOptions options) {
        super(channel, (InetSocketAddress) channel.remoteAddress(), options);
        this.server = server;
    }

    ByteBufAllocator allocator() {
        return channel().alloc();
    }

    // ---- the connection's life

    @Override
    void hello(Hello said) {
        hello = said;
        Hello local = server.localHello();
        @Nullable String refusal = Handshake.refusal(local, said, address, server.policy());
        if (refusal != null) {
            refuse(local, refusal);
            return;
        }
        greeted(server.trafficFrom(said.getRole()));
        connected = true;
        sendHello(local);
        LOG.debug("Connected: {}", describe());
        server.opened(this);
    }

    @Override
    void closed(String reason) {
        connected = false;
        leaveBudget();
        server.closed(this);
        LOG.debug("Connection of {} is closed: {}", describe(), reason);
        List<Runnable> actions;
        synchronized (closeLock) {
            actions = closeActions == null ? List.of() : closeActions;
            closeActions = null;
        }
        for (Runnable action : actions) {
            run(action);
        }
    }

    private void run(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            LOG.error("Action on the end of the connection of {} failed", describe(), e);
        }
    }

    // ---- requests

    @Override
    void message(byte[] header, ByteBuf head, ByteBuf payload) {
        int kind = FrameFormat.kind(header);
        if (kind == FrameFormat.KIND_REPLY) {
            head.release();
            payload.release();
            closeBecause("a reply, though nothing was asked");
            return;
        }
        boolean oneWay = kind == FrameFormat.KIND_ONE_WAY;
        long millis = Integer.toUnsignedLong(FrameFormat.word(header));
        long now = System.nanoTime();
        ServerRequest request =
                new ServerRequest(
                        this,
                        oneWay,
                        FrameFormat.method(header),
                        FrameFormat.requestId(header),
                        now,
                        now + TimeUnit.MILLISECONDS.toNanos(millis),
                        head,
                        payload,
                        budgeted);
        budgeted = 0;
        if (oneWay) {
            traffic().oneWay();
        } else {
            traffic().started();
        }
        inFlight++;
        inFlightBytes.addAndGet(request.bodyBytes());
        updateReading();
        try {
            if (request.method() == Method.PING_VALUE) {
                traffic().pinged();
                request.reply(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
            } else {
                server.handler().handle(request);
            }
        } catch (Throwable e) {
            request.failed(e);
        }
    }

    /** A request received then has its answer. */
    void answered(long startNanos, boolean succeeded) {
        traffic().finished(startNanos, succeeded);
        handled();
    }

    /** A message is done with. */
    void handled() {
        inFlight--;
        updateReading();
    }

    /**
     * The memory of a body is free again. Any thread.
     *
     * @param ofBudget how much of it the client budget gave
     */
    void bodyReleased(int bytes, int ofBudget) {
        inFlightBytes.addAndGet(-bytes);
        if (ofBudget > 0) {
            server.clientBudget().giveBack(ofBudget);
        }
        if (!reading) {
            onLoop(this::updateReading);
        }
    }

    private void onLoop(Runnable task) {
        try {
            loop().execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("The loop of {} has ended", describe());
        }
    }

    // ---- memory for large messages

    @Override
    public boolean mayBegin(int bodyBytes) {
        if (budgeted > 0 || hello.getRole() != Role.ROLE_CLIENT) {
            return true;
        }
        awaited = bodyBytes;
        if (server.clientBudget().take(bodyBytes, this)) {
            awaited = 0;
            budgeted = bodyBytes;
            return true;
        }
        updateReading();
        return false;
    }

    @Override
    public void granted() {
        onLoop(() -> {
            int bytes = awaited;
            awaited = 0;
            if (connected) {
                budgeted = bytes;
                updateReading();
            } else {
                server.clientBudget().giveBack(bytes);
            }
        });
    }

    private void leaveBudget() {
        if (awaited > 0 && server.clientBudget().leave(this)) {
            awaited = 0;
        }
        if (budgeted > 0) {
            server.clientBudget().giveBack(budgeted);
            budgeted = 0;
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        updateReading();
    }

    private void updateReading() {
        if (reading && full()) {
            reading = false;
            pauseReading();
            if (!lifeSignScheduled) {
                scheduleLifeSign();
            }
        }
        // Also right after: what was released meanwhile saw a connection that reads.
        if (!reading && drained()) {
            reading = true;
            resumeReading();
        }
    }

    private void scheduleLifeSign() {
        lifeSignScheduled = true;
        var _ = loop().schedule(this::lifeSign, LIFE_SIGN_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void lifeSign() {
        lifeSignScheduled = false;
        if (reading || !open()) {
            return;
        }
        if (channel().isWritable()) { // else what it does not take tells it as much
            traffic().oneWay();
            ByteBuf frame = FrameSender.withHead(allocator(), Unpooled.EMPTY_BUFFER);
            int kind = FrameFormat.KIND_ONE_WAY;
            write(kind, Method.PING_VALUE, 0, 0, frame, Unpooled.EMPTY_BUFFER);
        }
        scheduleLifeSign();
    }

    private boolean full() {
        return inFlight >= options.maxInFlightRequests()
                || inFlightBytes.get() >= options.maxInFlightBytes()
                || awaited > 0
                || !channel().isWritable();
    }

    private boolean drained() {
        return inFlight <= options.maxInFlightRequests() / 2
                && inFlightBytes.get() <= options.maxInFlightBytes() / 2
                && awaited == 0
                && channel().isWritable();
    }

    // ---- sending, from any thread

    void enqueue(Outbound message) {
        if (loop().inEventLoop()) {
            message.writeTo(this);
        } else if (handoff.push(message)) {
            try {
                loop().execute(drainTask);
            } catch (RejectedExecutionException e) {
                discardAll();
            }
        }
    }

    private void drain() {
        @Nullable Outbound message = handoff.takeAll();
        while (message != null) {
            @Nullable Outbound next = HandoffQueue.unlink(message);
            message.writeTo(this);
            message = next;
        }
    }

    private void discardAll() {
        @Nullable Outbound message = handoff.takeAll();
        while (message != null) {
            @Nullable Outbound next = HandoffQueue.unlink(message);
            message.discard();
            message = next;
        }
    }

    @Override
    public void push(int method, MessageLite head) {
        if (connected) {
            enqueue(new Push(method, FrameSender.withHead(allocator(), head)));
        }
    }

    @Override
    public void push(Broadcast message) {
        if (connected) {
            enqueue(new SharedPush(message.frame()));
        }
    }

    /** Before something is pushed. */
    private void closeUnlessRead() {
        if (queuedBytes() > options.maxQueuedBytes()) {
            closeBecause("does not read: " + queuedBytes() + " bytes wait to be sent to it");
        }
        traffic().oneWay();
    }

    private static final class Push extends Outbound {
        private final int method;
        private final ByteBuf frame;

        Push(int method, ByteBuf frame) {
            this.method = method;
            this.frame = frame;
        }

        @Override
        void writeTo(ServerConnection to) {
            to.closeUnlessRead();
            to.write(FrameFormat.KIND_ONE_WAY, method, 0, 0, frame, Unpooled.EMPTY_BUFFER);
        }

        @Override
        void discard() {
            frame.release();
        }
    }

    private static final class SharedPush extends Outbound {
        private final ByteBuf frame;

        SharedPush(ByteBuf frame) {
            this.frame = frame;
        }

        @Override
        void writeTo(ServerConnection to) {
            to.closeUnlessRead();
            to.writeSealed(frame);
        }

        @Override
        void discard() {
            frame.release();
        }
    }

    // ---- RpcPeer

    @Override
    public Hello hello() {
        return hello;
    }

    @Override
    public InetSocketAddress address() {
        return address;
    }

    @Override
    public boolean connected() {
        return connected;
    }

    @Override
    public void onClose(Runnable action) {
        synchronized (closeLock) {
            if (closeActions != null) {
                closeActions.add(action);
                return;
            }
        }
        run(action);
    }

    @Override
    public void close(String reason) {
        if (loop().inEventLoop()) {
            closeBecause(reason);
        } else {
            loop().execute(() -> closeBecause(reason));
        }
    }

    @Override
    String describe() {
        Hello h = hello;
        String role =
                h.getRole() == Role.ROLE_UNSPECIFIED || h.getRole() == Role.UNRECOGNIZED
                        ? "peer"
                        : h.getRole().name().substring("ROLE_".length()).toLowerCase(Locale.ROOT);
        String id = h.getId() == 0 ? "" : " " + Long.toUnsignedString(h.getId());
        return role.replace('_', ' ') + id + " " + RpcAddress.format(address);
    }
}
