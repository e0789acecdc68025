package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Heads;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;

/**
 * A question to the leader from the moment it is asked to its answer. Any thread; the number of
 * attempts is written under the session's lock.
 */
final class PendingQuery<T extends MessageLite> {
    final Method method;
    final MessageLite request;
    final long deadlineNanos;
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final Parser<T> parser;
    int attempts;

    PendingQuery(Method method, MessageLite request, Parser<T> parser, long deadlineNanos) {
        this.method = method;
        this.request = request;
        this.parser = parser;
        this.deadlineNanos = deadlineNanos;
    }

    void answered(ByteBuf head) {
        try {
            future.complete(Heads.parse(parser, head));
        } catch (FsException e) {
            failed(e);
        }
    }

    void failed(FsException reason) {
        future.completeExceptionally(reason);
    }

    boolean late(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
