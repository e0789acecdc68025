package io.cairn.client.base;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Steps on futures that keep the promise of the client's interface: a future fails with a bare
 * {@code FsException}, never with one wrapped in a {@code CompletionException}. Any thread.
 */
public final class Async {
    private Async() {}

    /** The failure behind a future's exception; anything unexpected becomes EIO. */
    public static FsException failure(Throwable thrown) {
        Throwable t = Causes.of(thrown);
        if (t instanceof TimeoutException) {
            return new FsException(Errno.ETIMEDOUT, "not done in time");
        }
        return t instanceof FsException e ? e : new FsException(Errno.EIO, String.valueOf(t));
    }

    /** What a request fails with that could not even be sent; memory may be there again later. */
    public static FsException notStarted(Throwable thrown) {
        return thrown instanceof OutOfMemoryError
                ? new FsException(Errno.ENOMEM, String.valueOf(thrown.getMessage()))
                : failure(thrown);
    }

    /** A future that fails as {@code from} does, or holds what {@code step} makes of its value. */
    public static <T, R> CompletableFuture<R> map(
            CompletableFuture<T> from, Function<? super T, ? extends R> step) {
        CompletableFuture<R> to = new CompletableFuture<>();
        onValue(from, to, value -> to.complete(step.apply(value)));
        return to;
    }

    /** As {@link #map}, for a step that is asynchronous itself. */
    public static <T, R> CompletableFuture<R> then(
            CompletableFuture<T> from, Function<? super T, CompletableFuture<R>> step) {
        CompletableFuture<R> to = new CompletableFuture<>();
        onValue(
                from,
                to,
                value -> {
                    var _ = step.apply(value).whenComplete((r, t) -> settle(to, r, t));
                });
        return to;
    }

    /** Fails {@code to} as {@code from} fails, or as the use of its value does. */
    private static <T> void onValue(
            CompletableFuture<T> from, CompletableFuture<?> to, Consumer<? super T> use) {
        var _ =
                from.whenComplete((value, thrown) -> {
                    if (thrown != null) {
                        to.completeExceptionally(failure(thrown));
                        return;
                    }
                    try {
                        use.accept(value);
                    } catch (RuntimeException e) {
                        to.completeExceptionally(failure(e));
                    }
                });
    }

    /** Completes {@code to} as another future completed. */
    public static <T> void settle(
            CompletableFuture<T> to, @Nullable T value, @Nullable Throwable thrown) {
        if (thrown != null) {
            to.completeExceptionally(failure(thrown));
        } else {
            complete(to, value);
        }
    }

    @SuppressWarnings("NullAway") // a future of Void is completed with null
    private static <T> void complete(CompletableFuture<T> to, @Nullable T value) {
        to.complete(value);
    }

    /** The same end without the value. */
    public static CompletableFuture<Void> ignoringValue(CompletableFuture<?> from) {
        CompletableFuture<Void> to = new CompletableFuture<>();
        var _ = from.whenComplete((value, thrown) -> settle(to, null, thrown));
        return to;
    }

    public static <T> CompletableFuture<T> failed(Errno errno, String detail) {
        return CompletableFuture.failedFuture(new FsException(errno, detail));
    }

    /** Completes when all of them have; fails if one does. */
    public static CompletableFuture<Void> all(List<CompletableFuture<Void>> futures) {
        return CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new));
    }

    /** A completed future without a value. */
    @SuppressWarnings("NullAway")
    public static CompletableFuture<Void> done() {
        return CompletableFuture.completedFuture(null);
    }

    /** Completes a future without a value. */
    @SuppressWarnings("NullAway")
    public static void finish(CompletableFuture<Void> future) {
        future.complete(null);
    }
}
