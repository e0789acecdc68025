package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client's channel to one server, on one event loop; calls come from any thread and are handed
 * to the loop, which owns everything else.
 *
 * <pre>
 *            call                     handshake done
 *   IDLE ───────────> CONNECTING ───────────────────> READY
 *     ^                 ^     │ failed                  │ lost
 *     │ not used for    │     v                         │
 *     └───────────── BACK_OFF <─────────────────────────┘
 *       a minute        │  pause over: CONNECTING
 *                  any ─┴──> CLOSED
 * </pre>
 *
 * <p>A READY channel whose connection turns out to be dead goes on with another one, see {@link
 * Replacement}; the calls that were sent fail as if the connection was lost.
 *
 * <p>Calls made while CONNECTING wait for the outcome, as do calls in a BACK_OFF that ends soon;
 * during a longer one they fail at once.
 */
final class ClientChannel implements RpcChannel, ClientConnection.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(ClientChannel.class);

    /** A call waits for the next attempt if that is not further away. */
    private static final long WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** A connection that lived this long was a good one: the next back-off begins anew. */
    private static final long STABLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Reconnects by itself while the last call is not longer ago. */
    private static final long IN_USE_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** Longer deadlines are cut to this. */
    private static final long MAX_DEADLINE_NANOS = TimeUnit.DAYS.toNanos(7);

    private enum State {
        IDLE,
        CONNECTING,
        READY,
        BACK_OFF,
        CLOSED
    }

    private final RpcClient client;
    private final InetSocketAddress address;
    private final EventLoop loop;
    private final RpcOptions options;
    private final BackOff backOff;
    private final HandoffQueue<PendingCall> handoff = new HandoffQueue<>();
    private final Runnable drainTask = this::drain;
    private volatile boolean connected;

    // All below on the loop only.
    private final ChannelCalls calls;
    private final Replacement replacement;
    private int failedAttempts;
    private State state = State.IDLE;
    private @Nullable ClientConnection connection;
    private RpcStatus lastFailure = unreachable("not connected yet");
    private @Nullable RpcStatus refusal;
    private boolean failureLogged;
    private long lastUseNanos;
    private long readySinceNanos;
    private long nextAttemptNanos;

    ClientChannel(RpcClient client, InetSocketAddress address, EventLoop loop) {
        this.client = client;
        this.address = address;
        this.loop = loop;
        this.options = client.options();
        this.calls = new ChannelCalls(address, client.loops().wheel(loop));
        this.replacement = new Replacement(this, client, address, loop);
        this.backOff =
                new BackOff(
                        Duration.ofMillis(options.backOffMinMillis()),
                        Duration.ofMillis(options.backOffMaxMillis()),
                        BackOff.anyThread());
    }

    private static RpcStatus unreachable(String detail) {
        return RpcStatus.fail(Errno.EHOSTUNREACH, Advice.RETRY, detail);
    }

    // ---- calls, from any thread

    @Override
    public void call(int method, MessageLite head, long deadlineNanos, RpcCallback callback) {
        ByteBuf frame = FrameSender.withHead(PooledByteBufAllocator.DEFAULT, head);
        enqueue(method, deadlineNanos, callback, frame, Unpooled.EMPTY_BUFFER);
    }

    @Override
    public void call(
            int method, ByteBuf head, ByteBuf payload, long deadlineNanos, RpcCallback callback) {
        ByteBuf frame = FrameSender.withHead(PooledByteBufAllocator.DEFAULT, head);
        enqueue(method, deadlineNanos, callback, frame, payload);
    }

    @Override
    public void send(int method, MessageLite head) {
        ByteBuf frame = FrameSender.withHead(PooledByteBufAllocator.DEFAULT, head);
        long deadline = System.nanoTime() + MAX_DEADLINE_NANOS;
        enqueue(method, deadline, null, frame, Unpooled.EMPTY_BUFFER);
    }

    private void enqueue(
            int method,
            long deadlineNanos,
            @Nullable RpcCallback callback,
            ByteBuf frame,
            ByteBuf payload) {
        long now = System.nanoTime();
        long left = Math.min(deadlineNanos - now, MAX_DEADLINE_NANOS);
        var call = new PendingCall(this, method, now, now + left, callback, frame, payload);
        if (loop.inEventLoop()) {
            drain(); // what was called before from other threads goes first
            submit(call, now);
        } else if (handoff.push(call)) {
            try {
                loop.execute(drainTask);
            } catch (RejectedExecutionException e) {
                failHandedOff(RpcStatus.fail(Errno.EHOSTUNREACH, "the client is closed"));
            }
        }
    }

    private void drain() {
        long now = System.nanoTime();
        @Nullable PendingCall call = handoff.takeAll();
        while (call != null) {
            @Nullable PendingCall next = HandoffQueue.unlink(call);
            submit(call, now);
            call = next;
        }
    }

    private void failHandedOff(RpcStatus status) {
        @Nullable PendingCall call = handoff.takeAll();
        while (call != null) {
            @Nullable PendingCall next = HandoffQueue.unlink(call);
            call.fail(status);
            call = next;
        }
    }

    @Override
    public boolean connected() {
        return connected;
    }

    // ---- the rest on the loop

    private void submit(PendingCall call, long now) {
        lastUseNanos = now;
        if (call.bodyBytes() > options.maxBodyBytes()) {
            String detail = call.bodyBytes() + " bytes are too long for one message";
            failLater(call, RpcStatus.fail(Errno.E2BIG, detail));
        } else if (call.deadlineNanos - now <= 0) {
            failLater(call, calls.timedOut());
        } else {
            switch (state) {
                case READY -> send(call, now);
                case CONNECTING -> calls.await(call);
                case BACK_OFF -> {
                    if (nextAttemptNanos - now <= WAIT_NANOS) {
                        calls.await(call);
                    } else {
                        failLater(call, lastFailure);
                    }
                }
                case IDLE -> {
                    calls.await(call);
                    connect();
                }
                case CLOSED -> failLater(call, lastFailure);
            }
        }
    }

    /** Not now: the caller may hold what the callback wants, and may call again from it. */
    private void failLater(PendingCall call, RpcStatus status) {
        try {
            loop.execute(() -> call.fail(status));
        } catch (RejectedExecutionException e) {
            call.fail(status);
        }
    }

    private void send(PendingCall call, long now) {
        ClientConnection to = connection;
        if (to == null) {
            throw new IllegalStateException("ready without a connection");
        }
        if (to.queuedBytes() > options.maxQueuedBytes()) {
            calls.forget(call);
            failLater(
                    call,
                    RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, to.describe() + " does not read"));
            return;
        }
        call.writeTo(to, calls.sent(call, now));
        if (!call.oneWay()) {
            replacement.sent(to);
        }
    }

    void expired(PendingCall call) {
        calls.expired(call);
    }

    /** Whether a call that was sent waits for its answer. */
    boolean awaitsAnswers() {
        return calls.sent() > 0;
    }

    void answered(long id, int word, ByteBuf head, ByteBuf payload) {
        calls.answered(id, word, head, payload);
    }

    // ---- connecting

    private void connect() {
        state = State.CONNECTING;
        refusal = null;
        client.connect(this, this, address, loop);
    }

    @Override
    public void ready(ClientConnection with) {
        if (state != State.CONNECTING) {
            with.closeQuietly("the client is closed");
            return;
        }
        state = State.READY;
        connection = with;
        connected = true;
        readySinceNanos = System.nanoTime();
        if (failureLogged) {
            LOG.info("Connected to {} again", RpcAddress.format(address));
            failureLogged = false;
        }
        // Callbacks may add calls: those come after these.
        int count = calls.waiting();
        for (int i = 0; i < count && state == State.READY; i++) {
            send(calls.takeWaiting(), readySinceNanos);
        }
    }

    @Override
    public void refused(String reason) {
        refusal = RpcStatus.fail(Errno.EPROTO, Advice.GIVE_UP, reason);
    }

    @Override
    public void connectFailed(String reason) {
        if (state == State.CONNECTING) {
            failed(unreachable("cannot connect to " + RpcAddress.format(address) + ": " + reason));
        }
    }

    @Override
    public void lost(ClientConnection which, String reason) {
        if (state == State.CONNECTING || which == connection) {
            failed(
                    refusal != null
                            ? refusal
                            : unreachable(
                                    "lost connection to "
                                            + RpcAddress.format(address)
                                            + ": "
                                            + reason));
        }
    }

    /** While READY: nothing comes through the connection, but this one has just been made. */
    void replace(ClientConnection dead, ClientConnection with) {
        connection = with;
        readySinceNanos = System.nanoTime();
        with.belongTo(this);
        with.traffic().replaced();
        String reason =
                "nothing came from "
                        + RpcAddress.format(address)
                        + " through a connection, but it takes another one";
        LOG.warn("{}: what waits for an answer is sent again through that", reason);
        dead.abort(reason);
        calls.failSent(unreachable(reason));
    }

    private void failed(RpcStatus status) {
        long now = System.nanoTime();
        if (state == State.READY && now - readySinceNanos >= STABLE_NANOS) {
            failedAttempts = 0;
        }
        replacement.stop();
        connection = null;
        connected = false;
        lastFailure = status;
        if (!failureLogged) {
            LOG.warn("{}", status.detail());
            failureLogged = true;
        }
        state = State.BACK_OFF;
        long delay = backOff.delayNanos(++failedAttempts);
        nextAttemptNanos = now + delay;
        try {
            var _ = loop.schedule(this::backOffOver, delay, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            state = State.CLOSED;
        }
        calls.failAll(status);
    }

    private void backOffOver() {
        if (state != State.BACK_OFF) {
            return;
        }
        if (calls.waiting() == 0 && System.nanoTime() - lastUseNanos > IN_USE_NANOS) {
            state = State.IDLE;
            failedAttempts = 0;
        } else {
            connect();
        }
    }

    /** Any thread: for good. Outstanding calls get EHOSTUNREACH, GIVE_UP. */
    void close() {
        try {
            loop.execute(this::closeOnLoop);
        } catch (RejectedExecutionException e) {
            failHandedOff(RpcStatus.fail(Errno.EHOSTUNREACH, "the client is closed"));
        }
    }

    private void closeOnLoop() {
        drain();
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        lastFailure = RpcStatus.fail(Errno.EHOSTUNREACH, "the client is closed");
        replacement.stop();
        connected = false;
        @Nullable ClientConnection last = connection;
        connection = null;
        if (last != null) {
            last.closeQuietly("the client is closed");
        }
        calls.failAll(lastFailure);
    }

    @Override
    public String toString() {
        return RpcAddress.format(address);
    }
}
