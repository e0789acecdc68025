package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A request a server received; becomes its own answer in the connection's queue. */
final class ServerRequest extends Outbound implements RpcRequest {
    private static final Logger LOG = LoggerFactory.getLogger(ServerRequest.class);
    private static final int MAX_DETAIL_CHARS = 1024;
    private static final VarHandle ANSWERED;
    private static final VarHandle RELEASED;

    static {
        try {
            ANSWERED =
                    MethodHandles.lookup()
                            .findVarHandle(ServerRequest.class, "answered", boolean.class);
            RELEASED =
                    MethodHandles.lookup()
                            .findVarHandle(ServerRequest.class, "released", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final ServerConnection connection;
    private final boolean oneWay;
    private final int method;
    private final long id;
    private final long startNanos;
    private final long deadlineNanos;
    private final ByteBuf head;
    private final ByteBuf payload;
    private final int bodyBytes;
    private final int budgeted;

    @SuppressWarnings("unused") // through ANSWERED
    private volatile boolean answered;

    @SuppressWarnings("unused") // through RELEASED
    private volatile boolean released;

    private int status;
    private ByteBuf replyFrame = Unpooled.EMPTY_BUFFER;
    private ByteBuf replyPayload = Unpooled.EMPTY_BUFFER;

    ServerRequest(
            ServerConnection connection,
            boolean oneWay,
            int method,
            long id,
            long startNanos,
            long deadlineNanos,
            ByteBuf head,
            ByteBuf payload,
            int budgeted) {
        this.budgeted = budgeted;
        this.connection = connection;
        this.oneWay = oneWay;
        this.method = method;
        this.id = id;
        this.startNanos = startNanos;
        this.deadlineNanos = deadlineNanos;
        this.head = head;
        this.payload = payload;
        this.bodyBytes = head.readableBytes() + payload.readableBytes();
    }

    @Override
    public RpcPeer peer() {
        return connection;
    }

    @Override
    public int method() {
        return method;
    }

    @Override
    public long deadlineNanos() {
        return deadlineNanos;
    }

    @Override
    public ByteBuf head() {
        return head;
    }

    @Override
    public ByteBuf payload() {
        return payload;
    }

    /** Counts against the limits on bytes until the body is released. */
    int bodyBytes() {
        return bodyBytes;
    }

    @Override
    public void releaseBody() {
        if (RELEASED.compareAndSet(this, false, true)) {
            head.release();
            payload.release();
            connection.bodyReleased(bodyBytes, budgeted);
        }
    }

    @Override
    public void reply(MessageLite replyHead) {
        if (claim()) {
            answer(FrameSender.withHead(connection.allocator(), replyHead), Unpooled.EMPTY_BUFFER);
        }
    }

    @Override
    public void reply(ByteBuf replyHead, ByteBuf replyData) {
        if (claim()) {
            answer(FrameSender.withHead(connection.allocator(), replyHead), replyData);
        } else {
            replyHead.release();
            replyData.release();
        }
    }

    @Override
    public void fail(RpcStatus failure) {
        if (!claim()) {
            return;
        }
        if (failure.ok()) {
            LOG.error("Method {} failed with success: {}", method, failure.detail());
        }
        Errno errno = failure.ok() ? Errno.EIO : failure.errno();
        status = FrameFormat.status(errno.number(), failure.advice().number());
        answer(detail(failure.detail()), Unpooled.EMPTY_BUFFER);
    }

    /** What the handler throws is answered unless it has answered itself. */
    void failed(Throwable cause) {
        LOG.error(
                "Handler of method {} failed, called by {}", method, connection.describe(), cause);
        if (!(boolean) ANSWERED.getVolatile(this)) {
            fail(RpcStatus.fail(Errno.EIO, "internal error: " + cause));
        }
    }

    private ByteBuf detail(String text) {
        String bounded =
                text.length() <= MAX_DETAIL_CHARS ? text : text.substring(0, MAX_DETAIL_CHARS);
        ByteBuf utf8 = connection.allocator().directBuffer(ByteBufUtil.utf8MaxBytes(bounded));
        utf8.writeCharSequence(bounded, StandardCharsets.UTF_8);
        return FrameSender.withHead(connection.allocator(), utf8);
    }

    private boolean claim() {
        if (ANSWERED.compareAndSet(this, false, true)) {
            return true;
        }
        LOG.error("Method {} was answered twice", method, new IllegalStateException("here"));
        return false;
    }

    private void answer(ByteBuf frame, ByteBuf data) {
        releaseBody();
        if (oneWay) {
            frame.release();
            data.release();
            connection.enqueue(this);
            return;
        }
        int length = frame.readableBytes() - FrameFormat.HEADER_LENGTH + data.readableBytes();
        if (length > connection.options.maxBodyBytes()) {
            LOG.error("Answer of method {} is {} bytes long: not sent", method, length);
            frame.release();
            data.release();
            status = FrameFormat.status(Errno.EIO.number(), Advice.GIVE_UP.number());
            replyFrame = detail("the answer of " + length + " bytes is too long to be sent");
        } else {
            replyFrame = frame;
            replyPayload = data;
        }
        connection.enqueue(this);
    }

    @Override
    void writeTo(ServerConnection to) {
        if (oneWay) {
            to.handled();
            return;
        }
        to.answered(startNanos, status == 0);
        to.write(FrameFormat.KIND_REPLY, method, id, status, replyFrame, replyPayload);
    }

    @Override
    void discard() {
        replyFrame.release();
        replyPayload.release();
    }
}
