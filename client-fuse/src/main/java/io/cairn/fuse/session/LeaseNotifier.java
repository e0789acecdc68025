package io.cairn.fuse.session;

import io.cairn.fuse.kernel.HeaderFormat;
import io.cairn.fuse.kernel.NotifyFormat;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the kernel forget names and attributes that another client is about to change. Any thread
 * may ask; the work is done on threads that end when there is none.
 *
 * <p>To forget a name the kernel waits for the lock of its directory, which a request of this mount
 * may hold until it is answered. That all names are old could be said without a lock (INC_EPOCH,
 * Linux 6.16), but then Linux detaches what is mounted below them. So a recall may last as long as
 * its lease. Attributes go their own way, so that they never wait behind a name.
 *
 * <p>A message about an inode that the kernel does not have yet does not reach the answer that
 * brings it, if that was written before but not looked at. Such an inode is named again until the
 * kernel has it, or has surely looked.
 */
public final class LeaseNotifier {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseNotifier.class);
    private static final int NAME_THREADS = 4;
    private static final int INODE_THREADS = 2;
    private static final long IDLE_SECONDS = 10;

    private static final long AGAIN_MILLIS = 5;
    private static final int ATTEMPTS = 60;

    /** An entry of a directory. */
    public record Name(long node, byte[] name) {}

    /**
     * Attributes.
     *
     * @param young whether the kernel may be about to get them from an answer
     */
    public record Inode(long node, boolean young) {}

    private final FuseDevice device;
    private final ThreadPoolExecutor nameThreads = pool(NAME_THREADS, "cairn-fuse-names-");
    private final ThreadPoolExecutor inodeThreads = pool(INODE_THREADS, "cairn-fuse-attributes-");
    private final ScheduledThreadPoolExecutor timer = timer();

    LeaseNotifier(FuseDevice device) {
        this.device = device;
    }

    private static ThreadPoolExecutor pool(int threads, String name) {
        ThreadPoolExecutor pool =
                new ThreadPoolExecutor(
                        threads,
                        threads,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        Thread.ofPlatform().daemon().name(name, 0).factory());
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer =
                new ScheduledThreadPoolExecutor(
                        1, Thread.ofPlatform().daemon().name("cairn-fuse-recalls").factory());
        timer.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        timer.allowCoreThreadTimeOut(true);
        timer.setRemoveOnCancelPolicy(true);
        return timer;
    }

    void close() {
        nameThreads.shutdownNow();
        inodeThreads.shutdownNow();
        timer.shutdownNow();
    }

    /**
     * The kernel asks again for the inode's attributes, and believes none from answers to what it
     * asked before. It takes no lock and waits for nobody where the kernel has the inode in use, as
     * during a request about it: only then this may be called where requests are answered.
     */
    public void invalidateNow(long node) {
        var _ = attributes(node);
    }

    /**
     * Makes the kernel forget these.
     *
     * @param forgotten runs once when that is done, on any thread; never if it cannot be done
     */
    public void forget(List<Name> names, List<Inode> inodes, Runnable forgotten) {
        Forgetting parts = new Forgetting(forgotten);
        inodes.forEach(inode -> parts.attributes(inode, ATTEMPTS));
        names.forEach(parts::name);
        parts.done();
    }

    private void execute(Executor threads, Runnable task) {
        try {
            threads.execute(() -> {
                try {
                    task.run();
                } catch (RuntimeException e) {
                    LOG.error("the kernel was not made to forget", e);
                }
            });
        } catch (RejectedExecutionException unmounted) {
            LOG.debug("unmounted: what the kernel believes goes with it");
        }
    }

    private long attributes(long node) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message =
                    arena.allocate(HeaderFormat.OUT_SIZE + NotifyFormat.INVAL_INODE_SIZE, 8);
            return device.write(message, NotifyFormat.putInvalidateAttributes(message, node));
        }
    }

    private boolean name(Name name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment message = arena.allocate(NotifyFormat.forgetNameBytes(name.name), 8);
            int length = NotifyFormat.putForgetName(message, name.node, name.name);
            long result = device.write(message, length);
            // ENOTDIR: the kernel knows of the directory but has no name of it.
            return gone(result) || result == -LinuxError.ENOENT || result == -LinuxError.ENOTDIR;
        }
    }

    /** Done, or unmounted. */
    private static boolean gone(long result) {
        return result >= 0 || result == -LinuxError.ENODEV;
    }

    /** What one recall names, until all of it is forgotten. */
    private final class Forgetting {
        private final Runnable forgotten;
        private final AtomicInteger left = new AtomicInteger(1);

        Forgetting(Runnable forgotten) {
            this.forgotten = forgotten;
        }

        /** Parts that have begun are counted; the first one is the beginning itself. */
        void done() {
            if (left.decrementAndGet() == 0) {
                forgotten.run();
            }
        }

        void attributes(Inode inode, int attempts) {
            left.incrementAndGet();
            execute(inodeThreads, () -> attempt(inode, attempts));
        }

        private void attempt(Inode inode, int attempts) {
            long result = LeaseNotifier.this.attributes(inode.node);
            if (result == -LinuxError.ENOENT && inode.young && attempts > 1) {
                later(
                        AGAIN_MILLIS,
                        () -> execute(inodeThreads, () -> attempt(inode, attempts - 1)));
            } else if (gone(result) || result == -LinuxError.ENOENT) {
                done();
            } else {
                LOG.warn(
                        "invalidating node {} failed: {}",
                        inode.node,
                        LinuxError.describe((int) -result));
            }
        }

        private void later(long millis, Runnable task) {
            try {
                var _ = timer.schedule(task, millis, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException unmounted) {
                LOG.debug("unmounted: what the kernel believes goes with it");
            }
        }

        void name(Name name) {
            left.incrementAndGet();
            execute(
                    nameThreads,
                    () -> {
                        if (LeaseNotifier.this.name(name)) {
                            done();
                        }
                    });
        }
    }
}
