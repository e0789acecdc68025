package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.common.errno.FsException;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes a file at least as long as a size, with a hole at its end, after this client's changes
 * before it. No bytes are written, so no truncation by another client can have cut them: the MDS
 * takes the size whenever it gets it.
 */
final class ExtendOp extends RangeOrder.Entry {
    /** Each in another session: more mean that there is none to come. */
    private static final int MAX_TURNS = 8;

    private final FileServices services;
    private final InodeState state;
    private final long size;
    private final int losses;
    private int turns;
    final CompletableFuture<Void> future = new CompletableFuture<>();

    /**
     * @param losses the handle knows of
     */
    ExtendOp(FileServices services, InodeState state, long size, int losses) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.size = size;
        this.losses = losses;
    }

    @Override
    protected void start() {
        FsException refused = state.refusal(losses);
        if (refused != null) {
            future.completeExceptionally(refused);
            return;
        }
        DataSession session = state.session();
        Instant now = Instant.now();
        var _ =
                services.publisher()
                        .extend(state, size, now.getEpochSecond() * 1_000_000_000L + now.getNano())
                        .copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> extended(session, thrown));
    }

    /** Again in the next session: it does no harm where the first was executed. */
    private void extended(DataSession session, @Nullable Throwable thrown) {
        if (thrown != null && session.ended() != null && ++turns < MAX_TURNS) {
            state.order().submit(this);
        } else {
            Async.settle(future, null, thrown);
        }
    }
}
