package io.cairn.dataserver.pg;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls to the store of one disk that wait for its device. Each disk has a few threads and a
 * bounded queue of its own: a slow disk delays nothing but what is asked of it. Any thread.
 */
public final class BlockingCalls implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BlockingCalls.class);

    private static final int THREADS = 2;
    private static final int QUEUE = 1024;
    private static final long CLOSE_SECONDS = 10;

    private final ThreadPoolExecutor threads =
            new ThreadPoolExecutor(
                    THREADS,
                    THREADS,
                    60,
                    TimeUnit.SECONDS,
                    new ArrayBlockingQueue<>(QUEUE),
                    Thread.ofPlatform().daemon().name("cairn-data-blocking-", 0).factory());

    BlockingCalls() {
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * Runs the call later and tells how it ended: exactly one of the two is told, once, on a thread
     * of the disk, or at once when the disk has too many calls waiting or is closed.
     */
    public <T> void call(Callable<T> call, Consumer<T> result, Consumer<Throwable> failure) {
        try {
            threads.execute(() -> run(call, result, failure));
        } catch (RejectedExecutionException e) {
            failure.accept(e);
        }
    }

    private static <T> void run(Callable<T> call, Consumer<T> result, Consumer<Throwable> failure) {
        T value;
        try {
            value = call.call();
        } catch (Throwable e) { // an Error too: who asked would wait for ever
            failure.accept(e);
            return;
        }
        result.accept(value);
    }

    /** Waits for the calls in progress, but not for long. */
    @Override
    public void close() {
        threads.shutdown();
        try {
            if (!threads.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("A store call did not end in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
