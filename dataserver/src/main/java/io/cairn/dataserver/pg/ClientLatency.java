package io.cairn.dataserver.pg;

import io.cairn.common.metrics.OperationTimer;
import java.time.Duration;
import java.util.List;

/**
 * Whether what clients wait for takes longer on this server than it should: one kind of operation
 * at least, on average over the last {@link #WINDOW_NANOS}, or since it was asked last if that is
 * longer ago. Any thread.
 */
public final class ClientLatency {
    static final long WINDOW_NANOS = 200_000_000L;

    private final long limitNanos;
    private final List<Account> accounts;
    private long windowNanos;
    private boolean tooLong;

    /** One kind of operation, and what was counted of it when the window began. */
    private static final class Account {
        private final OperationTimer timer;
        private long operations;
        private long nanos;

        Account(OperationTimer timer) {
            this.timer = timer;
        }

        /** Since it was asked last; 0 if there were none. */
        long averageNanos() {
            long number = timer.count();
            long total = timer.totalNanos();
            long average = number == operations ? 0 : (total - nanos) / (number - operations);
            operations = number;
            nanos = total;
            return average;
        }
    }

    /**
     * @param kinds of operations, each judged alone: many quick ones hide no slow ones of another
     *     kind
     */
    public ClientLatency(Duration limit, List<OperationTimer> kinds, long nowNanos) {
        limitNanos = limit.toNanos();
        accounts = kinds.stream().map(Account::new).toList();
        windowNanos = nowNanos;
    }

    public synchronized boolean isTooLong(long nowNanos) {
        if (nowNanos - windowNanos >= WINDOW_NANOS) {
            windowNanos = nowNanos;
            tooLong = false;
            for (Account account : accounts) {
                tooLong |= account.averageNanos() > limitNanos;
            }
        }
        return tooLong;
    }
}
