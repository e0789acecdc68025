package io.cairn.system.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes, renames and deletes files on a mount, one operation after the other, until it is closed,
 * and notes how long each took. One thread of its own.
 */
public final class MetadataWork implements AutoCloseable {
    private final Path directory;
    private final Thread thread = Thread.ofPlatform().name("metadata-work").unstarted(this::work);
    private final List<Long> tookNanos = new ArrayList<>();
    private volatile boolean stopped;
    private volatile @Nullable Exception failure;

    /**
     * @param directory new, on the mount
     */
    public MetadataWork(Path directory) throws IOException {
        this.directory = Files.createDirectory(directory);
        thread.start();
    }

    private void work() {
        try {
            for (int i = 0; !stopped; i++) {
                Path file = directory.resolve("f" + i);
                Path renamed = directory.resolve("r" + i);
                timed(() -> Files.createFile(file));
                timed(() -> Files.move(file, renamed));
                timed(() -> Files.delete(renamed));
            }
        } catch (Exception e) {
            failure = e;
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private void timed(Step step) throws IOException {
        long begun = System.nanoTime();
        step.run();
        synchronized (tookNanos) {
            tookNanos.add(System.nanoTime() - begun);
        }
    }

    /** Operations done so far. */
    public int done() {
        synchronized (tookNanos) {
            return tookNanos.size();
        }
    }

    /** The longest of those after the first so many. */
    public Duration longestSince(int done) {
        synchronized (tookNanos) {
            return Duration.ofNanos(
                    tookNanos.subList(done, tookNanos.size()).stream()
                            .mapToLong(Long::longValue)
                            .max()
                            .orElse(0));
        }
    }

    /** What an application would have been told; null: nothing. */
    public @Nullable Exception failure() {
        return failure;
    }

    @Override
    public void close() throws InterruptedException {
        stopped = true;
        thread.join(TimeUnit.MINUTES.toMillis(1));
    }
}
