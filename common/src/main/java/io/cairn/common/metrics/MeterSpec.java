package io.cairn.common.metrics;

import java.util.List;

/**
 * Describes one meter. Each module has one enum that implements this; {@code docs/metrics.md} is
 * generated from it.
 *
 * <pre>{@code
 * enum DataServerMeter implements MeterSpec {
 *     OPERATION(Kind.TIMER, "", "Client operations served", "op"),
 *     WAL_USED(Kind.GAUGE, "bytes", "WAL bytes not yet flushed to the disk", "disk");
 *     ...
 * }
 * }</pre>
 */
public interface MeterSpec {
    /** What a meter measures. */
    enum Kind {
        /** A number that only grows. */
        COUNTER,
        /** A current value. */
        GAUGE,
        /** Operations: their number, errors, total time, and latency percentiles. */
        TIMER,
        /** Sizes and counts: their number, sum and percentiles. */
        DISTRIBUTION
    }

    /** Dotted lower-case name with the module's prefix: {@code cairn.dataserver.operation}. */
    String meterName();

    Kind kind();

    /**
     * Unit of the values ({@code "bytes"}), empty for pure numbers; timers are always in seconds.
     */
    String unit();

    /** What it tells the administrator, as one line. */
    String description();

    /** Names of the tags, in the order in which {@link Meters} takes their values. */
    List<String> tagNames();
}
