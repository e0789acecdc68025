package io.cairn.fuse.session;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** What carries out the calls of one mount, until the file system is unmounted. Any thread. */
public interface Serving {
    /** Waits until the kernel has said what it can; fails where that is too little. */
    void awaitInit(long timeoutMillis)
            throws InterruptedException, ExecutionException, TimeoutException;

    /** Waits until the file system is unmounted; false after the timeout. */
    boolean awaitEnd(long timeoutMillis) throws InterruptedException;

    void awaitEnd() throws InterruptedException;
}
