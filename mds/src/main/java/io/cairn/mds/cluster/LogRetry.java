package io.cairn.mds.cluster;

import io.cairn.common.errno.Causes;
import io.cairn.common.rpc.BackOff;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * When a kind of change is tried again that failed: at once for the first time after a success,
 * then at intervals that double from 250 ms on. What it failed with is logged when it is another
 * cause than before: a change that is refused by the rules of the map fails the same way until
 * something else has changed. One thread.
 */
final class LogRetry {
    private static final Logger LOG = LoggerFactory.getLogger(LogRetry.class);
    private static final Duration FIRST = Duration.ofMillis(250);

    private final String what;
    private final BackOff backOff;
    private int failures;
    private long notBeforeNanos;
    private @Nullable String said;

    /**
     * @param what is being done, for the log
     * @param longest interval
     */
    LogRetry(String what, Duration longest) {
        this.what = what;
        this.backOff = new BackOff(FIRST, longest, () -> 0); // there is one leader: not at random
    }

    boolean isDue(long nowNanos) {
        return failures == 0 || nowNanos - notBeforeNanos >= 0;
    }

    void succeeded() {
        failures = 0;
        said = null;
    }

    void failed(Throwable failure, long nowNanos) {
        notBeforeNanos = nowNanos + backOff.delayNanos(++failures);
        String cause = String.valueOf(Causes.root(failure).getMessage());
        if (!cause.equals(said)) {
            said = cause;
            LOG.warn("{} failed, and is tried again: {}", what, cause);
        }
    }
}
