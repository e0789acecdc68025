package io.cairn.client.inode;

import io.cairn.client.base.Async;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** fsync or flush: waits for the writes issued before it, then for what must be published. */
final class SyncOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final boolean withTimes;
    final CompletableFuture<Void> future = new CompletableFuture<>();

    /**
     * @param withTimes whether a new mtime alone is worth waiting for
     */
    SyncOp(FileServices services, InodeState state, boolean withTimes) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.withTimes = withTimes;
    }

    @Override
    protected void start() {
        if (withTimes ? !state.unconfirmed() : !state.sizeUnconfirmed()) {
            Async.finish(future);
            return;
        }
        var _ =
                services.publisher()
                        .publish(state)
                        .copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> Async.settle(future, null, thrown));
    }
}
