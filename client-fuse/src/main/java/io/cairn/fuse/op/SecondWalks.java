package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the second walk of a path arrive. Between the LOOKUP of a name and what is then done with
 * the inode, another client may put another file there: the answer is ESTALE, and Linux walks the
 * path again, but only once (do_filp_open in fs/namei.c, retry_estale in include/linux/namei.h). So
 * the files which a thread that was told ESTALE looks up soon after are held open for a moment:
 * they exist when they are asked for, however often their names are replaced.
 *
 * <p>Any thread.
 */
final class SecondWalks {
    /** How long after ESTALE a thread walks for the second time, and a file it finds is held. */
    private static final long SOON_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Threads that walk for the second time, and files held for them; more have no such help. */
    private static final int MAX = 1024;

    /** Each finds a file that has come after the one before. */
    private static final int ATTEMPTS = 100;

    private static final Logger LOG = LoggerFactory.getLogger(SecondWalks.class);

    private final CairnClient client;
    private final Executor soon =
            CompletableFuture.delayedExecutor(SOON_NANOS, TimeUnit.NANOSECONDS);

    /** When each of the threads was told ESTALE, by its id. */
    private final Map<Integer, Long> toldNanos = new ConcurrentHashMap<>();

    /** How often each inode is held. */
    private final Map<Long, Integer> holds = new ConcurrentHashMap<>();

    private final AtomicInteger held = new AtomicInteger();

    SecondWalks(CairnClient client) {
        this.client = client;
    }

    /** The thread is told ESTALE. */
    void begin(int thread) {
        long now = System.nanoTime();
        if (toldNanos.size() >= MAX) {
            toldNanos.values().removeIf(told -> now - told > SOON_NANOS);
        }
        if (toldNanos.size() < MAX) {
            toldNanos.put(thread, now);
        }
    }

    /** What the name means to the thread; see {@link CairnClient#find}. */
    CompletableFuture<LookupReply> lookup(int thread, long parent, byte[] name) {
        Long told = toldNanos.get(thread);
        if (told == null) {
            return client.find(parent, name);
        }
        if (System.nanoTime() - told > SOON_NANOS) {
            toldNanos.remove(thread, told);
            return client.find(parent, name);
        }
        return held(parent, name, ATTEMPTS)
                .thenApply(attr -> LookupReply.newBuilder().setAttr(attr).build());
    }

    private CompletableFuture<Attr> held(long parent, byte[] name, int attempts) {
        return client.lookup(parent, name)
                .thenCompose(attr -> {
                    if (!Mode.isRegular(attr.getMode()) || held.get() >= MAX) {
                        return CompletableFuture.completedFuture(attr);
                    }
                    return client.openForReading(attr.getInode())
                            .thenApply(this::hold)
                            .exceptionallyCompose(failure ->
                                    Causes.is(failure, Errno.ENOENT) && attempts > 1
                                            ? held(parent, name, attempts - 1)
                                            : CompletableFuture.failedFuture(failure));
                });
    }

    /**
     * Whether a file is held open for a thread that may ask for it, whatever became of its names.
     */
    boolean holds(long inode) {
        return holds.containsKey(inode);
    }

    private Attr hold(OpenFile file) {
        held.incrementAndGet();
        holds.merge(file.inode(), 1, Integer::sum);
        soon.execute(() -> {
            held.decrementAndGet();
            holds.computeIfPresent(file.inode(), (_, times) -> times == 1 ? null : times - 1);
            var _ =
                    file.release()
                            .exceptionally(failure -> {
                                LOG.warn("closing inode {}, which was held", file.inode(), failure);
                                return null;
                            });
        });
        return file.attr();
    }
}
