package io.cairn.dataserver;

import io.cairn.common.time.Periodic;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.HungCallCheck;
import io.cairn.dataserver.pg.LocalDisk;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Takes a disk out of service when a call to it does not come back. On a thread of its own, which
 * never waits for a disk or for an event loop.
 */
final class HangWatch implements AutoCloseable {
    static final long LOOK_MILLIS = 250;

    private final ScheduledExecutorService thread =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("cairn-disk-watch").factory());

    private final List<Watched> disks = new CopyOnWriteArrayList<>();

    private record Watched(LocalDisk disk, HungCallCheck check) {}

    /**
     * @param after a call to the disk that has waited for so long hangs
     */
    void add(LocalDisk disk, DiskCalls calls, Duration after) {
        disks.add(new Watched(disk, new HungCallCheck(calls, after, System.nanoTime())));
    }

    void start() {
        var _ =
                Periodic.every(
                        thread,
                        TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS),
                        "The look for calls to disks that hang",
                        this::look);
    }

    private void look() {
        for (Watched w : disks) {
            String hung = w.disk.isOut() ? null : w.check.look(System.nanoTime());
            w.disk.waited(w.check.waitedNanos());
            if (hung != null) {
                w.disk.hangs(hung);
            }
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
