package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongFunction;

/**
 * A question to the leader from the moment it is asked to its answer. Any thread; what tells of
 * attempts is written under the session's lock.
 */
final class PendingQuery<T extends MessageLite> {
    final Method method;
    private final LongFunction<? extends MessageLite> request;
    final Parser<T> parser;
    final long deadlineNanos;
    private final Consumer<? super T> heard;
    final CompletableFuture<T> future = new CompletableFuture<>();
    int attempts;

    /** Era of the leader that was asked last; see {@link MdsLeader}. Under the lock. */
    long sentEra = -1;

    /**
     * @param request made anew for each attempt, of the session's number; under the session's lock
     * @param heard told of each answer, also of one that nobody waits for any more; under the lock
     */
    PendingQuery(
            Method method,
            LongFunction<? extends MessageLite> request,
            Parser<T> parser,
            long deadlineNanos,
            Consumer<? super T> heard) {
        this.heard = heard;
        this.method = method;
        this.request = request;
        this.parser = parser;
        this.deadlineNanos = deadlineNanos;
    }

    MessageLite request(long session) {
        return request.apply(session);
    }

    void heard(T reply) {
        heard.accept(reply);
    }

    void failed(FsException reason) {
        future.completeExceptionally(reason);
    }

    boolean late(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
