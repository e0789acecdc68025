package io.cairn.client.inode;

import java.util.concurrent.CompletableFuture;

/** The outcome of an operation, whose caller may give it up by cancelling it. Any thread. */
final class CallerFuture<T> extends CompletableFuture<T> {
    private final Runnable givenUp;

    /**
     * @param givenUp runs on the thread that cancels, if nothing was faster
     */
    CallerFuture(Runnable givenUp) {
        this.givenUp = givenUp;
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        boolean open = !isDone();
        boolean cancelled = super.cancel(mayInterrupt);
        if (open && cancelled) {
            givenUp.run();
        }
        return cancelled;
    }
}
