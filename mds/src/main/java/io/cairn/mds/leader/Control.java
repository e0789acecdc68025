package io.cairn.mds.leader;

import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.store.CorruptStateException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread of a server and its tasks. The control thread runs all background work, so that this
 * work needs no locks; the thread of the leases pings the members and answers heartbeats, which
 * background work must not delay. Tasks must not block. Any thread may hand over tasks; after
 * {@link #close} they are dropped.
 *
 * <p>A task that throws is a fault of the server. An exception is logged and counted, and {@code
 * cairn status} warns of it, because what the task was to do may not be done before another member
 * leads; periodic tasks run again. An {@link Error} ends the process: its thread's state is
 * unknown.
 */
public final class Control implements Executor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Control.class);

    private final String name;
    private final Leadership.FailureHandler failures;
    private final MdsMeters metrics;
    private final AtomicLong failedTasks = new AtomicLong();
    private final ScheduledExecutorService thread;
    private volatile @Nullable Thread self;

    /**
     * @param failures told where a task meets state that cannot be trusted any more
     */
    public Control(String name, Leadership.FailureHandler failures, MdsMeters metrics) {
        this.name = name;
        this.failures = failures;
        this.metrics = metrics;
        thread =
                Executors.newSingleThreadScheduledExecutor(task -> {
                    Thread t = Thread.ofPlatform().name(name).daemon().unstarted(task);
                    self = t;
                    return t;
                });
    }

    @Override
    public void execute(Runnable task) {
        try {
            thread.execute(guarded(task));
        } catch (RejectedExecutionException e) {
            LOG.debug("the server is closing: a task was dropped");
        }
    }

    /** Runs the task after a delay; null when the server is closing. */
    public @Nullable ScheduledFuture<?> after(long delayNanos, Runnable task) {
        try {
            return thread.schedule(guarded(task), delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            return null;
        }
    }

    /** Runs the task again and again until it is cancelled; null when the server is closing. */
    public @Nullable ScheduledFuture<?> every(long periodNanos, Runnable task) {
        try {
            return thread.scheduleWithFixedDelay(
                    guarded(task), periodNanos, periodNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            return null;
        }
    }

    /** Tasks that threw, since the server started. Any thread. */
    public long failedTasks() {
        return failedTasks.get();
    }

    boolean isCurrentThread() {
        return Thread.currentThread().equals(self);
    }

    private Runnable guarded(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (CorruptStateException e) {
                failures.failed("the metadata cannot be read", e);
            } catch (RuntimeException e) {
                LOG.error("a task of {} failed", name, e);
                failedTasks.incrementAndGet();
                metrics.controlFailed();
            } catch (Throwable e) { // the executor would keep it to itself and end the task
                failures.failed("the thread " + name + " failed", e);
            }
        };
    }

    /** Drops what has not begun and waits for what has, unless called on the thread itself. */
    @Override
    public void close() {
        thread.shutdownNow();
        if (isCurrentThread()) {
            return;
        }
        try {
            if (!thread.awaitTermination(10, TimeUnit.SECONDS)) {
                LOG.warn("{} did not end in time", name);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
