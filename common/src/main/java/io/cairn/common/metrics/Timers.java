package io.cairn.common.metrics;

import java.util.Collection;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * The timers of one meter that has the tag {@code op}: one for each operation, named as its enum
 * constant in lower case. Any thread; the first use of an operation that was not named before makes
 * its timer.
 *
 * @param <O> the operations
 */
public final class Timers<O extends Enum<O>> {
    private final ConcurrentHashMap<O, OperationTimer> timers = new ConcurrentHashMap<>();
    private final Function<O, OperationTimer> make;

    Timers(Collection<O> published, Function<String, OperationTimer> byTag) {
        make = operation -> byTag.apply(operation.name().toLowerCase(Locale.ROOT));
        published.forEach(this::of);
    }

    public OperationTimer of(O operation) {
        OperationTimer timer = timers.get(operation); // computeIfAbsent would lock
        return timer == null ? timers.computeIfAbsent(operation, make) : timer;
    }
}
