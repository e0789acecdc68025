package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.common.errno.FsException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * fsync or flush: waits for the writes issued before it, then for what must be published. Where the
 * session ends meanwhile it begins anew in the next one, which tells what was lost.
 */
final class SyncOp extends RangeOrder.Entry {
    /** Each in another session: more mean that there is none to come. */
    private static final int MAX_TURNS = 8;

    private final FileServices services;
    private final InodeState state;
    private final boolean withTimes;
    private final int losses;
    private int turns;
    final CompletableFuture<Void> future = new CompletableFuture<>();

    /**
     * @param withTimes whether a new mtime alone is worth waiting for
     * @param losses the handle knows of
     */
    SyncOp(FileServices services, InodeState state, boolean withTimes, int losses) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.withTimes = withTimes;
        this.losses = losses;
    }

    @Override
    protected void start() {
        FsException refused = state.refusal(losses);
        if (refused != null) {
            future.completeExceptionally(refused);
            return;
        }
        if (withTimes ? !state.unconfirmed() : !state.sizeUnconfirmed()) {
            Async.finish(future);
            return;
        }
        DataSession session = state.session();
        var _ =
                services.publisher()
                        .publish(state)
                        .copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> published(session, thrown));
    }

    private void published(DataSession session, @Nullable Throwable thrown) {
        if (thrown != null && session.ended() != null && ++turns < MAX_TURNS) {
            state.order().submit(this);
        } else {
            Async.settle(future, null, thrown);
        }
    }
}
