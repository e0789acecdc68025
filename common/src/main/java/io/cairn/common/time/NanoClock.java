package io.cairn.common.time;

/**
 * A clock that only goes forward, so that tests can own the time of whatever measures it. Values
 * mean something only in differences, and only on one machine. Any thread.
 */
@FunctionalInterface
public interface NanoClock {
    /** Stands still while the machine is suspended: for timeouts of local work. */
    NanoClock MONOTONIC = System::nanoTime;

    long nanos();
}
