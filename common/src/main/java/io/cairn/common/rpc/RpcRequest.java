package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;

/**
 * One request being served. Exactly one of the reply methods must be called, once, from any thread.
 * Head and payload belong to the request and are released when it is answered; a handler that wants
 * the payload longer retains it.
 */
public interface RpcRequest {
    RpcPeer peer();

    /** Method number, see {@code io.cairn.common.proto.Method}. */
    int method();

    /** {@link System#nanoTime()} after which the caller no longer waits. */
    long deadlineNanos();

    /**
     * The structured part: a protobuf message, or a fixed little-endian header for data methods.
     */
    ByteBuf head();

    /** Raw bytes; empty for control methods. */
    ByteBuf payload();

    /**
     * Head and payload are not needed any more, though the answer takes its time: their memory is
     * given back now, and the caller may send so much more. Not to be touched afterwards. Any
     * thread; harmless when it is answered already.
     */
    void releaseBody();

    void reply(MessageLite head);

    /** Takes over both buffers. */
    void reply(ByteBuf head, ByteBuf payload);

    void fail(RpcStatus status);
}
