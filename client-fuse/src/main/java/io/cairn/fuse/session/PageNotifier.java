package io.cairn.fuse.session;

import io.cairn.fuse.kernel.HeaderFormat;
import io.cairn.fuse.kernel.NotifyFormat;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the kernel drop pages of inodes, or all names. On threads of its own, apart from the one of
 * {@link Notifier}: dropping a page waits for the request that holds it locked, and one file that
 * waits must not hold up the others. Any thread may ask, also one that completes requests.
 */
final class PageNotifier {
    private static final Logger LOG = LoggerFactory.getLogger(PageNotifier.class);
    private static final int THREADS = 4;
    private static final long IDLE_SECONDS = 10;

    private final FuseDevice device;
    private final ThreadPoolExecutor threads =
            new ThreadPoolExecutor(
                    THREADS,
                    THREADS,
                    IDLE_SECONDS,
                    TimeUnit.SECONDS,
                    new LinkedBlockingQueue<>(),
                    Thread.ofPlatform().daemon().name("cairn-fuse-pages-", 0).factory());

    /** Nodes of {@link #dropSoon} in the queue: asked for again before its turn, one is enough. */
    private final Set<Long> soon = ConcurrentHashMap.newKeySet();

    PageNotifier(FuseDevice device) {
        this.device = device;
        threads.allowCoreThreadTimeOut(true);
    }

    void close() {
        threads.shutdownNow();
    }

    /** All pages of the node, at some time. */
    void dropSoon(long node) {
        if (soon.add(node)) {
            execute(() -> {
                soon.remove(node); // from here on pages may come that this does not reach
                drop(node, 0);
            });
        }
    }

    /** The pages from an offset on; then runs something brief, also where the mount is gone. */
    void drop(long node, long from, Runnable afterwards) {
        execute(() -> {
            drop(node, from);
            afterwards.run();
        });
    }

    void forgetNames() {
        execute(() -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment message = arena.allocate(HeaderFormat.OUT_SIZE, 8);
                long result = device.write(message, NotifyFormat.putForgetNames(message));
                if (result < 0) {
                    LOG.debug(
                            "names are known until their time is over: {}",
                            LinuxError.describe((int) -result));
                }
            }
        });
    }

    private void execute(Runnable task) {
        try {
            threads.execute(() -> {
                try {
                    task.run();
                } catch (RuntimeException e) {
                    LOG.error("after pages were dropped", e);
                }
            });
        } catch (RejectedExecutionException unmounted) {
            LOG.debug("unmounted: pages go with it");
        }
    }

    private void drop(long node, long from) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message =
                    arena.allocate(HeaderFormat.OUT_SIZE + NotifyFormat.INVAL_INODE_SIZE, 8);
            int length = NotifyFormat.putInvalidatePages(message, node, from);
            long result = device.write(message, length);
            // ENOENT: the kernel does not have the node, which is as good.
            if (result < 0 && result != -LinuxError.ENOENT && result != -LinuxError.ENODEV) {
                LOG.warn(
                        "dropping the pages of node {} failed: {}",
                        node,
                        LinuxError.describe((int) -result));
            }
        }
    }
}
