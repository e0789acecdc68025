package io.cairn.dataserver.disk;

import io.cairn.dataserver.disk.DiskCalls.Kind;
import io.cairn.dataserver.disk.DiskCalls.Outstanding;
import io.cairn.dataserver.disk.DiskCalls.Part;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Finds the call to a disk that does not come back. Time in which this process stood still itself,
 * suspended or with its machine, does not count: then the calls had no chance to end. One thread;
 * the clock is the caller's.
 */
public final class HungCallCheck {
    /** Two looks further apart than this: the process stood still. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A write to the index may wait for tables to be written, and a sync of it writes one. */
    private static final int INDEX_TIMES = 6;

    private final DiskCalls calls;
    private final long afterNanos;
    private long lookedNanos;
    private long notBeforeNanos;
    private long waitedNanos;

    /**
     * @param after a call that has waited for so long hangs
     * @param nowNanos by the clock of the calls
     */
    public HungCallCheck(DiskCalls calls, Duration after, long nowNanos) {
        this.calls = calls;
        this.afterNanos = after.toNanos();
        this.lookedNanos = nowNanos;
        this.notBeforeNanos = nowNanos;
    }

    /**
     * What hangs, for the administrator; null if nothing does. To be called several times a second.
     */
    public @Nullable String look(long nowNanos) {
        if (nowNanos - lookedNanos > PAUSE_NANOS) {
            notBeforeNanos = nowNanos;
        }
        lookedNanos = nowNanos;
        String[] hung = new String[1];
        long[] longest = new long[1];
        calls.visit(call -> {
            long waitedNanos = nowNanos - Math.max(call.beganNanos(), notBeforeNanos);
            if (limitNanos(call) == afterNanos) {
                longest[0] = Math.max(longest[0], waitedNanos);
            }
            if (waitedNanos >= limitNanos(call)) {
                hung[0] =
                        "%s has not come back for %d s"
                                .formatted(call, TimeUnit.NANOSECONDS.toSeconds(waitedNanos));
            }
        });
        waitedNanos = longest[0];
        return hung[0];
    }

    /** How long the oldest call had waited at the last look, without those that write tables. */
    public long waitedNanos() {
        return waitedNanos;
    }

    private long limitNanos(Outstanding call) {
        boolean writesTables = call.part() == Part.INDEX && call.kind() != Kind.READ;
        return writesTables ? INDEX_TIMES * afterNanos : afterNanos;
    }
}
