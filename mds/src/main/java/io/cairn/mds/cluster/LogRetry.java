package io.cairn.mds.cluster;

import io.cairn.common.errno.Causes;
import java.util.concurrent.TimeUnit;
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
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final String what;
    private final long mostNanos;
    private long intervalNanos;
    private long notBeforeNanos;
    private @Nullable String said;

    /**
     * @param what is being done, for the log
     * @param mostNanos the longest interval
     */
    LogRetry(String what, long mostNanos) {
        this.what = what;
        this.mostNanos = mostNanos;
    }

    boolean isDue(long nowNanos) {
        return intervalNanos == 0 || nowNanos - notBeforeNanos >= 0;
    }

    void succeeded() {
        intervalNanos = 0;
        said = null;
    }

    void failed(Throwable failure, long nowNanos) {
        intervalNanos = Math.min(mostNanos, intervalNanos == 0 ? FIRST_NANOS : 2 * intervalNanos);
        notBeforeNanos = nowNanos + intervalNanos;
        String cause = String.valueOf(Causes.root(failure).getMessage());
        if (!cause.equals(said)) {
            said = cause;
            LOG.warn("{} failed, and is tried again: {}", what, cause);
        }
    }
}
