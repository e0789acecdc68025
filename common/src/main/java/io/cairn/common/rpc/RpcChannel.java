package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;

/**
 * A pipelined connection to one server that reconnects by itself, with back-off, while it is in
 * use. Any thread. A call that happens before another is sent before it.
 */
public interface RpcChannel {
    /**
     * Calls a control method.
     *
     * @param deadlineNanos {@link System#nanoTime()} value at which the callback gets ETIMEDOUT
     */
    void call(int method, MessageLite head, long deadlineNanos, RpcCallback callback);

    /** Calls a data method. Takes over both buffers, also when it fails. */
    void call(int method, ByteBuf head, ByteBuf payload, long deadlineNanos, RpcCallback callback);

    /** Sends without expecting an answer; lost without notice when not connected. */
    void send(int method, MessageLite head);

    boolean connected();
}
