package io.cairn.dataserver.store;

import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.wal.Wal;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides when the {@link Flusher} works: at intervals while there is little to do, which lets
 * overwrites meet in the WAL, without a pause while the WAL is filling or space is short. The
 * methods may be called by any thread.
 */
final class FlushThread {
    private static final Logger LOG = LoggerFactory.getLogger(FlushThread.class);

    /** From here on the flusher does not pause. */
    private static final double BUSY_FILL = 0.1;

    /** How often a pause looks whether the log is idle. */
    private static final long IDLE_CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long IDLE_INDEX_FLUSH_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** How often what waits for a repair is tried again though nothing came that helps. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final DiskConfig config;
    private final Flusher flusher;
    private final Wal wal;
    private final SpaceAccount space;
    private final FatalHandler fatal;
    private final Thread thread;
    private final List<LongConsumer> spaceListeners = new CopyOnWriteArrayList<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wake = lock.newCondition();
    private volatile boolean stopping;
    private volatile boolean failed;
    private volatile boolean pausing;
    private volatile boolean hurried;
    private long lastIndexFlushNanos = System.nanoTime();
    private long lastRetryNanos = System.nanoTime();
    private boolean wasShort;

    FlushThread(
            String name,
            DiskConfig config,
            Flusher flusher,
            Wal wal,
            SpaceAccount space,
            FatalHandler fatal) {
        this.config = config;
        this.flusher = flusher;
        this.wal = wal;
        this.space = space;
        this.fatal = fatal;
        this.thread = Thread.ofPlatform().name(name + "-flush").daemon().unstarted(this::loop);
    }

    void start() {
        thread.start();
    }

    /** Something became flushable. */
    void committed() {
        if (pausing && (wal.fillRatio() > BUSY_FILL || space.isShort())) {
            wake();
        }
    }

    /** Somebody waits for what became flushable. */
    void hurry() {
        hurried = true;
        wake();
    }

    private void wake() {
        lock.lock();
        try {
            wake.signal();
        } finally {
            lock.unlock();
        }
    }

    void onSpace(LongConsumer listener) {
        spaceListeners.add(listener);
    }

    /**
     * Ends the thread.
     *
     * @param flush whether to flush everything committed first
     */
    void stop(boolean flush) {
        stopping = true;
        wake();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (flush && !failed) {
            flushAll();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Flushes everything committed, then the index. Not beside a running thread. */
    void flushAll() {
        try {
            while (flusher.round()) {
                flushIndexIfDue();
            }
            flusher.flushIndex();
        } catch (Throwable e) { // an Error too: the thread must not end unnoticed
            fail(e);
        }
    }

    /** One round, and the index when it is due. Not beside a running thread. */
    boolean step() {
        try {
            boolean worked = flusher.round();
            flushIndexIfDue();
            return worked;
        } catch (Throwable e) {
            fail(e);
            return false;
        }
    }

    Flusher flusher() {
        return flusher;
    }

    private void loop() {
        while (!stopping && !failed) {
            if (System.nanoTime() - lastRetryNanos > RETRY_NANOS) {
                lastRetryNanos = System.nanoTime();
                flusher.retryDeferred();
            }
            hurried = false;
            boolean worked = step();
            if (!flusher.isTurning() && (!worked || wal.fillRatio() < BUSY_FILL)) {
                pause();
            }
        }
    }

    private void flushIndexIfDue() {
        boolean isShort = space.isShort();
        long now = System.nanoTime();
        if (flusher.indexFlushDue(isShort)
                || (flusher.indexFlushPending()
                        && now - lastIndexFlushNanos > IDLE_INDEX_FLUSH_NANOS)) {
            flusher.flushIndex();
            lastIndexFlushNanos = now;
        }
        boolean stillShort = space.isShort();
        if ((wasShort || isShort) && !stillShort) {
            long bytes = space.admissibleBytes();
            spaceListeners.forEach(l -> l.accept(bytes));
        }
        wasShort = stillShort;
    }

    private void pause() {
        lock.lock();
        try {
            pausing = true;
            long left = TimeUnit.MILLISECONDS.toNanos(config.flushIntervalMillis());
            boolean woken = false;
            while (!stopping && !woken && !hurried && left > 0) {
                long slice = Math.min(left, IDLE_CHECK_NANOS);
                woken = wake.awaitNanos(slice) > 0;
                left -= slice;
                wal.markIdle(System.nanoTime());
            }
        } catch (InterruptedException e) {
            LOG.warn("flusher of {} was interrupted; stopping it", config.data());
            stopping = true;
        } finally {
            pausing = false;
            lock.unlock();
        }
    }

    private void fail(Throwable e) {
        failed = true;
        fatal.fatal("flushing " + config.data() + " failed", e);
    }
}
