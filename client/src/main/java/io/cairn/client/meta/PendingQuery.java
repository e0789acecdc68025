package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import java.util.concurrent.CompletableFuture;
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

    /** What became of attempts. */
    interface Listener<T> {
        /** An answer, also to a question that nobody asks any more. Under the session's lock. */
        void heard(T reply);

        /** The last attempt was not answered, and the leader is not asked again. Likewise. */
        void unheard();

        static <T> Listener<T> none() {
            return new Listener<>() {
                @Override
                public void heard(T reply) {}

                @Override
                public void unheard() {}
            };
        }
    }

    final Listener<? super T> listener;
    final CompletableFuture<T> future = new CompletableFuture<>();
    int attempts;

    /** Era of the leader that was asked last; see {@link MdsLeader}. Under the lock. */
    long sentEra = -1;

    /**
     * @param request made anew for each attempt, of the session's number; under the session's lock
     */
    PendingQuery(
            Method method,
            LongFunction<? extends MessageLite> request,
            Parser<T> parser,
            long deadlineNanos,
            Listener<? super T> listener) {
        this.listener = listener;
        this.method = method;
        this.request = request;
        this.parser = parser;
        this.deadlineNanos = deadlineNanos;
    }

    MessageLite request(long session) {
        return request.apply(session);
    }

    void failed(FsException reason) {
        future.completeExceptionally(reason);
    }

    boolean late(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
