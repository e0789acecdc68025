package io.cairn.client.inode;

import io.cairn.common.time.WallClock;
import java.util.concurrent.CompletableFuture;

/**
 * Makes a file at least as long as a size, with a hole at its end, after this client's changes
 * before it. No bytes are written, so no truncation by another client can have cut them: the MDS
 * takes the size whenever it gets it.
 */
final class ExtendOp extends PublishingOp {
    private final long size;

    /**
     * @param losses the handle knows of
     */
    ExtendOp(FileServices services, InodeState state, long size, int losses) {
        super(services, state, losses);
        this.size = size;
    }

    @Override
    CompletableFuture<Void> publish() {
        return services.publisher().extend(state, size, WallClock.nowNanos());
    }
}
