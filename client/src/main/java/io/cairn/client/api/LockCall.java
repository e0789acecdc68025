package io.cairn.client.api;

import io.cairn.common.proto.Attr;
import java.util.concurrent.CompletableFuture;

/** A call for a lock, which may wait for as long as others have it. Any thread. */
public interface LockCall {
    /**
     * Completes when the lock is had, with the file's attributes as of that moment: whatever who
     * had it before has changed is in them. EAGAIN where another owner's lock is in the way and the
     * call does not wait; EDEADLK where it would wait for ever; ENOLCK where there are too many;
     * EINTR after {@link #interrupt}; EIO where locks of this file were lost with a session.
     *
     * <p>Who cancels it is gone: what is got all the same is given back.
     */
    CompletableFuture<Attr> had();

    /**
     * The caller got a signal: a call that waits ends without the lock. One whose lock is being
     * taken at this moment ends as that does.
     */
    void interrupt();
}
