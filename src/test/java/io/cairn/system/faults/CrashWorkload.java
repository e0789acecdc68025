package io.cairn.system.faults;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import org.awaitility.Awaitility;

/**
 * Writers that remember, outside the file system, what was acknowledged to them. After a crash
 * every promised change must be there, and of an operation that was in flight either the old state
 * or the new one.
 *
 * <p>Each {@link CrashWriter} owns a directory. It overwrites records of one file, with fsync, and
 * makes, renames and removes small files and directories ({@link CrashNames} says what is promised
 * of those). It ends at the first error: the cluster is gone.
 */
final class CrashWorkload {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** So often is looked whether a crash is due: the time between hardly leaves out any point. */
    private static final Duration POLL = Duration.ofMillis(2);

    private final Path root;
    private final List<CrashWriter> writers = new ArrayList<>();
    private final AtomicLong acknowledged = new AtomicLong();
    private final LongAccumulator longestNanos = new LongAccumulator(Math::max, 0);

    CrashWorkload(Path root, int writers, long seed) {
        this.root = root;
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < writers; i++) {
            this.writers.add(new CrashWriter(root, i, random.split(), this::acknowledged));
        }
    }

    /** Starts or, after a crash and a new start of the cluster, resumes writing. */
    void start() {
        writers.forEach(CrashWriter::start);
    }

    private void acknowledged(long tookNanos) {
        acknowledged.incrementAndGet();
        longestNanos.accumulate(tookNanos);
    }

    /** The longest of the operations that were acknowledged since this was asked last. */
    Duration takeLongest() {
        return Duration.ofNanos(longestNanos.getThenReset());
    }

    /** Operations acknowledged so far, over all writers and rounds. */
    long acknowledged() {
        return acknowledged.get();
    }

    /** Returns when so many more were acknowledged; fails when a writer meets an error before. */
    void awaitAcknowledged(int operations) {
        long enough = acknowledged() + operations;
        Awaitility.await(operations + " more operations")
                .atMost(PATIENCE)
                .pollInterval(POLL)
                .until(() -> {
                    writers.forEach(CrashWriter::assertWriting);
                    return acknowledged() >= enough;
                });
    }

    /** Waits for the writers to run into the end of the cluster. */
    void join() {
        writers.forEach(CrashWriter::stop);
        writers.forEach(CrashWriter::join);
    }

    /** Stops writing; fails if a writer met an error. */
    void finish() {
        join();
        writers.forEach(CrashWriter::assertWriting);
        writers.forEach(CrashWriter::survived);
    }

    /** Compares everything with what was acknowledged; throws AssertionError for a loss. */
    void verify() {
        verify(root);
    }

    /**
     * Likewise by another mount, which shows nothing from its own memory.
     *
     * @param sameRoot the directory that was given to the constructor, there
     */
    void verify(Path sameRoot) {
        writers.forEach(writer -> writer.verify(sameRoot));
    }
}
