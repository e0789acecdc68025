package io.cairn.cli.migrate;

import io.cairn.cli.output.Progress;
import io.cairn.cli.output.Sizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** What a migration has done so far. Any thread. */
final class MigrationTally {
    /** Named in the report; the others are counted. */
    private static final int MAX_NAMED = 1000;

    private final long startNanos = System.nanoTime();
    final AtomicLong filesToMove = new AtomicLong();
    final AtomicLong bytesToMove = new AtomicLong();
    final AtomicLong filesMoved = new AtomicLong();
    final AtomicLong filesThere = new AtomicLong();
    final AtomicLong filesGone = new AtomicLong();
    final AtomicLong filesFailed = new AtomicLong();
    final AtomicLong directories = new AtomicLong();
    final AtomicLong bytesCopied = new AtomicLong();

    /** Of files that are done: as far as their sizes stood for what was to be done. */
    final AtomicLong bytesDone = new AtomicLong();

    private final List<MigrationReport.Failure> failures = new ArrayList<>();

    void failed(String path, String why) {
        filesFailed.incrementAndGet();
        synchronized (failures) {
            if (failures.size() < MAX_NAMED) {
                failures.add(new MigrationReport.Failure(path, why));
            }
        }
    }

    List<MigrationReport.Failure> failures() {
        synchronized (failures) {
            return List.copyOf(failures);
        }
    }

    double seconds() {
        return (System.nanoTime() - startNanos) / (double) TimeUnit.SECONDS.toNanos(1);
    }

    void show(Progress progress) {
        double rate = bytesCopied.get() / Math.max(0.001, seconds());
        long left = Math.max(0, bytesToMove.get() - Math.max(bytesDone.get(), bytesCopied.get()));
        String eta = rate < 1 ? "" : ", " + Sizes.text((long) rate) + "/s, " + minutes(left / rate);
        progress.show(
                "%,d of %,d files, %s of %s%s"
                        .formatted(
                                filesMoved.get() + filesThere.get() + filesGone.get(),
                                filesToMove.get(),
                                Sizes.text(bytesCopied.get()),
                                Sizes.text(bytesToMove.get()),
                                eta));
    }

    private static String minutes(double seconds) {
        return seconds < 120
                ? String.format(Locale.ROOT, "%.0f s left", Math.ceil(seconds))
                : String.format(Locale.ROOT, "%.0f min left", seconds / 60);
    }
}
