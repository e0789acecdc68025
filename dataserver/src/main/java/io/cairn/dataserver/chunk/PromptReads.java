package io.cairn.dataserver.chunk;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Reads of an index for callers that others wait for: event loops, and whoever holds the monitor of
 * a placement group. They wait for a thread that reads, for two seconds in all; then the index
 * hangs, and no read is tried any more. So an index whose device hangs holds up nothing of the
 * other disks for longer than that. Any thread.
 */
final class PromptReads implements AutoCloseable {
    /** Shorter than the lease of a data server. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final ExecutorService threads =
            Executors.newCachedThreadPool(
                    Thread.ofPlatform().daemon().name("cairn-index-read-", 0).factory());

    private volatile boolean hangs;

    /**
     * @throws IndexDamagedException also if there is no answer for two seconds
     */
    <T> T read(Supplier<T> read) {
        if (hangs) {
            throw IndexDamagedException.hangs(PATIENCE);
        }
        CompletableFuture<T> result;
        try {
            result = CompletableFuture.supplyAsync(read, threads);
        } catch (RejectedExecutionException e) {
            throw new IndexDamagedException("it is closed", e);
        }
        try {
            return result.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            hangs = true;
            throw IndexDamagedException.hangs(PATIENCE);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IndexDamagedException damaged) {
                throw damaged;
            }
            throw new CompletionException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IndexDamagedException("interrupted", e);
        }
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
