package io.cairn.fuse.session;

import io.cairn.fuse.kernel.NotifyFormat;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the kernel to forget what it has cached, on a thread of its own: such a message can wait
 * for locks that are released only when a request is answered, so no thread that answers requests
 * may send it. Any thread may ask.
 */
public final class Notifier {
    private static final Logger LOG = LoggerFactory.getLogger(Notifier.class);

    private record Invalidation(long node, Runnable afterwards) {}

    private final FuseDevice device;
    private final PageNotifier pages;
    private final LeaseNotifier leases;
    private final LinkedBlockingQueue<Invalidation> queue = new LinkedBlockingQueue<>();
    private final MemorySegment message = Arena.ofAuto().allocate(64, 8);
    private final Thread thread =
            Thread.ofPlatform().daemon().name("cairn-fuse-notify").unstarted(this::run);

    Notifier(FuseDevice device) {
        this.device = device;
        this.pages = new PageNotifier(device);
        this.leases = new LeaseNotifier(device);
    }

    void start() {
        thread.start();
    }

    void close() {
        thread.interrupt();
        pages.close();
        leases.close();
    }

    /** For names and attributes that the kernel has leases of. */
    public LeaseNotifier leases() {
        return leases;
    }

    /**
     * Makes the kernel drop all of the node's pages and ask again for its attributes, soon. Only
     * after the answer to a request that holds pages of it locked.
     */
    public void dropPagesSoon(long node) {
        pages.dropSoon(node);
    }

    /** Makes the kernel look up every name again, where it can (Linux 6.16 and later). */
    public void forgetNamesSoon() {
        pages.forgetNames();
    }

    /**
     * Makes the kernel drop the node's pages from an offset on and ask again for its attributes,
     * then runs something brief: the answer to a request that holds no pages.
     */
    public void dropPages(long node, long from, Runnable afterwards) {
        pages.drop(node, from, afterwards);
    }

    /**
     * Makes the kernel ask again for the node's attributes, then runs something brief. Attributes
     * only: that takes no lock, so an answer may follow from here.
     */
    public void invalidateAttributes(long node, Runnable afterwards) {
        queue.add(new Invalidation(node, afterwards));
    }

    private void run() {
        try {
            while (true) {
                Invalidation next = queue.take();
                int length = NotifyFormat.putInvalidateAttributes(message, next.node);
                long result = device.write(message, length);
                // ENOENT: the kernel does not have the node, which is as good.
                if (result < 0 && result != -LinuxError.ENOENT && result != -LinuxError.ENODEV) {
                    LOG.warn(
                            "invalidating node {} failed: {}",
                            next.node,
                            LinuxError.describe((int) -result));
                }
                try {
                    next.afterwards.run();
                } catch (RuntimeException e) { // the opens that wait behind it must go on
                    LOG.error("after the invalidation of node {}", next.node, e);
                }
            }
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
    }
}
