package io.cairn.mds.store;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Timespec;

/**
 * A file time: any 64-bit second, which {@code java.time.Instant} does not hold.
 *
 * @param seconds since the epoch
 * @param nanos 0 to 999,999,999
 */
public record Time(long seconds, int nanos) implements Comparable<Time> {
    public static final Time EPOCH = new Time(0, 0);

    /** EINVAL where the nanoseconds are out of range. */
    public static Time of(Timespec time) {
        if (time.getNanos() < 0 || time.getNanos() > 999_999_999) {
            throw new FsException(Errno.EINVAL, "nanoseconds " + time.getNanos());
        }
        return new Time(time.getSeconds(), time.getNanos());
    }

    public Timespec toProto() {
        return Timespec.newBuilder().setSeconds(seconds).setNanos(nanos).build();
    }

    public static Time latest(Time a, Time b) {
        return a.compareTo(b) >= 0 ? a : b;
    }

    /** A nanosecond later; the last time there is stays. */
    public Time next() {
        if (nanos < 999_999_999) {
            return new Time(seconds, nanos + 1);
        }
        return seconds < Long.MAX_VALUE ? new Time(seconds + 1, 0) : this;
    }

    @Override
    public int compareTo(Time other) {
        int order = Long.compare(seconds, other.seconds);
        return order != 0 ? order : Integer.compare(nanos, other.nanos);
    }
}
