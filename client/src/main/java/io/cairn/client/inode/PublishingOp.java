package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.common.errno.FsException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An operation that waits for this client's changes of the file before it and then publishes. When
 * its session ends meanwhile it begins anew in the next one: it does no harm where the first was
 * executed, and the next one tells what was lost.
 */
abstract class PublishingOp extends RangeOrder.Entry {
    final FileServices services;
    final InodeState state;
    final CompletableFuture<Void> future = new CompletableFuture<>();
    private final int losses;
    private int turns;

    /**
     * @param losses the handle knows of
     */
    PublishingOp(FileServices services, InodeState state, int losses) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.losses = losses;
    }

    /** Publishes; called again in the next session. */
    abstract CompletableFuture<Void> publish();

    @Override
    protected void start() {
        FsException refused = state.refusal(losses);
        if (refused != null) {
            future.completeExceptionally(refused);
            return;
        }
        DataSession session = state.session();
        var _ =
                publish()
                        .copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> published(session, thrown));
    }

    private void published(DataSession session, @Nullable Throwable thrown) {
        if (thrown != null && session.ended() != null && ++turns < FileServices.MAX_TURNS) {
            state.order().submit(this);
        } else {
            Async.settle(future, null, thrown);
        }
    }
}
