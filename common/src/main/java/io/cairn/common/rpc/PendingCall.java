package io.cairn.common.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call from when it is made until its callback has run: the only object a call costs. It is its
 * own node in the hand-off queue, in the deadline wheel and in the map of outstanding calls. A
 * one-way message is a call without callback. After construction on its channel's loop only.
 */
final class PendingCall extends HandoffQueue.Node<PendingCall> {
    private static final Logger LOG = LoggerFactory.getLogger(PendingCall.class);

    final ClientChannel channel;
    final int method;
    final long deadlineNanos;
    private final long startNanos;
    private final @Nullable RpcCallback callback;

    /** What is to be sent, until it is handed to the connection. */
    private ByteBuf frame;

    private ByteBuf payload;
    private boolean done;

    /** Of the connection it was sent on, unless it is one-way. */
    private @Nullable RpcTraffic traffic;

    /** Under which the peer answers; 0 while not sent. */
    long id;

    // Links of DeadlineWheel; bucket -1: not in it.
    int bucket = -1;
    @Nullable PendingCall wheelNext;
    @Nullable PendingCall wheelPrevious;

    PendingCall(
            ClientChannel channel,
            int method,
            long startNanos,
            long deadlineNanos,
            @Nullable RpcCallback callback,
            ByteBuf frame,
            ByteBuf payload) {
        this.channel = channel;
        this.method = method;
        this.startNanos = startNanos;
        this.deadlineNanos = deadlineNanos;
        this.callback = callback;
        this.frame = frame;
        this.payload = payload;
    }

    boolean oneWay() {
        return callback == null;
    }

    boolean done() {
        return done;
    }

    int bodyBytes() {
        return frame.readableBytes() - FrameFormat.HEADER_LENGTH + payload.readableBytes();
    }

    /** Gives the buffers to the connection. */
    void writeTo(ClientConnection connection, int word) {
        ByteBuf sentFrame = frame;
        ByteBuf sentPayload = payload;
        frame = Unpooled.EMPTY_BUFFER;
        payload = Unpooled.EMPTY_BUFFER;
        if (oneWay()) {
            connection.traffic().oneWay();
        } else {
            traffic = connection.traffic();
            traffic.started();
        }
        int kind = oneWay() ? FrameFormat.KIND_ONE_WAY : FrameFormat.KIND_REQUEST;
        connection.write(kind, method, id, word, sentFrame, sentPayload);
    }

    /** Ends the call, once; the buffers stay the caller's. */
    void complete(RpcStatus status, ByteBuf head, ByteBuf data) {
        if (done) {
            return;
        }
        done = true;
        frame.release();
        payload.release();
        if (traffic != null) {
            traffic.finished(startNanos, status.ok());
        }
        if (callback == null) {
            return;
        }
        try {
            callback.done(status, head, data);
        } catch (Throwable e) {
            LOG.error("Callback of method {} to {} failed", method, channel, e);
        }
    }

    void fail(RpcStatus status) {
        complete(status, Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
    }

    /** Its deadline has passed; it is no longer in the wheel. */
    void expired() {
        channel.expired(this);
    }
}
