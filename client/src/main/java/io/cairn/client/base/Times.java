package io.cairn.client.base;

import io.cairn.common.proto.Timespec;

/** Times as the MDS chooses them for what changes. Stateless. */
public final class Times {
    private static final int NANOS = 1_000_000_000;

    private Times() {}

    /** A nanosecond later. */
    public static Timespec next(Timespec time) {
        return time.getNanos() + 1 < NANOS
                ? time.toBuilder().setNanos(time.getNanos() + 1).build()
                : Timespec.newBuilder().setSeconds(time.getSeconds() + 1).build();
    }

    /** That time, or just after the other one, whichever is later: so what changes is seen to. */
    public static Timespec after(Timespec other, Timespec time) {
        return latest(time, next(other));
    }

    public static Timespec latest(Timespec a, Timespec b) {
        return compare(a, b) >= 0 ? a : b;
    }

    public static int compare(Timespec a, Timespec b) {
        int order = Long.compare(a.getSeconds(), b.getSeconds());
        return order == 0 ? Integer.compare(a.getNanos(), b.getNanos()) : order;
    }
}
