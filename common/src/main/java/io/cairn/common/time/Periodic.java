package io.cairn.common.time;

import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a task again and again until it is cancelled or its executor shuts down. A {@link
 * ScheduledExecutorService} alone ends a task that throws once, and tells nobody. Here the first
 * failure in a row is logged, and the task runs again. Used by the executor's threads, for one run
 * at a time.
 */
public final class Periodic {
    private static final Logger LOG = LoggerFactory.getLogger(Periodic.class);

    private final String what;
    private final Runnable task;
    private boolean failing;

    private Periodic(String what, Runnable task) {
        this.what = what;
        this.task = task;
    }

    /**
     * @param periodNanos from the end of a run to the beginning of the next, at least 1
     * @param what names the task in the log: {@code "The check for expired requests"}
     */
    public static ScheduledFuture<?> every(
            ScheduledExecutorService executor, long periodNanos, String what, Runnable task) {
        return executor.scheduleWithFixedDelay(
                new Periodic(what, task)::run, periodNanos, periodNanos, TimeUnit.NANOSECONDS);
    }

    private void run() {
        try {
            task.run();
            if (failing) {
                failing = false;
                LOG.info("{} works again", what);
            }
        } catch (Throwable e) {
            if (!failing) {
                failing = true;
                LOG.error("{} failed; it is tried again", what, e);
            }
        }
    }
}
