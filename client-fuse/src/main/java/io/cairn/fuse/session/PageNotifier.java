package io.cairn.fuse.session;

import io.cairn.fuse.kernel.NotifyFormat;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the kernel drop the pages it has of inodes. On a thread of its own, apart from the one of
 * {@link Notifier}: dropping a page waits for the requests that hold it locked, so neither answers
 * nor anything that others wait for may stand behind it. Any thread may ask, also one that
 * completes requests, after the answer.
 */
final class PageNotifier {
    private static final Logger LOG = LoggerFactory.getLogger(PageNotifier.class);

    private final FuseDevice device;
    private final LinkedBlockingQueue<Long> queue = new LinkedBlockingQueue<>();

    /** In the queue: one that is asked for again before its turn is dropped once. */
    private final Set<Long> queued = ConcurrentHashMap.newKeySet();

    private final MemorySegment message = Arena.ofAuto().allocate(64, 8);
    private final Thread thread =
            Thread.ofPlatform().daemon().name("cairn-fuse-pages").unstarted(this::run);

    PageNotifier(FuseDevice device) {
        this.device = device;
    }

    void start() {
        thread.start();
    }

    void close() {
        thread.interrupt();
    }

    void drop(long node) {
        if (queued.add(node)) {
            queue.add(node);
        }
    }

    private void run() {
        try {
            while (true) {
                long node = queue.take();
                queued.remove(node); // from now on pages may come that this does not reach
                int length = NotifyFormat.putInvalidatePages(message, node);
                long result = device.write(message, length);
                // ENOENT: the kernel does not have the node, which is as good.
                if (result < 0 && result != -LinuxError.ENOENT && result != -LinuxError.ENODEV) {
                    LOG.warn(
                            "dropping the pages of node {} failed: {}",
                            node,
                            LinuxError.describe((int) -result));
                }
            }
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
    }
}
