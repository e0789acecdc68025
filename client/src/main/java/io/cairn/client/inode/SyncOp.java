package io.cairn.client.inode;

import io.cairn.client.base.Async;
import java.util.concurrent.CompletableFuture;

/** fsync or flush: waits for the writes issued before it, then for what must be published. */
final class SyncOp extends PublishingOp {
    private final boolean withTimes;

    /**
     * @param withTimes whether a new mtime alone is worth waiting for
     * @param losses the handle knows of
     */
    SyncOp(FileServices services, InodeState state, boolean withTimes, int losses) {
        super(services, state, losses);
        this.withTimes = withTimes;
    }

    @Override
    CompletableFuture<Void> publish() {
        boolean needed = withTimes ? state.unconfirmed() : state.sizeUnconfirmed();
        if (needed) {
            var _ = services.publisher().publishAwaited(state);
        }
        synchronized (state) {
            return needed || state.delegation.isUntold()
                    ? services.publisher().confirmed(state)
                    : Async.done();
        }
    }
}
