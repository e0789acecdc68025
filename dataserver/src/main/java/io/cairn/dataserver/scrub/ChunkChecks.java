package io.cairn.dataserver.scrub;

import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.store.ChunkCheck;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads chunks of one disk for scrubs, its own and those of other primaries, one after the other on
 * a thread of its own. Any thread.
 */
public final class ChunkChecks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ChunkChecks.class);

    /** Each primary has one in flight. */
    private static final int QUEUE = 1024;

    private static final long CLOSE_SECONDS = 10;

    private final LocalDisk disk;
    private final ReadPace pace;
    private final ThreadPoolExecutor thread;

    ChunkChecks(LocalDisk disk, long bytesPerSecond) {
        this.disk = disk;
        pace = new ReadPace(disk.store(), bytesPerSecond);
        thread =
                new ThreadPoolExecutor(
                        1,
                        1,
                        60,
                        TimeUnit.SECONDS,
                        new ArrayBlockingQueue<>(QUEUE),
                        Thread.ofPlatform().daemon().name("cairn-scrub-read-", 0).factory());
        thread.allowCoreThreadTimeOut(true);
    }

    /**
     * Reads a chunk, see {@link io.cairn.dataserver.store.ScrubStore#check}: exactly one of the two
     * is told how that ended, on another thread, or at once if too many chunks wait to be read.
     */
    public void check(int pg, Key key, Consumer<ChunkCheck> result, Consumer<Throwable> failure) {
        try {
            thread.execute(() -> {
                ChunkCheck check;
                try {
                    check = disk.store().check(pg, key, pace);
                } catch (Throwable e) { // an Error too: who asked would wait for ever
                    failure.accept(e);
                    return;
                }
                result.accept(check);
            });
        } catch (RejectedExecutionException e) {
            failure.accept(e);
        }
    }

    /**
     * Ends what is being read, at its next piece. An interrupt could close the file of the disk or
     * of its log that is being read, which others use too.
     */
    @Override
    public void close() {
        pace.close();
        thread.getQueue().clear();
        thread.shutdown();
        try {
            if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("Disk {}: a scrub's read did not end in time", disk.id());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
