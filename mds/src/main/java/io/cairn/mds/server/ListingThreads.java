package io.cairn.mds.server;

import io.cairn.mds.leader.Leadership;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads that list directories. One answer may read thousands of rows from the database, and
 * on an event loop everybody else's requests would wait for it. Any thread may hand over listings;
 * after {@link #close} they are dropped.
 */
final class ListingThreads implements Executor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ListingThreads.class);

    private final String name;
    private final ThreadPoolExecutor threads;

    /**
     * @param count of threads, which come with the first listings
     * @param failures told of an {@link Error}, behind which a thread's state is unknown
     */
    ListingThreads(String name, int count, Leadership.FailureHandler failures) {
        this.name = name;
        ThreadFactory factory =
                Thread.ofPlatform()
                        .name(name + "-", 0)
                        .daemon()
                        .uncaughtExceptionHandler((thread, e) ->
                                failures.failed("the thread " + thread.getName() + " failed", e))
                        .factory();
        threads =
                new ThreadPoolExecutor(
                        count,
                        count,
                        0,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        factory,
                        new ThreadPoolExecutor.DiscardPolicy());
    }

    @Override
    public void execute(Runnable listing) {
        threads.execute(listing);
    }

    /** Drops what has not begun and waits for what has. */
    @Override
    public void close() {
        threads.shutdownNow();
        try {
            if (!threads.awaitTermination(10, TimeUnit.SECONDS)) {
                LOG.warn("{} did not end in time", name);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
