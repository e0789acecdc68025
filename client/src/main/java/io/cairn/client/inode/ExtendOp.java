package io.cairn.client.inode;

import io.cairn.client.base.Async;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Makes a file at least as long as a size, with a hole at its end, after this client's changes
 * before it. No bytes are written, so no truncation by another client can have cut them: the MDS
 * takes the size whenever it gets it.
 */
final class ExtendOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final long size;
    final CompletableFuture<Void> future = new CompletableFuture<>();

    ExtendOp(FileServices services, InodeState state, long size) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.size = size;
    }

    @Override
    protected void start() {
        Instant now = Instant.now();
        var _ =
                services.publisher()
                        .extend(state, size, now.getEpochSecond() * 1_000_000_000L + now.getNano())
                        .copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> Async.settle(future, null, thrown));
    }
}
