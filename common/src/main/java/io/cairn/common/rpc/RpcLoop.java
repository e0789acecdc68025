package io.cairn.common.rpc;

import io.cairn.common.time.Periodic;
import io.netty.channel.EventLoop;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * One event loop, for those who own state on it: what they run here needs no lock, and calls they
 * make on a channel of this loop cost no hop. Any thread.
 */
public final class RpcLoop implements Executor {
    private final EventLoop loop;

    RpcLoop(EventLoop loop) {
        this.loop = loop;
    }

    /** Whether the caller runs on this loop. */
    public boolean inLoop() {
        return loop.inEventLoop();
    }

    /** Runs the task on the loop, later, in the order given. */
    @Override
    public void execute(Runnable task) {
        loop.execute(task);
    }

    /** Runs the task on the loop after a delay. */
    public void after(long delayNanos, Runnable task) {
        var _ = loop.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Runs the task on the loop again and again until the loop ends, also when it throws.
     *
     * @param what names the task in the log
     */
    public void every(long periodNanos, String what, Runnable task) {
        var _ = Periodic.every(loop, periodNanos, what, task);
    }

    EventLoop eventLoop() {
        return loop;
    }
}
