package io.cairn.client.meta;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcChannel;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the requests of a session under its one lock, so that they leave in the order in which its
 * state changed, and reports their outcomes outside of it. Any thread.
 */
final class SessionCalls {
    private static final Logger LOG = LoggerFactory.getLogger(SessionCalls.class);

    private static final long SEARCH_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** Guards the state of the session and of everything it carries. */
    final Object lock = new Object();

    private final ScheduledExecutorService timer;
    private final long attemptNanos;

    SessionCalls(ScheduledExecutorService timer, long attemptNanos) {
        this.timer = timer;
        this.attemptNanos = attemptNanos;
    }

    /** When an attempt that begins now is given up. */
    long attemptDeadline() {
        return System.nanoTime() + attemptNanos;
    }

    /** When a member that is asked whether it leads is left for the next: it answers at once. */
    long searchDeadline() {
        return System.nanoTime() + Math.min(attemptNanos, SEARCH_NANOS);
    }

    /**
     * Calls under the lock. A channel that refuses at once calls back on this thread: that failure
     * is handled later, because futures must not complete under the lock.
     *
     * @param then not called under the lock
     */
    <T extends MessageLite> void call(
            RpcChannel to,
            Method method,
            MessageLite request,
            Parser<T> parser,
            long deadline,
            Heads.Reply<T> then) {
        to.call(
                method.getNumber(),
                request,
                deadline,
                Heads.reply(
                        parser,
                        (status, reply) -> {
                            if (Thread.holdsLock(lock)) {
                                later(0, () -> then.done(status, reply));
                            } else {
                                then.done(status, reply);
                            }
                        }));
    }

    /** Runs the step on the timer, not under the lock; never once the client is closed. */
    void later(long delayNanos, Runnable step) {
        try {
            var _ = timer.schedule(() -> run(step), delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("The client is closing; a step is left out");
        }
    }

    private static void run(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) { // the executor would keep it to itself
            LOG.error("A step of the session failed", e);
        }
    }
}
