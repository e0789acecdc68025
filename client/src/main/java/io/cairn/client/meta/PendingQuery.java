package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import java.util.concurrent.CompletableFuture;

/**
 * A question to the leader from the moment it is asked to its answer. Any thread; the number of
 * attempts is written under the session's lock.
 */
final class PendingQuery<T extends MessageLite> {
    final Method method;
    final MessageLite request;
    final Parser<T> parser;
    final long deadlineNanos;
    final CompletableFuture<T> future = new CompletableFuture<>();
    int attempts;

    PendingQuery(Method method, MessageLite request, Parser<T> parser, long deadlineNanos) {
        this.method = method;
        this.request = request;
        this.parser = parser;
        this.deadlineNanos = deadlineNanos;
    }

    void failed(FsException reason) {
        future.completeExceptionally(reason);
    }

    boolean late(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
