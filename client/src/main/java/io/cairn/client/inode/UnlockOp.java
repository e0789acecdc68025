package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.inode.HeldLocks.Owner;
import io.cairn.common.proto.FileLock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Gives up what an owner has, behind this client's changes of the file before it. A process that is
 * killed does not wait for its writes: they may be on their way still, and must not arrive under
 * the lock of who comes next.
 *
 * <p>The kernel gives the number of an owner that is gone to the next one, whose locks this would
 * take: calls for locks by that number wait until it is queued, see {@link HeldLocks#unlocking}.
 */
final class UnlockOp extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;
    private final FileLock range;
    private final Owner owner;
    final CompletableFuture<Void> future = new CompletableFuture<>();

    /**
     * @param range without a session; {@link HeldLocks#unlockWaits} was told of it
     */
    UnlockOp(FileServices services, InodeState state, FileLock range) {
        super(0, Long.MAX_VALUE, false);
        this.services = services;
        this.state = state;
        this.range = range;
        this.owner = Owner.of(range);
    }

    @Override
    protected void start() {
        DataSession session;
        CompletableFuture<Void> unlocked;
        CompletableFuture<Void> waited;
        synchronized (state) {
            session = state.session();
            unlocked = services.publisher().unlock(state, range);
            waited = state.locks.unlockQueued(owner);
        }
        Async.finish(waited);
        var _ =
                unlocked.copy()
                        .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                        .whenComplete((v, thrown) -> unlocked(session, thrown));
    }

    /** With its session a lock has ended too. */
    private void unlocked(DataSession session, @Nullable Throwable thrown) {
        Async.settle(future, null, session.ended() == null ? thrown : null);
    }
}
