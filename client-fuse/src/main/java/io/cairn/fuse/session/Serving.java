package io.cairn.fuse.session;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What carries out the calls of one mount, until the file system is unmounted. Any thread. */
public abstract class Serving {
    private final CompletableFuture<Void> initialised = new CompletableFuture<>();
    private final CountDownLatch ended = new CountDownLatch(1);

    /** The kernel has said what it can, and that is enough. */
    protected final void initialised() {
        initialised.complete(null);
    }

    /** It will not be mounted; nothing where it already was. */
    protected final void failInit(String why) {
        initialised.completeExceptionally(new IllegalStateException(why));
    }

    /** The file system is unmounted. */
    protected final void ended() {
        ended.countDown();
    }

    /**
     * Waits until the kernel has said what it can; fails where that is too little, or where it
     * could not be mounted.
     */
    public final void awaitInit(long timeoutMillis)
            throws InterruptedException, ExecutionException, TimeoutException {
        initialised.get(timeoutMillis, TimeUnit.MILLISECONDS);
    }

    /** Waits until the file system is unmounted; false after the timeout. */
    public final boolean awaitEnd(long timeoutMillis) throws InterruptedException {
        return ended.await(timeoutMillis, TimeUnit.MILLISECONDS);
    }

    public final void awaitEnd() throws InterruptedException {
        ended.await();
    }
}
