package io.cairn.common.time;

import io.cairn.common.proto.Timespec;
import java.time.Instant;

/** The time of day by this machine, as files and messages have it. Stateless, any thread. */
public final class WallClock {
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private WallClock() {}

    public static Timespec now() {
        Instant now = Instant.now();
        return Timespec.newBuilder()
                .setSeconds(now.getEpochSecond())
                .setNanos(now.getNano())
                .build();
    }

    /** Nanoseconds since the epoch. */
    public static long nowNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * NANOS_PER_SECOND + now.getNano();
    }
}
