package io.cairn.dataserver.disk;

import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.time.NanoClock;
import io.cairn.dataserver.ground.DataServerMeter;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Accounts for the calls to one disk: how long they took, how many failed, and which have not come
 * back yet. A call costs two looks at the clock and no lock; any thread.
 */
public final class DiskCalls {
    /** Of a disk; each may lie on a device of its own. */
    public enum Part {
        DATA("its data file"),
        WAL("its write-ahead log"),
        INDEX("its chunk index");

        private final String text;

        Part(String text) {
            this.text = text;
        }
    }

    /** What is asked of a part. */
    public enum Kind {
        READ,
        WRITE,
        SYNC
    }

    /** More at once are counted when they are over, but not seen before. */
    private static final int SLOTS = 256;

    private static final int KINDS = Kind.values().length;
    private static final int CODE_BITS = 4;

    private final NanoClock clock;
    private final long base;
    private final OperationTimer[] timers = new OperationTimer[Part.values().length * KINDS];

    /** Of each call: when it began, since {@link #base}, and above 0 what it is; 0: none. */
    private final AtomicLongArray outstanding = new AtomicLongArray(SLOTS);

    /**
     * A call that has not come back.
     *
     * @param beganNanos by the clock of the account
     */
    public record Outstanding(Part part, Kind kind, long beganNanos) {
        @Override
        public String toString() {
            return "a %s of %s".formatted(kind.name().toLowerCase(Locale.ROOT), part.text);
        }
    }

    /** A call that gives something. */
    @FunctionalInterface
    public interface Call<T, E extends Exception> {
        T run() throws E;
    }

    /** A call that gives nothing. */
    @FunctionalInterface
    public interface Task<E extends Exception> {
        void run() throws E;
    }

    /** Told of what has not come back. */
    @FunctionalInterface
    interface Visitor {
        void outstanding(Outstanding call);
    }

    /**
     * @param disk tag of its meters
     */
    public DiskCalls(Meters meters, String disk, NanoClock clock) {
        this.clock = clock;
        base = clock.nanos();
        for (Part part : Part.values()) {
            for (Kind kind : Kind.values()) {
                timers[index(part, kind)] =
                        meters.timer(
                                DataServerMeter.DISK_CALL,
                                disk,
                                part.name().toLowerCase(Locale.ROOT),
                                kind.name().toLowerCase(Locale.ROOT));
            }
        }
    }

    /** Of a disk that nobody watches. */
    public static DiskCalls unwatched() {
        return new DiskCalls(Meters.unpublished(), "", NanoClock.MONOTONIC);
    }

    public <T, E extends Exception> T call(Part part, Kind kind, Call<T, E> call) throws E {
        OperationTimer timer = timers[index(part, kind)];
        long began = clock.nanos();
        int slot = enter(index(part, kind), began);
        boolean succeeded = false;
        try {
            T result = call.run();
            succeeded = true;
            return result;
        } finally {
            if (slot >= 0) {
                outstanding.set(slot, 0);
            }
            long took = clock.nanos() - began;
            if (succeeded) {
                timer.record(took);
            } else {
                timer.recordError(took);
            }
        }
    }

    public <E extends Exception> void run(Part part, Kind kind, Task<E> task) throws E {
        var _ =
                call(
                        part,
                        kind,
                        () -> {
                            task.run();
                            return part;
                        });
    }

    private int enter(int index, long began) {
        long word = began - base << CODE_BITS | index + 1;
        int slot = (int) Thread.currentThread().threadId() & SLOTS - 1;
        for (int tried = 0; tried < SLOTS; tried++) {
            if (outstanding.get(slot) == 0 && outstanding.compareAndSet(slot, 0, word)) {
                return slot;
            }
            slot = slot + 1 & SLOTS - 1;
        }
        return -1;
    }

    private static int index(Part part, Kind kind) {
        return part.ordinal() * KINDS + kind.ordinal();
    }

    /** What these calls took, since the account began. */
    public OperationTimer timer(Part part, Kind kind) {
        return timers[index(part, kind)];
    }

    void visit(Visitor visitor) {
        for (int slot = 0; slot < SLOTS; slot++) {
            long word = outstanding.get(slot);
            if (word != 0) {
                int index = (int) (word & (1 << CODE_BITS) - 1) - 1;
                visitor.outstanding(
                        new Outstanding(
                                Part.values()[index / KINDS],
                                Kind.values()[index % KINDS],
                                base + (word >> CODE_BITS)));
            }
        }
    }

    /** Calls that have not come back yet. */
    public int outstanding() {
        int[] count = new int[1];
        visit(_ -> count[0]++);
        return count[0];
    }

    /** What has waited longest; null if nothing waits. */
    public @Nullable Outstanding oldest() {
        Outstanding[] oldest = new Outstanding[1];
        visit(call -> {
            if (oldest[0] == null || call.beganNanos - oldest[0].beganNanos < 0) {
                oldest[0] = call;
            }
        });
        return oldest[0];
    }

    /** How long the oldest has waited, nanoseconds; 0 if nothing waits. */
    public long oldestNanos() {
        Outstanding oldest = oldest();
        return oldest == null ? 0 : clock.nanos() - oldest.beganNanos;
    }
}
